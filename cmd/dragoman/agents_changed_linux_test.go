package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// At a terminal a session asks about a changed agent, once, and goes on.
func TestChangedAgentIsAskedAbout(t *testing.T) {
	p := newPlace(t)
	own := filepath.Join(p.home, "own-agent")
	write := func(text string) {
		t.Helper()
		p.write(t, own, text)
		if err := os.Chmod(own, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(script())
	p.well(t, "", "agents", "add", "own", "--", own)
	p.well(t, "", "run", "--agent", "own", "hello")
	write(script() + "# changed\n")
	c := p.atTerminal(t, "--agent", "own")
	c.types("say hello\r")
	c.until("The program of agent own is not the one that was used before.")
	c.until("before: ")
	c.until("now: ")
	c.until("Use it from now on")
	c.until("a number: ")
	c.types("1\r")
	c.until("hello")
	if code := c.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out := p.well(t, "", "agents", "approve", "own"); !strings.Contains(out, "has not changed") {
		t.Errorf("%s", out)
	}
	p.well(t, "", "run", "--agent", "own", "hello")
}
