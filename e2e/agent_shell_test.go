package e2e

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// agentShell returns Emacs's arguments that load agent-shell, or skips: no registry of packages that tests may use has it. They are in
// Emacs's own folder of packages, or below $DRAGOMAN_AGENT_SHELL, where a missing one is a failure.
func agentShell(t *testing.T) (args []string) {
	t.Helper()
	where, named := os.LookupEnv("DRAGOMAN_AGENT_SHELL")
	lacks := t.Skipf
	if named {
		lacks = t.Fatalf
	} else if home, err := os.UserHomeDir(); err == nil {
		where = filepath.Join(home, ".emacs.d", "elpa")
	}
	if _, err := exec.LookPath("emacs"); err != nil {
		lacks("without Emacs: %v", err)
	}
	args = []string{"-Q", "--batch"}
	for _, file := range []string{"acp.el", "shell-maker.el", "agent-shell.el"} {
		found, err := filepath.Glob(filepath.Join(where, "*", file))
		if err != nil || len(found) == 0 {
			lacks("without agent-shell: %s has no %s", where, file)
		}
		args = append(args, "-L", filepath.Dir(slices.Max(found)))
	}
	compat, _ := filepath.Glob("/usr/share/emacs/site-lisp/elpa/compat-*") // of Debian, for an Emacs before 29
	for _, dir := range compat {
		args = append(args, "-L", dir)
	}
	script, err := filepath.Abs("testdata/agent-shell.el")
	if err != nil {
		t.Fatal(err)
	}
	return append(args, "-l", script)
}

// agent-shell reads, writes with a permission, allows for the session, makes that last, shares its session with an ECA client, and opens it again.
// It reports nothing as a fault of ours.
func TestAgentShell(t *testing.T) {
	args := agentShell(t)
	p := newPlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	const share = "share run echo from-the-shell returned"
	emacs := exec.CommandContext(ctx, "emacs", append(args, binary, "acp", "--",
		"prompt read notes.txt", "choose allow_always", "prompt run touch one", "prompt run touch one", "prompt write made.txt: by agent-shell",
		"prompt /allow", share, "load")...)
	emacs.Env, emacs.Dir = p.env, p.work
	out, err := emacs.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := emacs.Start(); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{} // after each step
	step, asked := "", []string{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "step":
			step = rest
		case "permission":
			asked = append(asked, rest)
		case "shared-session":
			p.drive(t, "eca.mjs", "--open", rest, "--approval", "approve", "--prompt", reading, "--", "eca")
		}
		shown[step] += line + "\n"
	}
	if err := emacs.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, shown[step])
	}
	wantText(t, "after reading", shown["prompt read notes.txt"], "first note")
	wantText(t, "after /allow", shown["prompt /allow"], "Allowed for good, in this folder")
	wantText(t, "what the other did", shown[share], ": "+reading, "from-the-shell")
	wantText(t, "opened again", shown["load"], "dragoman> read notes.txt", "first note", "by agent-shell", "from-the-shell")
	if made, err := os.ReadFile(filepath.Join(p.work, "made.txt")); strings.TrimSpace(string(made)) != "by agent-shell" { // Emacs ends a file with a line feed
		t.Errorf("made.txt has %q, %v", made, err)
	}
	// One for the command, in the first of its two turns, one for the file, and that of the other's turn, unless the other was quicker.
	if len(asked) < 2 || len(asked) > 3 || slices.ContainsFunc(asked, func(a string) bool {
		return strings.Count(a, "allow_always=allow_session") != 1 || strings.Contains(a, "=allow_always")
	}) {
		t.Errorf("permissions: %q", asked)
	}
	fault := regexp.MustCompile("(?i)[^\n]*(out of turn|server bug|likely a bug|please report|unhandled|unsupported content|file a feature request)[^\n]*")
	for step, text := range shown {
		if said := fault.FindString(text); said != "" {
			t.Errorf("%s: agent-shell says %q", step, said)
		}
	}
}
