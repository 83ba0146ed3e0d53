package tools

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"dragoman/core"
	"dragoman/core/child/childtest"
)

// daemons counts the programs that sleep for this number of seconds.
func daemons(t *testing.T, odd string) int { return len(childtest.Asleep(t, odd)) }

// Ending a command or a job ends its daemons, and no others. A command that ends by
// itself leaves them to the session, which has one guard for all of it.
func TestDaemons(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	b := newBed(t)
	odds := map[string]string{}
	line := func(name string) string {
		odds[name] = childtest.OddSleep()
		t.Cleanup(func() { childtest.Wake(t, odds[name]) })
		return "setsid -f sh -c 'echo runs; exec sleep " + odds[name] + " >&- 2>&-' | cat; "
	}
	if res := b.shellRun(t.Context(), m{"command": line("ended")}, nil); res.Failed {
		t.Fatal(said(res))
	}
	job := b.begin(m{"command": line("job") + "sleep 600"})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	done := make(chan struct{})
	command := line("canceled") + "sleep 600"
	go func() {
		defer close(done)
		b.shellRun(ctx, m{"command": command}, nil)
	}()
	childtest.Soon(t, "all daemons run", func() bool {
		return daemons(t, odds["ended"])+daemons(t, odds["job"])+daemons(t, odds["canceled"]) == 3
	})
	if list := childtest.Guards(t, os.Getpid()); len(list) != 1 {
		t.Errorf("guards %v", list)
	}
	want := func(what string, ended, job, canceled int) {
		t.Helper()
		if e, j, c := daemons(t, odds["ended"]), daemons(t, odds["job"]), daemons(t, odds["canceled"]); e != ended || j != job || c != canceled {
			t.Errorf("%s: of what has ended %d daemons are left, of the job %d, of what was cancelled %d; want %d, %d, %d", what, e, j, c, ended, job, canceled)
		}
	}
	cancel(core.ErrCanceled)
	<-done
	want("the command was cancelled", 1, 1, 0)
	if killed, err := job.Kill(t.Context()); !killed || err != nil {
		t.Errorf("%v %v", killed, err)
	}
	want("the job was killed", 1, 0, 0)
	if err := b.set.Close(); err != nil {
		t.Error(err)
	}
	want("the session has ended", 0, 0, 0)
	if list := childtest.Guards(t, os.Getpid()); len(list) != 0 {
		t.Errorf("guards %v", list)
	}
}
