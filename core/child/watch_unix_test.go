//go:build unix && !linux

package child

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"dragoman/core/child/childtest"
)

const guardedVar = "CHILD_TEST_GUARDED"

// TestWatchedParent is the process that is killed by TestKilled. It runs each of
// the lines that it is given at the same time.
func TestWatchedParent(t *testing.T) {
	lines := os.Getenv(guardedVar)
	if lines == "" {
		t.Skip("not called by TestKilled")
	}
	guard := guarding(t)
	var all sync.WaitGroup
	defer all.Wait()
	for line := range strings.SplitSeq(lines, "\x1f") {
		all.Go(func() {
			g, err := guard.Start(exec.Command(shell(), "-c", line))
			if err != nil {
				t.Error(err)
				return
			}
			g.Await()
			g.Close()
		})
	}
}

// However we are killed, nothing of a program's session outlives us, and no watch
// does.
func TestKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		lines  []string // %s is the time to sleep
		sleeps int
		kill   func(pid int) error
	}{
		{name: "background", lines: []string{"sleep %[1]s & sleep %[1]s; true"}, sleeps: 2},
		{name: "terminated", lines: []string{"sleep %[1]s & sleep %[1]s; true"}, sleeps: 2, kill: childtest.Politely},
		{name: "the whole group", lines: []string{"sleep %[1]s & sleep %[1]s; true"}, sleeps: 2, kill: childtest.WithItsGroup},
		{name: "pipeline", lines: []string{"(sleep %[1]s; true) | cat"}, sleeps: 1},
		{name: "the shell became another", lines: []string{"(sleep %[1]s & sleep %[1]s) & exec sleep %[1]s"}, sleeps: 3},
		{name: "deep, output closed", lines: []string{`sh -c "sh -c 'sleep %[1]s; true' & sleep %[1]s; true" >/dev/null 2>&1; true`}, sleeps: 2},
		{name: "ignores signals", lines: []string{`trap "" HUP INT TERM; sleep %[1]s & while :; do sleep %[1]s; done`}, sleeps: 2},
		{name: "two programs", lines: []string{"sleep %[1]s & sleep %[1]s; true", "sleep %[1]s; true"}, sleeps: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			odd := childtest.OddSleep()
			lines := make([]string, len(c.lines))
			for i, line := range c.lines {
				lines[i] = fmt.Sprintf(line, odd)
			}
			cmd := exec.Command(exe, "-test.run=^TestWatchedParent$")
			cmd.Env = append(os.Environ(), guardedVar+"="+strings.Join(lines, "\x1f"))
			kill := childtest.Outright
			if c.kill != nil {
				kill = c.kill
			}
			childtest.Killed(t, cmd, odd, c.sleeps, len(c.lines), kill)
		})
	}
}

// A program's end leaves no watch, also when the watch does not answer or was
// killed, and whatever becomes of the watch does not change the program.
func TestWatchDismissed(t *testing.T) {
	for name, disturb := range map[string][]syscall.Signal{
		"left alone":          nil,
		"killed":              {syscall.SIGKILL},
		"stopped":             {syscall.SIGSTOP},
		"stopped and resumed": {syscall.SIGSTOP, syscall.SIGCONT},
	} {
		t.Run(name, func(t *testing.T) {
			watch, end := guarded(t, guarding(t))
			for _, sig := range disturb {
				if err := syscall.Kill(watch, sig); err != nil {
					t.Fatal(err)
				}
			}
			if strings.HasSuffix(name, "killed") {
				childtest.Soon(t, "the watch is dead", func() bool { return !childtest.Running(watch) })
			} else if !childtest.Running(watch) {
				t.Error("the watch is gone")
			}
			if how := end(); how.Code != 3 {
				t.Errorf("it ended with %v", how)
			}
			if syscall.Kill(watch, 0) == nil {
				t.Error("the watch is left")
			}
			for _, p := range childtest.Processes(t) {
				if p.Parent == os.Getpid() {
					t.Errorf("a child is left: %+v", p)
				}
			}
		})
	}
}

// begin starts a program as Start does, by another sh or ("") by none, and stops
// where the program waits for adopt.
func begin(t *testing.T, cmd *exec.Cmd, sh string) *tree {
	t.Helper()
	g := &tree{cmd: cmd, reap: sync.OnceFunc(func() { _ = cmd.Wait() }), streams: &stdio{}}
	g.session.prepareBy(cmd, sh)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return g
}

// A program waits for its watch, and never runs when we die before.
func TestGate(t *testing.T) {
	var out bytes.Buffer
	prepare := func() *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", `echo "$0 $1"; cat`, "a b", "c  d")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		cmd.Stdin, cmd.Stdout = strings.NewReader("in\nput"), &out
		return cmd
	}
	cmd := prepare()
	g := begin(t, cmd, findShell())
	g.session.free() // the gate's end, as when we die
	g.reap()
	if cmd.ProcessState.Success() || out.Len() > 0 {
		t.Errorf("it ran: %v, %q", cmd.ProcessState, &out)
	}
	cmd = prepare()
	g = begin(t, cmd, findShell())
	if err := g.session.adopt(cmd.Process); err != nil {
		t.Fatal(err)
	}
	g.await()
	g.close()
	if got := out.String(); got != "a b c  d\nin\nput" || !cmd.ProcessState.Success() {
		t.Errorf("%v, %q", cmd.ProcessState, got)
	}
}

// Without an sh, programs run without a watch, and see nothing of that: neither in
// their environment nor in their open files.
func TestGateUnseen(t *testing.T) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/u", "SHLVL=3", "LINES=a\nb", "EMPTY=", "x1=é"}
	if !keeps(env) || keeps([]string{"a.b=1"}) || keeps([]string{"1a=1"}) || keeps([]string{"=1"}) {
		t.Error("the wrong names are taken for good ones")
	}
	const line = `env; for fd in 0 1 2 3 4 5 6 7 8 9; do if (: <&$fd) 2>/dev/null || (: >&$fd) 2>/dev/null; then echo open $fd; fi; done`
	see := func(sh string, env []string) (list []string, guards int) {
		var out bytes.Buffer
		cmd := exec.Command(shell(), "-c", line)
		cmd.Env, cmd.Stdout = env, &out
		g := begin(t, cmd, sh)
		if err := g.session.adopt(cmd.Process); err != nil {
			t.Fatal(err)
		}
		guards = len(childtest.Guards(t, os.Getpid()))
		g.await()
		g.close()
		for line := range strings.Lines(out.String()) {
			list = append(list, line)
		}
		slices.Sort(list)
		return list, guards
	}
	bare, none := see("", env)
	gated, one := see(findShell(), env)
	if none != 0 || one != 1 || !slices.Equal(bare, gated) || !slices.Contains(gated, "EMPTY=\n") || !slices.Contains(gated, "open 0\n") {
		t.Errorf("seen with %d guards %q,\nwith %d guards %q", none, bare, one, gated)
	}
	odd := append(slices.Clone(env), "odd.name=1")
	bare, _ = see("", odd)
	if gated, one = see(findShell(), odd); one != 1 || !slices.Equal(bare, gated) {
		t.Errorf("with an odd name, seen with %d guards %q,\nwithout %q", one, gated, bare)
	}
}

// By whatever sh: a watch that reads a line, as the program is over, touches nothing;
// one whose input ends ends the group and its session. The gate lets the program
// through after a line.
func TestWatchScript(t *testing.T) {
	for _, shell := range [][]string{{"sh"}, {"dash"}, {"bash", "--posix"}, {"bash"}, {"busybox", "sh"}, {"mksh"}, {"ksh"}, {"yash"}, {"zsh", "--emulate", "sh"}} {
		t.Run(strings.Join(shell, " "), func(t *testing.T) {
			path, err := exec.LookPath(shell[0])
			if err != nil {
				t.Skip(err)
			}
			by := func(script string, args ...string) *exec.Cmd {
				return exec.Command(path, append(append(slices.Clone(shell[1:]), "-c", script), args...)...)
			}
			odd := childtest.OddSleep()
			line, sleeps := "sleep "+odd+"; true", 1
			victim := exec.Command("sh", "-c", line)
			victim.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { childtest.Wake(t, odd) })
			childtest.Soon(t, "the victim runs", func() bool { return len(childtest.Asleep(t, odd)) == sleeps })
			guard := func(input string) error {
				cmd := by(watchScript, watchName, strconv.Itoa(victim.Process.Pid))
				cmd.Stdin = strings.NewReader(input)
				return cmd.Run()
			}
			if err := guard("over\n"); err != nil || len(childtest.Asleep(t, odd)) != sleeps || !childtest.Running(victim.Process.Pid) {
				t.Errorf("it was ended for nothing: %v", err)
			}
			if err := guard(""); err != nil {
				t.Error(err)
			}
			childtest.Soon(t, "it is killed", func() bool {
				return !childtest.Running(victim.Process.Pid) && len(childtest.Asleep(t, odd)) == 0
			})
			if err := victim.Wait(); err == nil || endingOf(victim.ProcessState).Signal != "killed" {
				t.Errorf("ended by %v", err)
			}

			gate := func(line string) (string, error) {
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if _, err := io.WriteString(w, line); err != nil {
					t.Fatal(err)
				}
				w.Close()
				cmd := by(gateScript, "sh", "/bin/sh", "-c", `cat; echo "$1"; if (: <&3) 2>/dev/null; then echo open; fi`, "x", "a  b")
				cmd.Stdin, cmd.ExtraFiles = strings.NewReader("input\n"), []*os.File{r}
				out, err := cmd.Output()
				return string(out), err
			}
			if out, err := gate("\n"); out != "input\na  b\n" || err != nil {
				t.Errorf("through the gate: %q %v", out, err)
			}
			if out, err := gate(""); out != "" || err == nil {
				t.Errorf("through the closed gate: %q %v", out, err)
			}
		})
	}
}
