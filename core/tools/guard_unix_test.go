//go:build unix

package tools

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a line of the system's list of processes. What has ended and waits
// to be asked for has no arguments.
type process struct {
	pid, parent int
	args        string
}

// processes lists all processes.
func processes(t *testing.T) (list []process) {
	t.Helper()
	if runtime.GOOS != "linux" {
		out, err := exec.Command("/bin/ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "args=").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			var p process
			if _, err := fmt.Sscan(line, &p.pid, &p.parent); err == nil {
				p.args = line
				list = append(list, p)
			}
		}
		return list
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		var p process
		var state string
		if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &p.parent); err != nil {
			t.Fatal(err)
		}
		p.pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(name)))
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		p.args = string(bytes.ReplaceAll(args, []byte{0}, []byte{' '}))
		list = append(list, p)
	}
	return list
}

// guards are the guards that parent has.
func guards(t *testing.T, parent int) (list []int) {
	t.Helper()
	for _, p := range processes(t) {
		if p.parent == parent && strings.Contains(p.args, guardName) {
			list = append(list, p.pid)
		}
	}
	return list
}

// asleep are the processes that sleep for so long: nobody else does.
func asleep(t *testing.T, seconds string) (list []int) {
	t.Helper()
	for _, p := range processes(t) {
		if strings.HasPrefix(strings.TrimLeft(p.args, " 0123456789"), "sleep "+seconds) {
			list = append(list, p.pid)
		}
	}
	return list
}

// soon waits until it is so.
func soon(t *testing.T, within time.Duration, what string, so func() bool) {
	t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-deadline.C:
			t.Fatalf("not after %v: %s", within, what)
		}
	}
}

// oddSleep is a length of time for which nobody else sleeps.
func oddSleep() string { return fmt.Sprintf("%d", 1_000_000+rand.IntN(1_000_000_000)) }

const guardedVar = "TOOLS_TEST_GUARDED"

// TestGuardedParent is the process that is killed by TestKilled. It runs each of
// the commands that it is given at the same time.
func TestGuardedParent(t *testing.T) {
	commands := os.Getenv(guardedVar)
	if commands == "" {
		t.Skip("not called by TestKilled")
	}
	b := newBed(t)
	var all sync.WaitGroup
	defer all.Wait()
	for _, line := range strings.Split(commands, "\x1f") {
		if job, ok := strings.CutPrefix(line, "job:"); ok {
			all.Go(func() { <-b.begin(m{"command": job}).done })
			continue
		}
		all.Go(func() { b.shellRun(context.Background(), m{"command": line, "timeout_seconds": 60}, nil) })
	}
}

// However we are killed, nothing that a command started outlives us, and no
// guard does.
func TestKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		commands []string // %s is the time to sleep
		needs    string   // a program
		linux    bool     // covered there alone
		sleeps   int
		kill     func(pid int) error
	}{
		{name: "background", commands: []string{"sleep %[1]s & sleep %[1]s; true"}, sleeps: 2},
		{name: "terminated", commands: []string{"sleep %[1]s & sleep %[1]s; true"}, sleeps: 2, kill: func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }},
		{name: "the whole group", commands: []string{"sleep %[1]s & sleep %[1]s; true"}, sleeps: 2, kill: func(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }},
		{name: "pipeline", commands: []string{"(sleep %[1]s; true) | cat"}, sleeps: 1},
		{name: "the shell became another", commands: []string{"(sleep %[1]s & sleep %[1]s) & exec sleep %[1]s"}, sleeps: 3},
		{name: "deep, output closed", commands: []string{`sh -c "sh -c 'sleep %[1]s; true' & sleep %[1]s; true" >/dev/null 2>&1; true`}, sleeps: 2},
		{name: "ignores signals", commands: []string{`trap "" HUP INT TERM; sleep %[1]s & while :; do sleep %[1]s; done`}, sleeps: 2},
		{name: "two commands", commands: []string{"sleep %[1]s & sleep %[1]s; true", "sleep %[1]s; true"}, sleeps: 3},
		{name: "a job", commands: []string{"job:sleep %[1]s & sleep %[1]s; true"}, sleeps: 2},
		{name: "job control", commands: []string{"set -m; (sleep %[1]s; true) & sleep %[1]s | cat; true"}, linux: true, sleeps: 2},
		{name: "timeout", commands: []string{`timeout 1000 sh -c "sleep %[1]s & sleep %[1]s; true"; true`}, needs: "timeout", linux: true, sleeps: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.linux && runtime.GOOS != "linux" {
				t.Skip("only Linux tells us the processes of a session")
			}
			if _, err := exec.LookPath(c.needs); err != nil && c.needs != "" {
				t.Skip(err)
			}
			odd := oddSleep()
			lines := make([]string, len(c.commands))
			for i, line := range c.commands {
				lines[i] = fmt.Sprintf(line, odd)
			}
			cmd := exec.Command(exe, "-test.run=^TestGuardedParent$")
			cmd.Env = append(os.Environ(), guardedVar+"="+strings.Join(lines, "\x1f"), "TMPDIR="+t.TempDir())
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				for _, pid := range asleep(t, odd) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			soon(t, 20*time.Second, "all of the command runs", func() bool { return len(asleep(t, odd)) == c.sleeps })
			watching := guards(t, cmd.Process.Pid)
			if len(watching) != len(c.commands) {
				t.Fatalf("%d commands have the guards %v", len(c.commands), watching)
			}
			kill := cmd.Process.Kill
			if c.kill != nil {
				kill = func() error { return c.kill(cmd.Process.Pid) }
			}
			if err := kill(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("it ended well")
			}
			soon(t, 20*time.Second, "all is gone", func() bool {
				return len(asleep(t, odd)) == 0 && !slices.ContainsFunc(watching, running)
			})
		})
	}
}

// guarded starts a command and returns its guard and what ends the command and
// returns its result.
func (b *bed) guarded(t *testing.T) (guard int, end func() string) {
	t.Helper()
	fifo := filepath.Join(b.dir, "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPids(1)
	done := make(chan string, 1) // a test that fails does not take it
	go func() {
		done <- said(b.shellRun(t.Context(), m{"command": "echo pid $$; cat go", "timeout_seconds": 60}, p.output))
	}()
	<-p.ready
	list := guards(t, os.Getpid())
	if len(list) != 1 {
		t.Fatalf("guards %v", list)
	}
	return list[0], func() string {
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		return <-done
	}
}

// A command's end leaves no guard, also when the guard does not answer or was
// killed, and whatever becomes of the guard does not change the command.
func TestGuardDismissed(t *testing.T) {
	for name, disturb := range map[string][]syscall.Signal{
		"left alone":          nil,
		"killed":              {syscall.SIGKILL},
		"stopped":             {syscall.SIGSTOP},
		"stopped and resumed": {syscall.SIGSTOP, syscall.SIGCONT},
		"told to end":         {syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			guard, end := b.guarded(t)
			for _, sig := range disturb {
				if err := syscall.Kill(guard, sig); err != nil {
					t.Fatal(err)
				}
			}
			if strings.HasSuffix(name, "killed") {
				soon(t, 20*time.Second, "the guard is dead", func() bool { return !running(guard) })
			} else if !running(guard) {
				t.Error("the guard is gone")
			}
			start := time.Now()
			if got := end(); !strings.HasSuffix(got, "exit status 0") {
				t.Errorf("got %q", got)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it ended after %v", took)
			}
			if syscall.Kill(guard, 0) == nil {
				t.Error("the guard is left")
			}
			for _, p := range processes(t) {
				if p.parent == os.Getpid() && !strings.Contains(p.args, "ps -A") {
					t.Errorf("a child is left: %+v", p)
				}
			}
		})
	}
}

// A guard has nothing but its pipe: not the command's output, not our files, not
// our secrets, not the folder.
func TestGuardHoldsNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows what another process has")
	}
	b := newBed(t, Options{Env: func() []string {
		return []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/u", "GITHUB_TOKEN=canary", "DRAGOMAN_X=canary", "ENV=canary"}
	}})
	guard, end := b.guarded(t)
	proc := fmt.Sprintf("/proc/%d/", guard)
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
	env, err := os.ReadFile(proc + "environ")
	if err != nil || bytes.Contains(env, []byte("canary")) || !bytes.Contains(env, []byte("HOME=/home/u\x00")) {
		t.Errorf("environment %q %v", env, err)
	}
	if dir, err := os.Readlink(proc + "cwd"); err != nil || dir != "/" {
		t.Errorf("folder %s %v", dir, err)
	}
	end()
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

// Where there is no sh, commands run without a guard, and else as ever.
func TestGuardMissing(t *testing.T) {
	b := newBed(t)
	t.Setenv("PATH", t.TempDir())
	var list []int
	res := b.shellRun(t.Context(), m{"command": "read x; echo fine $?"}, func(string) { list = guards(t, os.Getpid()) })
	if got := said(res); got != "fine 1\nexit status 0" || len(list) > 0 {
		t.Errorf("got %q, guards %v", got, list)
	}
}

// A command waits for its guard, and never runs when we die before.
func TestGate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ran")
	start := func() (*exec.Cmd, *group) {
		cmd := exec.Command("/bin/sh", "-c", `echo "$0 $1" >"$2"`, "a b", "c  d", path)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		g := newGroup(cmd, cmd.Args)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, g
	}
	cmd, g := start()
	g.close() // the gate's end, as when we die
	if err := cmd.Wait(); err == nil {
		t.Error("it ended well")
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("the command ran")
	}
	cmd, g = start()
	if err := g.adopt(cmd.Process); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	g.close()
	if got, err := os.ReadFile(path); string(got) != "a b c  d\n" {
		t.Errorf("%q %v", got, err)
	}
}

// The wait changes nothing of the environment. Where it could, there is none.
func TestGateEnvironment(t *testing.T) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/u", "SHLVL=3", "LINES=a\nb", "EMPTY=", "x1=é"}
	b := newBed(t, Options{Env: func() []string { return env }})
	if !keeps(env) || keeps([]string{"a.b=1"}) || keeps([]string{"1a=1"}) || keeps([]string{"=1"}) {
		t.Error("the wrong names are taken for good ones")
	}
	get := func() (list []string) {
		for line := range strings.Lines(b.ok("shell_command", m{"command": "env"})) {
			if !strings.HasPrefix(line, "odd.name=") {
				list = append(list, line)
			}
		}
		slices.Sort(list)
		return list
	}
	held := get()
	env = append(env, "odd.name=1")
	if free := get(); !slices.Equal(held, free) {
		t.Errorf("environment %q, without the wait %q", held, free)
	}
	if out := b.ok("shell_command", m{"command": "env"}); b.set.shell.name == "bash" && !strings.Contains(out, "odd.name=1\n") {
		t.Errorf("a variable is lost:\n%s", out)
	}
}

// By whatever sh: a guard that is told that the command is over touches nothing;
// one whose input ends ends the group and its session. The gate lets the command
// through after a line.
func TestGuardScript(t *testing.T) {
	for _, shell := range [][]string{{"sh"}, {"dash"}, {"bash", "--posix"}, {"bash"}, {"busybox", "sh"}, {"mksh"}, {"ksh"}, {"yash"}, {"zsh", "--emulate", "sh"}} {
		t.Run(strings.Join(shell, " "), func(t *testing.T) {
			path, err := exec.LookPath(shell[0])
			if err != nil {
				t.Skip(err)
			}
			run := func(input, script string, args ...string) (string, error) {
				cmd := exec.Command(path, append(append(slices.Clone(shell[1:]), "-c", script), args...)...)
				cmd.Stdin = strings.NewReader(input)
				out, err := cmd.Output()
				return string(out), err
			}
			odd := oddSleep()
			victim := exec.Command("sleep", odd)
			if _, err := exec.LookPath("timeout"); err == nil && runtime.GOOS == "linux" {
				victim = exec.Command("sh", "-c", "timeout 1000 sleep "+odd+"; true") // in a group of its own
			}
			victim.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				for _, pid := range asleep(t, odd) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			soon(t, 20*time.Second, "the victim runs", func() bool { return len(asleep(t, odd)) == 1 })
			id := strconv.Itoa(victim.Process.Pid)
			if _, err := run("over\n", guardScript, guardName, id); err != nil || len(asleep(t, odd)) != 1 || !running(victim.Process.Pid) {
				t.Errorf("it was ended for nothing: %v", err)
			}
			if _, err := run("", guardScript, guardName, id); err != nil {
				t.Error(err)
			}
			soon(t, 20*time.Second, "it is killed", func() bool { return !running(victim.Process.Pid) && len(asleep(t, odd)) == 0 })
			if err := victim.Wait(); err == nil || signalOf(victim.ProcessState) != "killed" {
				t.Errorf("ended by %v", err)
			}

			if out, err := run("\nrest", gateScript, "sh", "/bin/sh", "-c", `cat; echo "$1"`, "x", "a  b"); out != "a  b\n" || err != nil {
				t.Errorf("through the gate: %q %v", out, err)
			}
			if out, err := run("", gateScript, "sh", "/bin/sh", "-c", "echo bad"); out != "" || err == nil {
				t.Errorf("through the closed gate: %q %v", out, err)
			}
		})
	}
}
