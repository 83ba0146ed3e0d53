package shell

import (
	"testing"

	"dragoman/core/child"
	"dragoman/core/child/childtest"
)

// A daemon that a command leaves behind neither holds up its end nor outlives the session; that of
// a killed command ends with it.
func TestTerminalLeavesADaemon(t *testing.T) {
	ts := terminals(t)
	odds := []string{childtest.OddSleep(), childtest.OddSleep()}
	left := func(i int) int { return len(childtest.Asleep(t, odds[i])) }
	for _, odd := range odds {
		t.Cleanup(func() { childtest.Wake(t, odd) })
	}
	// It has left the session when the command ends, and holds the pipe.
	daemon := "mkfifo go; setsid -f sh -c 'echo >go; exec sleep " + odds[0] + "'; read x <go; echo end"
	if out := ended(t, start(t, ts, Request{Command: daemon})); out.Text != "end\n" {
		t.Errorf("%+v", out)
	}
	childtest.Soon(t, "the first daemon goes on", func() bool { return left(0) == 1 })
	term := printing(t, ts, Request{Command: "setsid -f sleep " + odds[1] + "; echo runs; sleep 600"})
	childtest.Soon(t, "the daemon runs", func() bool { return left(1) == 1 })
	if err := term.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left(0) != 1 || left(1) != 0 {
		t.Errorf("of the one that ended %d are left, of the killed one %d", left(0), left(1))
	}
	ts.Close()
	ts.Guard.(*child.Guard).Close()
	if left(0) != 0 {
		t.Error("a daemon outlives the session")
	}
}
