package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// Every wire format reaches a service that speaks it: a call goes out, its result
// comes back, and reasoning is shown.
func TestModelKinds(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	url := p.aimock(t, `{"fixtures":[
		{"match":{"userMessage":"what is in the notes","hasToolResult":true},"response":{"content":"The first line is: first note."}},
		{"match":{"userMessage":"what is in the notes"},"response":{"content":"I look.","toolCalls":[
			{"id":"call_1","name":"read_file","arguments":{"path":"notes.txt"}},{"id":"call_2","name":"glob","arguments":{"pattern":"*.txt"}}]}},
		{"match":{"userMessage":"think"},"response":{"reasoning":"First I think.","reasoningSignature":"sig-1","content":"42"}},
		{"match":{"userMessage":"boom"},"response":{"error":{"message":"internal boom","type":"invalid_request_error"},"status":400}}]}`)
	for _, k := range []struct{ kind, path, model string }{
		{"openai-chat", "/v1", "gpt-5"}, {"openai-responses", "/v1", "gpt-5"}, {"anthropic", "/v1", "claude-sonnet-4-5"}, {"ollama", "", "qwen3"},
	} {
		t.Run(k.kind, func(t *testing.T) {
			cfg := p.config(t, fmt.Sprintf("model: mock/%s\nproviders:\n  mock:\n    kind: %s\n    base_url: %s%s\n    api_key: x\n", k.model, k.kind, url, k.path))
			e := p.edit(t, acpDialect(), launch{}, "--config", cfg)
			defer e.leave()
			e.allow = true
			id := e.begin()
			for _, turn := range [][2]string{{"what is in the notes?", "The first line is: first note."}, {"think", "42"}} {
				if got := e.run(id, turn[0]); got != endOK {
					t.Errorf("%s: %q\n%s", turn[0], got, e.stderr())
				}
				if text := string(e.view(id).text); !strings.HasSuffix(text, turn[1]) {
					t.Errorf("%s: the text is %q", turn[0], text)
				}
			}
			if got := e.run(id, "boom"); got == endOK {
				t.Errorf("an error of the service is told as %q", got)
			}
		})
	}
}
