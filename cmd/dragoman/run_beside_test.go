package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// runsBeside is how often runs of one session work beside each other; the variable asks for more.
func runsBeside(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("DRAGOMAN_RUNS"))
	if err != nil {
		n = 3
	}
	t.Logf("%d times", n)
	return n
}

// A run in a session that others use prints its own answer alone and has its own exit code, whatever they
// prompt and whatever they are asked. What waits behind the turn of a run is answered in the process that
// prompted it, after the run has left.
func TestRunsOfOneSessionKeepToTheirTurns(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.well(t, "", "run", "hello")
	id := randomID.FindString(p.well(t, "", "sessions", "list"))
	chat := p.talk(t, "chat", "--session", id)
	for n := range runsBeside(t) {
		chat.say(fmt.Sprintf("run echo of the chat %d", n))
		chat.until("needs an approval")
		var wg sync.WaitGroup
		for i, c := range []struct {
			args      []string
			code      int
			out, errs string
		}{
			{[]string{"read notes.txt"}, 0, "`read notes.txt` returned:\n\n```\nfirst note\nsecond note\n```\n", "→ Read notes.txt\n"},
			{[]string{"run echo " + strconv.Itoa(n), "--allow", "shell_command:echo *"}, 0, "returned:\n\n```\n" + strconv.Itoa(n) + "\n", ""},
			{[]string{"run echo refused"}, 3, "did not succeed", "the answer to 1 question was no"},
		} {
			wg.Go(func() {
				o := p.run(t, "", append([]string{"run", "--session", id}, c.args...)...)
				if o.code != c.code || !strings.Contains(o.out, c.out) || !strings.Contains(o.errs, c.errs) || strings.Count(o.out, "```") > 2 || strings.Contains(o.out, "of the chat") {
					t.Errorf("%d %d: exit code %d, want %d\nstdout: %s\nstderr: %s", n, i, o.code, c.code, o.out, o.errs)
				}
			})
		}
		chat.say("y")
		wg.Wait()
	}
	chat.say("/exit")
	chat.ends()
	all := p.well(t, "", "sessions", "show", id)
	if strings.Contains(all, "interrupted") {
		t.Error(all)
	}
}
