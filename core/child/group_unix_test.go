//go:build unix

package child

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"dragoman/core/child/childtest"
)

// start starts a line in which %s is a time to sleep, and waits until so many
// sleep.
func start(t *testing.T, line string, sleeps int) (*exec.Cmd, *Group, func() int) {
	t.Helper()
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	cmd := exec.Command(shell(), "-c", strings.ReplaceAll(line, "%s", odd))
	g, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	left := func() int { return len(childtest.Asleep(t, odd)) }
	childtest.Soon(t, "all of it runs", func() bool { return left() == sleeps })
	return cmd, g, left
}

// A group is asked to end, and ended, with all that the program has started; what
// the program leaves behind lives until then.
func TestGroup(t *testing.T) {
	t.Run("terminated", func(t *testing.T) {
		cmd, g, left := start(t, "sh -c 'sleep %s & sleep %s; true' & sleep %s; true", 3)
		g.Terminate()
		g.Await()
		childtest.Soon(t, "nobody lives", func() bool { return !g.Alive() && left() == 0 })
		g.Close()
		if got := SignalOf(cmd.ProcessState); got != "terminated" {
			t.Errorf("ended by %q", got)
		}
	})
	t.Run("killed", func(t *testing.T) {
		cmd, g, left := start(t, `trap "" TERM; sh -c 'trap "" TERM; sleep %s & sleep %s; true' & sleep %s; true`, 3)
		g.Terminate()
		if !g.Alive() || left() != 3 {
			t.Errorf("alive %v, %d asleep", g.Alive(), left())
		}
		g.Kill()
		if left() != 0 {
			t.Error("it lives")
		}
		g.Await()
		g.Close()
		if got := SignalOf(cmd.ProcessState); got != "killed" {
			t.Errorf("ended by %q", got)
		}
	})
	t.Run("left behind", func(t *testing.T) {
		cmd, g, left := start(t, "sleep %s & exit 4", 1)
		g.Await()
		if !g.Alive() || left() != 1 {
			t.Errorf("alive %v, %d asleep", g.Alive(), left())
		}
		g.Close()
		if left() != 0 || cmd.ProcessState.ExitCode() != 4 || SignalOf(cmd.ProcessState) != "" {
			t.Errorf("%v, %d asleep", cmd.ProcessState, left())
		}
	})
	t.Run("closed while it runs", func(t *testing.T) {
		cmd, g, left := start(t, "sleep %s & sleep %s; true", 2)
		waited := make(chan struct{})
		go func() { defer close(waited); g.Await() }()
		g.Close()
		<-waited
		if got := SignalOf(cmd.ProcessState); got != "killed" || left() != 0 {
			t.Errorf("ended by %q, %d asleep", got, left())
		}
	})
	t.Run("groups of its own", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("only Linux tells us the processes of a session")
		}
		_, g, left := start(t, "set -m; sleep %s & sleep %s | cat & exit 0", 2)
		g.Await()
		if !g.Alive() {
			t.Error("nobody lives")
		}
		g.Close()
		if left() != 0 {
			t.Error("it lives")
		}
	})
}

// What has a session of its own is ended with its parent, whatever the way; what its
// parent has left behind is a daemon, and stays.
func TestSessionsOfItsOwn(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		t.Skip("only Linux tells us the processes of a session")
	}
	const line = `setsid sh -c "trap '' TERM; setsid sleep %s & sleep %s; true" & sleep %s; true`
	t.Run("closed", func(t *testing.T) {
		_, g, left := start(t, line, 3)
		g.Close()
		childtest.Soon(t, "all is gone", func() bool { return left() == 0 })
	})
	t.Run("terminated", func(t *testing.T) {
		_, g, left := start(t, line, 3)
		g.Terminate()
		childtest.Soon(t, "the program is gone", func() bool { return left() < 3 })
		g.Close()
		childtest.Soon(t, "all is gone", func() bool { return left() == 0 })
	})
	t.Run("a daemon", func(t *testing.T) {
		_, g, left := start(t, "(setsid sleep %s >/dev/null 2>&1 &) ; exit 0", 1)
		g.Await()
		g.Close()
		if left() != 1 {
			t.Error("it was ended")
		}
	})
}

// Once a group was closed its number may mean another one: nobody is signalled.
func TestClosed(t *testing.T) {
	_, victim, left := start(t, "sleep %s; true", 1)
	defer victim.Close()
	_, g, _ := start(t, "exit 0", 0)
	g.Await()
	g.Close()
	g.tree.id = victim.tree.id
	g.tree.gone = false
	g.Terminate()
	g.Kill()
	if g.Alive() || !victim.Alive() || left() != 1 {
		t.Errorf("alive %v, the other one %v with %d asleep", g.Alive(), victim.Alive(), left())
	}
}

// What a program printed is there when it has run; nothing else is left of it.
func TestRun(t *testing.T) {
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	var out bytes.Buffer
	cmd := exec.Command(shell(), "-c", "sleep "+odd+" & seq 10000; echo end; exit 3")
	cmd.Stdout = &out
	if err := Run(t.Context(), cmd); err != nil || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("%v, %v", err, cmd.ProcessState)
	}
	if !strings.HasSuffix(out.String(), "\n10000\nend\n") || len(childtest.Asleep(t, odd)) > 0 {
		t.Errorf("printed %d bytes; left: %v", out.Len(), childtest.Asleep(t, odd))
	}

	ctx, cancel := context.WithCancel(t.Context())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd = exec.Command(shell(), "-c", "sleep "+odd+" & echo here; sleep "+odd)
	cmd.Stdout = w
	go func() {
		defer cancel()
		_, _ = r.Read(make([]byte, 1))
	}()
	err = Run(ctx, cmd)
	w.Close()
	if err != nil || SignalOf(cmd.ProcessState) != "killed" || len(childtest.Asleep(t, odd)) > 0 {
		t.Errorf("%v, %v; left: %v", err, cmd.ProcessState, childtest.Asleep(t, odd))
	}
	if err := Run(ctx, exec.Command(shell())); !errors.Is(err, context.Canceled) {
		t.Errorf("begun too late: %v", err)
	}
}

// What cannot be started says so of itself, and not of the sh that stands before it.
func TestStartFails(t *testing.T) {
	long := exec.Command("/bin/echo", strings.Repeat("x", 8<<20))
	folder := exec.Command("/bin/echo")
	folder.Dir = "/no/such/folder"
	for want, cmd := range map[string]*exec.Cmd{
		"fork/exec /bin/echo: argument list too long":                      long,
		"stat /no/such/folder: no such file or directory":                  folder,
		`exec: "no-such-program-here": executable file not found in $PATH`: exec.Command("no-such-program-here"),
	} {
		if g, err := Start(cmd); err == nil || err.Error() != want || g != nil {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Files and processes are given back, whatever the garbage collector does.
func TestLeaksNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	fds := func() int {
		list, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(list)
	}
	once := func() {
		g, err := Start(exec.Command("/bin/sh", "-c", "exit 0"))
		if err != nil {
			t.Fatal(err)
		}
		g.Await()
		g.Close()
		if _, err := Start(&exec.Cmd{Path: "/bin/echo", Dir: "/no/such/folder"}); err == nil {
			t.Fatal("it was started nowhere")
		}
	}
	once()
	before := fds()
	for range 20 {
		once()
	}
	if now := fds(); now > before {
		t.Errorf("%d files are open, there were %d", now, before)
	}
	for _, p := range childtest.Processes(t) {
		if p.Parent == os.Getpid() {
			t.Errorf("a child is left: %+v", p)
		}
	}
}
