//go:build unix

package child

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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

const guardedVar = "CHILD_TEST_GUARDED"

// TestGuardedParent is the process that is killed by TestKilled. It runs each of
// the lines that it is given at the same time.
func TestGuardedParent(t *testing.T) {
	lines := os.Getenv(guardedVar)
	if lines == "" {
		t.Skip("not called by TestKilled")
	}
	var all sync.WaitGroup
	defer all.Wait()
	for line := range strings.SplitSeq(lines, "\x1f") {
		all.Go(func() {
			g, err := Start(exec.Command(shell(), "-c", line))
			if err != nil {
				t.Error(err)
				return
			}
			g.Await()
			g.Close()
		})
	}
}

// However we are killed, nothing that a program started outlives us, and no guard
// does.
func TestKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		lines  []string // %s is the time to sleep
		needs  string   // a program
		linux  bool     // covered there alone
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
		{name: "job control", lines: []string{"set -m; (sleep %[1]s; true) & sleep %[1]s | cat; true"}, linux: true, sleeps: 2},
		{name: "sessions of its own", lines: []string{`setsid sh -c "setsid sleep %[1]s & sleep %[1]s; true" & sleep %[1]s; true`}, needs: "setsid", linux: true, sleeps: 3},
		{name: "timeout", lines: []string{`timeout 1000 sh -c "sleep %[1]s & sleep %[1]s; true"; true`}, needs: "timeout", linux: true, sleeps: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.linux && runtime.GOOS != "linux" {
				t.Skip("only Linux tells us the processes of a session")
			}
			if _, err := exec.LookPath(c.needs); err != nil && c.needs != "" {
				t.Skip(err)
			}
			odd := childtest.OddSleep()
			lines := make([]string, len(c.lines))
			for i, line := range c.lines {
				lines[i] = fmt.Sprintf(line, odd)
			}
			cmd := exec.Command(exe, "-test.run=^TestGuardedParent$")
			cmd.Env = append(os.Environ(), guardedVar+"="+strings.Join(lines, "\x1f"))
			kill := childtest.Outright
			if c.kill != nil {
				kill = c.kill
			}
			childtest.Killed(t, cmd, odd, c.sleeps, len(c.lines), kill)
		})
	}
}

// guarded starts a program with a guard. end has the program end, and closes its
// group.
func guarded(t *testing.T, env []string) (guard int, end func() *os.ProcessState) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(shell(), "-c", "read -r line; exit 3")
	cmd.Stdin, cmd.Env = r, env
	g, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	list := childtest.Guards(t, os.Getpid())
	if len(list) != 1 {
		t.Fatalf("guards %v", list)
	}
	return list[0], func() *os.ProcessState {
		w.Close()
		g.Await()
		g.Close()
		return cmd.ProcessState
	}
}

// A program's end leaves no guard, also when the guard does not answer or was
// killed, and whatever becomes of the guard does not change the program.
func TestGuardDismissed(t *testing.T) {
	for name, disturb := range map[string][]syscall.Signal{
		"left alone":          nil,
		"killed":              {syscall.SIGKILL},
		"stopped":             {syscall.SIGSTOP},
		"stopped and resumed": {syscall.SIGSTOP, syscall.SIGCONT},
		"told to end":         {syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT},
	} {
		t.Run(name, func(t *testing.T) {
			guard, end := guarded(t, nil)
			childtest.Soon(t, "the guard listens", func() bool { return listens(t, guard) })
			for _, sig := range disturb {
				if err := syscall.Kill(guard, sig); err != nil {
					t.Fatal(err)
				}
			}
			if strings.HasSuffix(name, "killed") {
				childtest.Soon(t, "the guard is dead", func() bool { return !childtest.Running(guard) })
			} else if !childtest.Running(guard) {
				t.Error("the guard is gone")
			}
			if state := end(); state.ExitCode() != 3 {
				t.Errorf("it ended with %v", state)
			}
			if syscall.Kill(guard, 0) == nil {
				t.Error("the guard is left")
			}
			for _, p := range childtest.Processes(t) {
				if p.Parent == os.Getpid() {
					t.Errorf("a child is left: %+v", p)
				}
			}
		})
	}
}

// listens reports whether a guard ignores polite signals by now.
func listens(t *testing.T, guard int) bool {
	t.Helper()
	if runtime.GOOS != "linux" {
		return true // not to be seen there
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", guard))
	if err != nil {
		t.Fatal(err)
	}
	_, ignored, _ := strings.Cut(string(status), "SigIgn:")
	ignored, _, _ = strings.Cut(strings.TrimSpace(ignored), "\n")
	set, err := strconv.ParseUint(ignored, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return set&(1<<(syscall.SIGTERM-1)) != 0
}

// A guard has nothing but its pipe: not the program's output, not our files, no
// secrets, not the folder.
func TestGuardHoldsNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows what another process has")
	}
	guard, end := guarded(t, []string{"PATH=" + os.Getenv("PATH"), "TOKEN=canary"})
	defer end()
	proc := fmt.Sprintf("/proc/%d/", guard)
	childtest.Soon(t, "it is a shell", func() bool { return listens(t, guard) })
	fds, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		to, _ := os.Readlink(proc + "fd/" + fd.Name())
		want, ok := map[string]string{"0": "pipe:", "1": os.DevNull, "2": os.DevNull}[fd.Name()]
		if !ok {
			// What whoever started us left open for all is not of our making.
			want, _ = os.Readlink("/proc/self/fd/" + fd.Name())
			if flags(t, "/proc/self/fdinfo/"+fd.Name())&syscall.O_CLOEXEC != 0 {
				t.Errorf("file %s, %s, was inherited", fd.Name(), to)
			}
		}
		if !strings.HasPrefix(to, want) {
			t.Errorf("file %s is %s, want %s", fd.Name(), to, want)
		}
	}
	if flags(t, proc+"fdinfo/0")&syscall.O_NONBLOCK != 0 {
		t.Error("its input must block")
	}
	if env, err := os.ReadFile(proc + "environ"); err != nil || len(env) > 0 {
		t.Errorf("environment %q %v", env, err)
	}
	if dir, err := os.Readlink(proc + "cwd"); err != nil || dir != "/" {
		t.Errorf("folder %s %v", dir, err)
	}
}

// flags reads an open file's flags.
func flags(t *testing.T, fdinfo string) int64 {
	t.Helper()
	info, err := os.ReadFile(fdinfo)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(info), "flags:")
	octal, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseInt(strings.TrimSpace(octal), 8, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// begin starts a program as Start does, by another sh or ("") by none, and stops
// where the program waits for adopt.
func begin(t *testing.T, cmd *exec.Cmd, sh string) *Group {
	t.Helper()
	g := &Group{reap: sync.OnceFunc(func() { _ = cmd.Wait() })}
	g.tree.prepareBy(cmd, sh)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return g
}

// A program waits for its guard, and never runs when we die before.
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
	g.tree.free() // the gate's end, as when we die
	g.reap()
	if cmd.ProcessState.Success() || out.Len() > 0 {
		t.Errorf("it ran: %v, %q", cmd.ProcessState, &out)
	}
	cmd = prepare()
	g = begin(t, cmd, findShell())
	if err := g.tree.adopt(cmd.Process); err != nil {
		t.Fatal(err)
	}
	g.Await()
	g.Close()
	if got := out.String(); got != "a b c  d\nin\nput" || !cmd.ProcessState.Success() {
		t.Errorf("%v, %q", cmd.ProcessState, got)
	}
}

// Without an sh, programs run without a guard, and see nothing of that: neither in
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
		if err := g.tree.adopt(cmd.Process); err != nil {
			t.Fatal(err)
		}
		guards = len(childtest.Guards(t, os.Getpid()))
		g.Await()
		g.Close()
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

// A program whose environment is ours has all of it.
func TestGateOwnEnvironment(t *testing.T) {
	t.Setenv("odd.name", "1")
	var out bytes.Buffer
	cmd := exec.Command("env")
	cmd.Stdout = &out
	g, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	g.Await()
	g.Close()
	if !strings.Contains(out.String(), "odd.name=1\n") {
		t.Errorf("a variable is lost:\n%s", &out)
	}
}

// By whatever sh: a guard that is told that the program is over touches nothing;
// one whose input ends ends the group and its session. The gate lets the program
// through after a line.
func TestGuardScript(t *testing.T) {
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
			if runtime.GOOS == "linux" { // others are in groups and in sessions of their own
				for _, other := range []string{"timeout 1000", "setsid", "setsid timeout 1000"} {
					if _, err := exec.LookPath(strings.Fields(other)[0]); err == nil {
						line = other + " sleep " + odd + " & " + line
						sleeps++
					}
				}
			}
			victim := exec.Command("sh", "-c", line)
			victim.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { childtest.Wake(t, odd) })
			childtest.Soon(t, "the victim runs", func() bool { return len(childtest.Asleep(t, odd)) == sleeps })
			guard := func(input string) error {
				cmd := by(guardScript, guardName, strconv.Itoa(victim.Process.Pid))
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
			if err := victim.Wait(); err == nil || SignalOf(victim.ProcessState) != "killed" {
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
