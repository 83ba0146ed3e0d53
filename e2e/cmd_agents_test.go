package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

const delegating = `{"fixtures":[
	{"match":{"toolCallId":"call_child"},"response":{"content":"I made it."}},
	{"match":{"toolCallId":"call_spawn"},"response":{"content":"That is all."}},
	{"match":{"userMessage":"Write made.txt"},"response":{"toolCalls":[{"id":"call_child","name":"write_file","arguments":{"path":"made.txt","content":"x"}}]}},
	{"match":{"userMessage":"let somebody"},"response":{"toolCalls":[{"id":"call_spawn","name":"spawn_agent","arguments":{"agent":"general","task":"Write made.txt with one letter."}}]}},
	{"match":{"userMessage":"y"},"response":{"content":"Nobody had asked."}}]}`

// A task that is handed over asks the user of the session that it comes from; a plan
// cannot have done by others what it may not do.
func TestTasksThatAreHandedOver(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	url := p.aimock(t, delegating)
	cfg := p.config(t, fmt.Sprintf("model: mock/gpt-mock\nproviders:\n  mock:\n    kind: openai-chat\n    base_url: %s/v1\n    api_key: x\n", url))
	made := filepath.Join(p.work, "made.txt")
	for _, d := range editors() {
		e := p.edit(t, d, launch{}, "--config", cfg)
		e.allow = true
		id := e.begin()
		wantText(t, d.name, e.answered(id, "let somebody make a file"), "That is all.")
		if text, err := os.ReadFile(made); err != nil || string(text) != "x" {
			t.Errorf("%s: the file holds %q, %v", d.name, text, err)
		}
		if err := os.Remove(made); err != nil {
			t.Error(err)
		}
		e.leave()
	}
	out, code := p.feed(t, "let somebody make a file\ny\ny\n", "chat", "--config", cfg, "--agent", "plan")
	if code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	wantText(t, "the plan", out, "also not through others", "Nobody had asked.")
	if _, err := os.Stat(made); err == nil {
		t.Errorf("a plan had a file written:\n%s", out)
	}
}
