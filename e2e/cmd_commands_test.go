package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// answered is what the agent said to a prompt.
func (e *editor) answered(id, text string) string {
	e.t.Helper()
	before := len(e.view(id).text)
	if end := e.run(id, text); end != endOK {
		e.t.Errorf("%s: the turn ended: %s", text, end)
	}
	return string(e.view(id).text[before:])
}

// The commands mean the same in every dialect.
func TestCommands(t *testing.T) {
	t.Parallel()
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.put(t, filepath.Join(p.work, ".dragoman", "commands", "show.md"), "read $1\n")
			e := p.edit(t, d, launch{})
			id := e.begin()
			wantText(t, "/model", e.answered(id, "/model"), "`offline/demo` (this session's) (the default)")
			wantText(t, "/modle", e.answered(id, "/modle x"), "There is no command /modle here. Did you mean /model?")
			wantText(t, "a path", e.answered(id, "/etc/passwd"), "offline demo")
			wantText(t, "a text of the workspace's", e.answered(id, "/show notes.txt"), "`read notes.txt` returned:", "second note")
			wantText(t, "/login", e.answered(id, "/login groq"), "Write it as your next message")
			wantText(t, "a command in its place", e.answered(id, "/login"), "**Providers**")
			wantText(t, "/rename", e.answered(id, "/rename Notes of the harbour"), "now called “Notes of the harbour”")
			wantText(t, "/rename alone", e.answered(id, "/rename"), "/rename TITLE", "“Notes of the harbour”")
			wantText(t, "/doctor", e.answered(id, "/doctor"), "**Program**", "**Files for the agent**")
			wantText(t, "/export", e.answered(id, "/export talk.md"), "is written in")
			text, err := os.ReadFile(filepath.Join(p.work, "talk.md"))
			if err != nil {
				t.Error(err)
			}
			wantText(t, "the file", string(text), "second note")
			wantText(t, "/export again", e.answered(id, "/export talk.md"), "already exists")
			wantText(t, "/fork", e.answered(id, "/fork"), "A copy of this session")
			wantText(t, "/resume", e.answered(id, "/resume"), "Earlier sessions in these folders", "(fork)")
			if found, err := filepath.Glob(filepath.Join(p.work, "*.md")); err != nil || len(found) != 1 {
				t.Errorf("files: %v, %v", found, err)
			}
			e.leave()
		})
	}
}

// The agent plan has no tool that writes, and asks before each command.
func TestPlanAgentOnlyLooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	out, code := p.feed(t, "write made.txt: x\nrun touch made.txt\nn\nread notes.txt\n", "chat", "--agent", "plan")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	wantText(t, "the chat", out, "no tool named write_file", "Run `touch made.txt`", "rejected by the user", "second note")
	if _, err := os.Stat(filepath.Join(p.work, "made.txt")); err == nil || strings.Contains(out, "answered: yes") {
		t.Errorf("the plan was carried out:\n%s", out)
	}
}
