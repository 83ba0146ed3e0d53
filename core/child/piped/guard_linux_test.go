package piped

import (
	"os"
	"testing"

	"dragoman/core/child/childtest"
)

// When a program ends, its daemons end too, but no process of the same guard's other programs.
func TestCloseEndsDaemons(t *testing.T) {
	guard := guarding(t)
	var odds []string
	var programs []*Process
	for range 2 {
		odd := childtest.OddSleep()
		t.Cleanup(func() { childtest.Wake(t, odd) })
		p, err := Command{Path: "sh", Args: []string{"-c", "setsid -f sleep " + odd + "; cat"}, Env: os.Environ(), Guard: guard}.Start()
		if err != nil {
			t.Fatal(err)
		}
		childtest.Soon(t, "the daemon runs", func() bool { return len(childtest.Asleep(t, odd)) == 1 })
		odds, programs = append(odds, odd), append(programs, p)
	}
	programs[0].Close(polite, polite)
	if gone, left := childtest.Asleep(t, odds[0]), childtest.Asleep(t, odds[1]); len(gone) != 0 || len(left) != 1 {
		t.Errorf("of the one that has ended %v are left, of the other one %v", gone, left)
	}
	programs[1].Close(polite, polite)
	if left := childtest.Asleep(t, odds[1]); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
