package main

import (
	"io"
	"strings"
	"testing"
)

// At a terminal, standard input is not read, and control characters in the answer do nothing.
func TestRunAtATerminal(t *testing.T) {
	p, _ := served(t, part{say: "one\x1b[2Jtwo", call: "read_file", args: map[string]string{"path": "notes.txt"}}, part{say: "Done."})
	ours, theirs := openPTY(t)
	resize(t, ours, 200)
	cmd := p.command(t.Context(), "run", "hello")
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	screen, _ := io.ReadAll(ours) // a terminal that its last program has left reports an error
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	got := strings.ReplaceAll(string(screen), "\r\n", "\n")
	if !strings.HasPrefix(got, "one\ufffd[2Jtwo\n\x1b[36m→ Read notes.txt\x1b[0m\nDone.\n") {
		t.Errorf("%q", got)
	}
}
