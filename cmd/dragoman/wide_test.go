package main

import (
	"strings"
	"testing"
)

// If the workspace is the home folder, reading requires a question, and so do places of keys in
// every workspace.
func TestReadingThatNeedsAQuestion(t *testing.T) {
	for _, c := range []struct {
		home, prompt, want string
	}{
		{"home", "read notes.txt", "second note"},
		{"home", "read .aws/credentials", "where programs keep keys, needs an approval"},
		{"work", "read notes.txt", "reading in a workspace that is or contains your home folder needs an approval"},
		{"work", "read .aws/credentials", "where programs keep keys, needs an approval"},
		{"work", "run ls", "running a command in the sandbox (full) needs an approval"},
	} {
		p := newPlace(t)
		p.write(t, p.work+"/.aws/credentials", "canary\n")
		if c.home == "work" {
			p.env["HOME"], p.env["USERPROFILE"] = p.work, p.work
		}
		out := p.well(t, c.prompt+"\nn\n", "chat", "--model", "offline/demo")
		if !strings.Contains(out, c.want) || strings.Contains(out, "canary") || c.want != "second note" && strings.Contains(out, "second note") {
			t.Errorf("%s with the home folder at %s:\n%s", c.prompt, c.home, out)
		}
	}
}
