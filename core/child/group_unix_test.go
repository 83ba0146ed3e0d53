//go:build unix

package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"dragoman/core/child/childtest"
)

// shell is a program that runs a line.
func shell() string {
	if path, err := exec.LookPath("bash"); err == nil {
		return path
	}
	return "/bin/sh"
}

// guarding is a guard for one test.
func guarding(t testing.TB) *Guard {
	g := &Guard{}
	t.Cleanup(g.Close)
	return g
}

// start starts a line in which %s is a time to sleep, and waits until so many
// sleep.
func start(t *testing.T, line string, sleeps int) (*Group, func() int) {
	t.Helper()
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	cmd := exec.Command(shell(), "-c", strings.ReplaceAll(line, "%s", odd))
	g, err := guarding(t).Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	left := func() int { return len(childtest.Asleep(t, odd)) }
	childtest.Soon(t, "all of it runs", func() bool { return left() == sleeps })
	return g, left
}

// begun starts a line, and returns when it has printed something. Its errors go to errs.
func begun(t *testing.T, guard *Guard, line string, errs *os.File) *Group {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(shell(), "-c", line)
	cmd.Stdout = w
	if errs != nil {
		cmd.Stderr = errs
	}
	g, err := guard.Start(cmd)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return g
}

// guarded starts a program with a guard, and returns the process that guards it: the
// guard, or the program's watch. end has the program end, and closes its group.
func guarded(t *testing.T, guard *Guard) (pid int, end func() Ending) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(shell(), "-c", "read -r line; exit 3")
	cmd.Stdin = r
	g, err := guard.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	list := childtest.Guards(t, os.Getpid())
	if len(list) != 1 {
		t.Fatalf("guarded by %v", list)
	}
	return list[0], func() Ending {
		w.Close()
		g.Await()
		return g.Close()
	}
}

// A group is asked to end, and ended, with all that the program has started; what
// the program leaves behind lives until then.
func TestGroup(t *testing.T) {
	t.Run("terminated", func(t *testing.T) {
		g, left := start(t, "sh -c 'sleep %s & sleep %s; true' & sleep %s; true", 3)
		g.Terminate()
		g.Await()
		childtest.Soon(t, "nobody lives", func() bool { return !g.Alive() && left() == 0 })
		if got := g.Close(); got.Signal != "terminated" {
			t.Errorf("ended with %v", got)
		}
	})
	t.Run("killed", func(t *testing.T) {
		g, left := start(t, `trap "" TERM; sh -c 'trap "" TERM; sleep %s & sleep %s; true' & sleep %s; true`, 3)
		g.Terminate()
		if !g.Alive() || left() != 3 {
			t.Errorf("alive %v, %d asleep", g.Alive(), left())
		}
		g.Kill()
		if left() != 0 {
			t.Error("it lives")
		}
		g.Await()
		if got := g.Close(); got.Signal != "killed" {
			t.Errorf("ended with %v", got)
		}
	})
	t.Run("left behind", func(t *testing.T) {
		g, left := start(t, "sleep %s & exit 4", 1)
		g.Await()
		if !g.Alive() || left() != 1 {
			t.Errorf("alive %v, %d asleep", g.Alive(), left())
		}
		if got := g.Close(); left() != 0 || got != (Ending{Code: 4}) {
			t.Errorf("%v, %d asleep", got, left())
		}
	})
	t.Run("closed while it runs", func(t *testing.T) {
		g, left := start(t, "sleep %s & sleep %s; true", 2)
		waited := make(chan struct{})
		go func() { defer close(waited); g.Await() }()
		got := g.Close()
		<-waited
		if got.Signal != "killed" || left() != 0 {
			t.Errorf("ended with %v, %d asleep", got, left())
		}
	})
	t.Run("groups of its own", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("only Linux tells us the processes of a session")
		}
		g, left := start(t, "set -m; sleep %s & sleep %s | cat & exit 0", 2)
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

// What a program printed is there when it has run; nothing else is left of it.
func TestRun(t *testing.T) {
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	var out bytes.Buffer
	cmd := exec.Command(shell(), "-c", "sleep "+odd+" & seq 10000; echo end; exit 3")
	cmd.Stdout = &out
	if how, err := Run(t.Context(), cmd); err != nil || how.Code != 3 || how.Success() || how.String() != "exit status 3" {
		t.Errorf("%v, %v", err, how)
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
	how, err := Run(ctx, cmd)
	w.Close()
	if err != nil || how.Signal != "killed" || how.String() != "signal: killed" || len(childtest.Asleep(t, odd)) > 0 {
		t.Errorf("%v, %v; left: %v", err, how, childtest.Asleep(t, odd))
	}
	if _, err := Run(ctx, exec.Command(shell())); !errors.Is(err, context.Canceled) {
		t.Errorf("begun too late: %v", err)
	}
}

// What cannot be started says so of itself, and not of the sh that stands before it.
func TestStartFails(t *testing.T) {
	long := exec.Command("/bin/echo", strings.Repeat("x", 8<<20))
	folder := exec.Command("/bin/echo")
	folder.Dir = "/no/such/folder"
	guard := guarding(t)
	for want, cmd := range map[string]*exec.Cmd{
		"fork/exec /bin/echo: argument list too long":                      long,
		"stat /no/such/folder: no such file or directory":                  folder,
		`exec: "no-such-program-here": executable file not found in $PATH`: exec.Command("no-such-program-here"),
	} {
		if g, err := guard.Start(cmd); err == nil || err.Error() != want || g != nil {
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
		guard := &Guard{}
		defer guard.Close()
		g, err := guard.Start(exec.Command("/bin/sh", "-c", "exit 0"))
		if err != nil {
			t.Fatal(err)
		}
		g.Await()
		g.Close()
		if _, err := guard.Start(&exec.Cmd{Path: "/bin/echo", Dir: "/no/such/folder"}); err == nil {
			t.Fatal("it was started nowhere")
		}
	}
	once()
	before := fds()
	routines := runtime.NumGoroutine()
	for range 20 {
		once()
	}
	// The last goroutine of a guard says that it ends, and then does.
	childtest.Soon(t, fmt.Sprintf("no more than %d goroutines run", routines), func() bool { return runtime.NumGoroutine() <= routines })
	if now := fds(); now > before {
		t.Errorf("%d files are open, there were %d", now, before)
	}
	for _, p := range childtest.Processes(t) {
		if p.Parent == os.Getpid() {
			t.Errorf("a child is left: %+v", p)
		}
	}
}

// Whatever the streams are, a program has them, and what it prints is there at the end.
// One that leaves its output open holds nobody longer than WaitDelay.
func TestStreams(t *testing.T) {
	guard := guarding(t)
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	run := func(cmd *exec.Cmd) Ending {
		t.Helper()
		g, err := guard.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		g.Await()
		return g.Close()
	}
	var out, errs bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", `cat; echo "$0 $1"; echo no >&2`, "a b", "c  d")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("in\nput "), &out, &errs
	if how := run(cmd); !how.Success() || out.String() != "in\nput a b c  d\n" || errs.String() != "no\n" {
		t.Errorf("%v, %q, %q", how, &out, &errs)
	}
	out.Reset()
	cmd = exec.Command("/bin/sh", "-c", "echo out; echo err >&2; head -c 3; pwd")
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = strings.NewReader(strings.Repeat("x", 1<<20)), &out, &out, "/"
	if how := run(cmd); !how.Success() || out.String() != "out\nerr\nxxx/\n" {
		t.Errorf("%v, %q", how, &out)
	}
	cmd = exec.Command("/bin/sh", "-c", "cat; echo file; echo lost >&2")
	cmd.Stdout = file
	if how := run(cmd); !how.Success() {
		t.Error(how)
	}
	if text, err := os.ReadFile(file.Name()); err != nil || string(text) != "file\n" {
		t.Errorf("%q %v", text, err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	cmd = exec.Command("/bin/pwd")
	cmd.Stdout = &out
	if run(cmd); out.String() != here+"\n" {
		t.Errorf("it ran in %q", &out)
	}
}

// A guard that is held by several is closed by the last one.
func TestGuards(t *testing.T) {
	var gs Guards
	a, releaseA := gs.Hold("a")
	again, releaseAgain := gs.Hold("a")
	other, releaseOther := gs.Hold("b")
	defer releaseOther()
	if a != again || a == other {
		t.Fatal("the wrong guard")
	}
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	g, err := a.Start(exec.Command("sleep", odd))
	if err != nil {
		t.Fatal(err)
	}
	releaseA()
	releaseA()
	if !g.Alive() {
		t.Error("it was closed too early")
	}
	defer g.Close()
	if runtime.GOOS == "linux" { // elsewhere groups are ended by their owners alone
		releaseAgain()
		g.Await()
		if left := childtest.Asleep(t, odd); len(left) > 0 || g.Alive() {
			t.Errorf("left: %v", left)
		}
	}
	releaseAgain()
	if _, err := a.Start(exec.Command("true")); err == nil {
		t.Error("a guard that is closed starts programs")
	}
	next, release := gs.Hold("a")
	defer release()
	if next == a {
		t.Error("a guard that was closed is handed out")
	}
}

// What a start costs: the first one of a guard, and later ones.
func BenchmarkStart(b *testing.B) {
	once := func(b *testing.B, guard *Guard) {
		g, err := guard.Start(exec.Command("/bin/true"))
		if err != nil {
			b.Fatal(err)
		}
		g.Await()
		g.Close()
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			guard := &Guard{}
			once(b, guard)
			guard.Close()
		}
	})
	b.Run("later", func(b *testing.B) {
		guard := guarding(b)
		once(b, guard)
		for b.Loop() {
			once(b, guard)
		}
	})
	b.Run("beside others", func(b *testing.B) {
		guard := guarding(b)
		if _, err := guard.Start(exec.Command("sleep", childtest.OddSleep())); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			once(b, guard)
		}
	})
}

// A process that is asked to end gets the signal once, even if it is just being
// started.
func TestTerminate(t *testing.T) {
	guard := guarding(t)
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	line := "echo; sleep " + odd + " & sleep " + odd + " & sleep " + odd + " & sleep " + odd + "; true"
	for range 20 {
		g := begun(t, guard, line, nil)
		g.Terminate()
		g.Await()
		childtest.Soon(t, "nobody lives", func() bool { return !g.Alive() })
		g.Close()
	}
	said, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	g := begun(t, guard, `trap "echo heard >&2; done=yes" TERM; echo; until [ "$done" ]; do sleep 0.01; done; sleep 0.05`, said)
	g.Terminate()
	g.Await()
	g.Close()
	if text, err := os.ReadFile(said.Name()); err != nil || strings.Count(string(text), "heard") != 1 {
		t.Errorf("%q %v", text, err)
	}
}
