package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dragoman/core/child/childtest"
)

const (
	guardedVar = "CHILD_TEST_GUARDED"
	markless   = "CHILD_TEST_MARKLESS" // the system takes no marks
	hereVar    = "CHILD_TEST_HERE"     // its programs stay in its session
)

// TestGuardedParent is the process that is killed by TestKilled. It runs each of
// the lines that it is given at the same time.
func TestGuardedParent(t *testing.T) {
	lines := os.Getenv(guardedVar)
	if lines == "" {
		t.Skip("not called by TestKilled")
	}
	if os.Getenv(markless) != "" {
		if err := unix.Setrlimit(markLimit, &unix.Rlimit{Cur: 1 << 40, Max: 1 << 40}); err != nil {
			t.Fatal(err)
		}
	}
	guard := guarding(t)
	var all sync.WaitGroup
	defer all.Wait()
	for line := range strings.SplitSeq(lines, "\x1f") {
		if os.Getenv(hereVar) != "" {
			all.Go(func() { _, _ = RunAtTerminal(t.Context(), exec.Command(shell(), "-c", line), 0) })
			continue
		}
		g, err := guard.Start(exec.Command(shell(), "-c", line))
		if err != nil {
			t.Error(err)
			return
		}
		all.Go(func() {
			g.Await()
			g.Spare()
			g.Close()
		})
	}
}

// headlessVar has the test's program be one whose first thread has ended while another goes
// on to start a sleep of so many seconds, and the next one when that ends. The system lists
// it as a zombie.
const headlessVar = "CHILD_TEST_HEADLESS"

func init() {
	seconds := os.Getenv(headlessVar)
	if seconds == "" {
		return
	}
	go func() {
		for {
			if err := exec.Command("sleep", seconds).Start(); err != nil {
				os.Exit(1)
			}
			_, _ = syscall.Wait4(-1, nil, 0, nil)
		}
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // ends this thread, which is the first
}

// leavings are lines that leave processes behind, in ways of their own.
var leavings = []struct {
	name   string
	lines  []string // %[1]s is the time to sleep
	sleeps int
}{
	{"background", []string{"sleep %[1]s & sleep %[1]s; true"}, 2},
	{"pipeline", []string{"(sleep %[1]s; true) | cat"}, 1},
	{"the shell became another", []string{"(sleep %[1]s & sleep %[1]s) & exec sleep %[1]s"}, 3},
	{"deep, output closed", []string{`sh -c "sh -c 'sleep %[1]s; true' & sleep %[1]s; true" >/dev/null 2>&1; true`}, 2},
	{"ignores signals", []string{`trap "" HUP INT TERM; sleep %[1]s & while :; do sleep %[1]s; done`}, 2},
	{"two programs", []string{"sleep %[1]s & sleep %[1]s; true", "sleep %[1]s; true"}, 3},
	{"job control", []string{"set -m; (sleep %[1]s; true) & sleep %[1]s | cat; true"}, 2},
	{"sessions of its own", []string{`setsid sh -c "setsid sleep %[1]s & sleep %[1]s; true" & sleep %[1]s; true`}, 3},
	{"timeout", []string{`timeout 1000 sh -c "sleep %[1]s & sleep %[1]s; true"; true`}, 2},
	{"daemons", []string{`setsid -f sleep %[1]s; (setsid sh -c "sleep %[1]s & exit" &); sleep %[1]s; true`}, 3},
	{"daemons without an environment", []string{`env -i setsid -f sleep %[1]s; sleep %[1]s; true`}, 2},
	{"a daemon of one that has ended", []string{`setsid -f sh -c 'echo; exec sleep %[1]s >/dev/null' | read -r line; exit 0`, "sleep %[1]s; true"}, 2},
	{"stopped", []string{`sleep %[1]s & until grep -q sleep /proc/$!/comm; do :; done; kill -s STOP $!; setsid sh -c 'sleep %[1]s & kill -s STOP $$' & wait`}, 2},
	{"the first thread has ended", []string{headlessVar + "=%[1]s exec " + os.Args[0]}, 1},
	{"the first thread of a daemon has ended", []string{headlessVar + "=%[1]s setsid -f " + os.Args[0] + "; sleep %[1]s; true"}, 2},
}

// A process whose parent ends while all are looked at is listed under its next parent.
func TestSurvey(t *testing.T) {
	const guard, parent, daemon, stray = 10, 30, 20, 40
	at := func(pid, parent int) process { return process{pid: pid, parent: parent, began: "1"} }
	looks := map[int][]process{ // one after the other; the last one stays
		guard:  {at(guard, 0)},
		daemon: {at(daemon, parent), at(daemon, guard)},
		stray:  {at(stray, 7)}, // its parent is hidden
	}
	list := survey([]int{guard, daemon, parent, stray}, func(pid int) (p process, ok bool) {
		left := looks[pid]
		if len(left) == 0 {
			return p, false // parent has ended
		}
		if len(left) > 1 {
			looks[pid] = left[1:]
		}
		return left[0], true
	})
	below := descend(list, func(p process) bool { return p.parent == guard })
	if want := []process{at(daemon, guard)}; !slices.Equal(below, want) || len(list) != 3 {
		t.Errorf("below the guard %v, want %v; of %v", below, want, list)
	}
}

// However we are killed, nothing that a program started outlives us, and no guard
// does; also where the system takes no marks.
func TestKilled(t *testing.T) {
	for name, kill := range map[string]func(pid int) error{
		"killed": childtest.Outright, "terminated": childtest.Politely, "the whole group": childtest.WithItsGroup, "without marks": childtest.Outright,
		"at the terminal": childtest.Outright, "at the terminal, the whole group": childtest.WithItsGroup,
	} {
		here := strings.HasPrefix(name, "at the terminal")
		for i, c := range leavings {
			if i%4 != 1 && (name == "terminated" || name == "the whole group") || i%2 != 1 && name == "without marks" {
				continue // that makes no difference here
			}
			if here && (i%2 != 1 || len(c.lines) > 1) { // each line has a guard of its own there
				continue
			}
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				odd := childtest.OddSleep()
				lines := make([]string, len(c.lines))
				for i, line := range c.lines {
					lines[i] = strings.ReplaceAll(line, "%[1]s", odd)
				}
				cmd := exec.Command(os.Args[0], "-test.run=^TestGuardedParent$")
				cmd.Env = append(os.Environ(), guardedVar+"="+strings.Join(lines, "\x1f"))
				if name == "without marks" {
					cmd.Env = append(cmd.Env, markless+"=1")
				}
				if here {
					cmd.Env = append(cmd.Env, hereVar+"=1")
				}
				childtest.Killed(t, cmd, odd, c.sleeps, 1, kill)
			})
		}
	}
}

// What a guard has started is known by its mark; if it takes that off, by its guard.
func TestGuarded(t *testing.T) {
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(shell(), "-c", "echo $$; exec sleep 61")
	cmd.Stdout = theirs
	g, err := guarding(t).Start(cmd)
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	if Guarded(os.Getpid()) || !Guarded(pid) {
		t.Errorf("this process: %v, the program: %v", Guarded(os.Getpid()), Guarded(pid))
	}
	none := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(pid, markLimit, &none, nil); err != nil {
		t.Fatal(err)
	}
	list, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.pid == pid && (Guarded(pid) || !Guarded(p.parent)) {
			t.Errorf("without its mark: the program: %v, its guard: %v", Guarded(pid), Guarded(p.parent))
		}
	}
}

// A group is ended whole, whatever has left it, and nothing of the guard's other groups.
func TestGroupsOfOneGuard(t *testing.T) {
	guard := guarding(t)
	for _, c := range leavings {
		if len(c.lines) > 1 {
			continue // it is about what several programs leave
		}
		t.Run(c.name, func(t *testing.T) {
			odds := []string{childtest.OddSleep(), childtest.OddSleep()}
			var groups []*Group
			for _, odd := range odds {
				t.Cleanup(func() { childtest.Wake(t, odd) })
				g, err := guard.Start(exec.Command(shell(), "-c", strings.ReplaceAll(c.lines[0], "%[1]s", odd)))
				if err != nil {
					t.Fatal(err)
				}
				groups = append(groups, g)
				childtest.Soon(t, "all of it runs", func() bool { return len(childtest.Asleep(t, odd)) == c.sleeps })
			}
			groups[0].Close()
			if left := childtest.Asleep(t, odds[0]); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if left := childtest.Asleep(t, odds[1]); len(left) != c.sleeps || !groups[1].Alive() {
				t.Errorf("of another group %v are left", left)
			}
			groups[1].Kill()
			if left := childtest.Asleep(t, odds[1]); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			groups[1].Await()
			groups[1].Close()
		})
	}
}

// What a program that has ended by itself leaves in its session is of its group. A daemon
// is spared, and ends with the guard.
func TestSpare(t *testing.T) {
	guard := &Guard{}
	odd, daemon := childtest.OddSleep(), childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd); childtest.Wake(t, daemon) })
	g, err := guard.Start(exec.Command(shell(), "-c", "setsid -f sleep "+daemon+"; sleep "+odd+" & exit 4"))
	if err != nil {
		t.Fatal(err)
	}
	g.Await()
	childtest.Soon(t, "both run", func() bool { return len(childtest.Asleep(t, odd))+len(childtest.Asleep(t, daemon)) == 2 })
	g.Spare()
	if !g.Alive() {
		t.Error("nobody of its session lives")
	}
	if how := g.Close(); how.Code != 4 || len(childtest.Asleep(t, odd)) != 0 || len(childtest.Asleep(t, daemon)) != 1 {
		t.Errorf("%v; left: %v, daemons %v", how, childtest.Asleep(t, odd), childtest.Asleep(t, daemon))
	}
	guard.Close()
	if left := childtest.Asleep(t, daemon); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Of a program that leaves nothing the guard says so when it ends, also beside others; then it is not asked about
// the group again.
func TestNothingLeft(t *testing.T) {
	guard := guarding(t)
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	end := func(line string) *Group {
		t.Helper()
		g, err := guard.Start(exec.Command(shell(), "-c", line))
		if err != nil {
			t.Fatal(err)
		}
		g.Await()
		return g
	}
	for _, beside := range []bool{false, true} {
		if beside {
			begun(t, guard, "echo; exec sleep "+odd, nil)
		}
		for line, gone := range map[string]bool{"exit 3": true, "sleep 0.01 & wait": true, "sleep " + odd + " & exit 3": false} {
			g := end(line)
			if g.tree.running.gone != gone {
				t.Errorf("%q (beside another: %v) has left nothing: %v", line, beside, !gone)
			}
			if g.Alive() == gone {
				t.Errorf("%q (beside another: %v) has left something: %v", line, beside, gone)
			}
			g.Close()
		}
	}
	daemon := end("setsid -f sleep " + odd)
	childtest.Soon(t, "the daemon runs", func() bool { return len(childtest.Asleep(t, odd)) == 2 })
	daemon.Spare()
	daemon.Close()
	if g := end("exit 0"); g.tree.running.gone {
		t.Error("a daemon is taken for a program")
	} else {
		g.Close()
	}
}

// A daemon that was not there yet when its group was asked to end is asked the next time.
func TestTerminateAgain(t *testing.T) {
	guard := guarding(t)
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	g := begun(t, guard, "trap 'setsid -f sleep "+odd+"; exit 0' TERM; echo; while :; do sleep 0.01; done", nil)
	g.Terminate()
	g.Await()
	childtest.Soon(t, "the daemon runs", func() bool { return len(childtest.Asleep(t, odd)) == 1 })
	g.Terminate()
	childtest.Soon(t, "nobody lives", func() bool { return !g.Alive() })
	if how := g.Close(); !how.Success() {
		t.Error(how)
	}
}

// A daemon that a program of Run's has started is the user's.
func TestRunLeavesDaemons(t *testing.T) {
	odd, daemon := childtest.OddSleep(), childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd); childtest.Wake(t, daemon) })
	// It prints when the daemon runs: what is read to its end is waited for.
	cmd := exec.Command(shell(), "-c", "sleep "+odd+" & setsid -f sh -c 'echo here; exec sleep "+daemon+" >&-' | cat; exit 0")
	var out bytes.Buffer
	cmd.Stdout = &out
	if how, err := Run(t.Context(), cmd); err != nil || !how.Success() || out.String() != "here\n" {
		t.Errorf("%v %v %q", how, err, &out)
	}
	if len(childtest.Asleep(t, odd)) != 0 || len(childtest.Asleep(t, daemon)) != 1 {
		t.Errorf("left: %v, daemons %v", childtest.Asleep(t, odd), childtest.Asleep(t, daemon))
	}
}

// A program at our terminal is in our session and group, and its guard in our session. What it leaves
// is the user's, such as a browser.
func TestRunAtTerminal(t *testing.T) {
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	// The last word of /proc/…/stat up to the session: parent, group, session.
	cmd := exec.Command(shell(), "-c", "sleep "+odd+" >&- & cut -d ' ' -f 5,6 /proc/$$/stat /proc/$PPID/stat; exit 3")
	var out bytes.Buffer
	cmd.Stdout = &out
	session, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	how, err := RunAtTerminal(t.Context(), cmd, time.Minute)
	var group, at, guardGroup, guardAt int
	if _, err := fmt.Sscan(out.String(), &group, &at, &guardGroup, &guardAt); err != nil {
		t.Fatal(err, out.String())
	}
	if err != nil || how.Code != 3 || group != unix.Getpgrp() || at != session || guardGroup == group || guardAt != session {
		t.Errorf("%v, %v: %q; we are in %d %d", how, err, &out, unix.Getpgrp(), session)
	}
	if left := childtest.Asleep(t, odd); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// When the context of a program at our terminal ends, all of it is asked to end, and what does not is killed.
func TestRunAtTerminalUntilItsContextEnds(t *testing.T) {
	for line, want := range map[string]Ending{
		"trap 'exit 7' TERM; setsid -f sleep %s; sleep %s & echo; wait":                {Code: 7},
		"trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep %s' & echo; sleep %s; wait": {Code: -1, Signal: "killed"},
	} {
		odd := childtest.OddSleep()
		t.Cleanup(func() { childtest.Wake(t, odd) })
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(shell(), "-c", strings.ReplaceAll(line, "%s", odd))
		cmd.Stdout = w
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			_, _ = r.Read(make([]byte, 1))
		}()
		grace := time.Minute
		if want.Code < 0 {
			grace = time.Millisecond
		}
		how, err := RunAtTerminal(ctx, cmd, grace)
		w.Close()
		r.Close()
		if err != nil || how != want || len(childtest.Asleep(t, odd)) > 0 {
			t.Errorf("%s: %v, %v; left: %v", line, how, err, childtest.Asleep(t, odd))
		}
	}
}

// Whatever becomes of the guard does not change the program, unless it is killed: then
// the program goes with it, and all that is left of its programs. The next program has
// a new guard.
func TestGuardDisturbed(t *testing.T) {
	for name, disturb := range map[string][]syscall.Signal{
		"left alone":          nil,
		"killed":              {syscall.SIGKILL},
		"stopped":             {syscall.SIGSTOP},
		"stopped and resumed": {syscall.SIGSTOP, syscall.SIGCONT},
		"told to end":         {syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1},
	} {
		t.Run(name, func(t *testing.T) {
			guard := &Guard{}
			odd := childtest.OddSleep()
			t.Cleanup(func() { childtest.Wake(t, odd) })
			left, err := guard.Start(exec.Command(shell(), "-c", "setsid -f sleep "+odd+"; setsid sh -c 'sleep "+odd+"; true' & sleep "+odd+"; true"))
			if err != nil {
				t.Fatal(err)
			}
			pid, end := guarded(t, guard)
			childtest.Soon(t, "all of it runs", func() bool { return len(childtest.Asleep(t, odd)) == 3 })
			for _, sig := range disturb {
				if err := syscall.Kill(pid, sig); err != nil {
					t.Fatal(err)
				}
			}
			want := Ending{Code: 3}
			if name == "killed" {
				want = Ending{Code: -1, Signal: "killed"}
				left.Await()
				if list := childtest.Asleep(t, odd); len(list) > 0 {
					t.Errorf("left: %v", list)
				}
			} else if !childtest.Running(pid) || len(childtest.Asleep(t, odd)) != 3 {
				t.Error("the guard is gone, or its programs")
			}
			if !left.Alive() && name != "killed" { // who asks wakes a guard that is stopped
				t.Error("nobody lives")
			}
			if name == "killed" {
				end() // it may have read the end of its input before
			} else if how := end(); how != want {
				t.Errorf("it ended with %v", how)
			}
			next, end := guarded(t, guard)
			if how := end(); how.Code != 3 || (next == pid) != (name != "killed") {
				t.Errorf("the next one ended with %v, under the guard %d after %d", how, next, pid)
			}
			left.Close()
			guard.Close()
			if childtest.Running(next) {
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

// A request that the system does not send is an error, and the guard goes on.
func TestStreamCannotBeSent(t *testing.T) {
	guard := guarding(t)
	closed, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/echo")
	cmd.Stdout = closed
	if _, err := guard.Start(cmd); !errors.Is(err, unix.EBADF) || !strings.Contains(err.Error(), "/bin/echo") {
		t.Errorf("with a closed file as its output: %v", err)
	}
	g, err := guard.Start(exec.Command(shell(), "-c", "exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	g.Await()
	if how := g.Close(); how.Code != 3 {
		t.Errorf("the next program ended with %v", how)
	}
}

// A guard has nothing but its end of the line: not the program's output, not our files,
// no secrets, not the folder.
func TestGuardHoldsNothing(t *testing.T) {
	guard := guarding(t)
	t.Setenv("TOKEN", "canary")
	cmd := exec.Command(shell(), "-c", "read -r line")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd.Dir, cmd.Stdin, cmd.Stdout = t.TempDir(), r, os.Stderr
	g, err := guard.Start(cmd)
	r.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	proc := fmt.Sprintf("/proc/%d/", childtest.Guards(t, os.Getpid())[0])
	fds, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		to, _ := os.Readlink(proc + "fd/" + fd.Name())
		if strings.HasPrefix(to, "/sys/fs/cgroup/") {
			continue // Go's own: how many processors there are
		}
		if want, ok := map[string]string{"0": "socket:", "1": os.DevNull, "2": os.DevNull}[fd.Name()]; ok && !strings.HasPrefix(to, want) {
			t.Errorf("file %s is %s, want %s", fd.Name(), to, want)
		} else if ours, _ := os.Readlink("/proc/self/fd/" + fd.Name()); !ok && to != os.DevNull && to != ours {
			t.Errorf("file %s is %s", fd.Name(), to)
		} else if !ok && to == ours && to != os.DevNull && flags(t, "/proc/self/fdinfo/"+fd.Name())&syscall.O_CLOEXEC != 0 {
			// What whoever started us left open for all is not of our making.
			t.Errorf("file %s, %s, was inherited", fd.Name(), to)
		}
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

// A program sees nothing of its guard: its environment, its open files, what it hears
// and what it may use are what they would be without one, but for the mark.
func TestGuardUnseen(t *testing.T) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP) // under nohup the bare program would ignore it
	defer signal.Stop(hup)
	const line = `env; pwd; umask; ulimit -a | grep -v real-time; grep -E "^(Sig[^Q]|Shd|Cap|NoNewPrivs|Seccomp|Uid|Groups)" /proc/self/status
for fd in 0 1 2 3 4 5 6 7 8 9; do if (: <&$fd) 2>/dev/null || (: >&$fd) 2>/dev/null; then echo open $fd; fi; done
read -r pid name state parent group session tty rest </proc/$$/stat; [ $pid = $group ] && [ $pid = $session ] && echo leads on $tty`
	prepare := func() (*exec.Cmd, *bytes.Buffer) {
		cmd, out := exec.Command(shell(), "-c", line), &bytes.Buffer{}
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/u", "SHLVL=3", "LINES=a\nb", "EMPTY=", "x1=é", "odd.name=1"}
		cmd.Stdout = out
		return cmd, out
	}
	bare, without := prepare()
	bare.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := bare.Run(); err != nil {
		t.Fatal(err)
	}
	cmd, with := prepare()
	if how, err := Run(t.Context(), cmd); err != nil || !how.Success() {
		t.Fatal(how, err)
	}
	if without.String() != with.String() || !strings.Contains(with.String(), "leads on 0\n") || !strings.Contains(with.String(), "odd.name=1\n") {
		t.Errorf("without a guard:\n%s\nwith one:\n%s", without, with)
	}
}

// A program whose environment is ours has all of it.
func TestOwnEnvironment(t *testing.T) {
	t.Setenv("odd.name", "1")
	var out bytes.Buffer
	cmd := exec.Command("env")
	cmd.Stdout = &out
	if _, err := Run(t.Context(), cmd); err != nil || !strings.Contains(out.String(), "odd.name=1\n") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// A guard's process that nobody talks to ends at once.
func TestGuardStartedByHand(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{guardName}
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 2 {
		t.Error(err)
	}
}

// A message is received as it was sent, and nonsense is refused.
func FuzzProgram(f *testing.F) {
	f.Add("/bin/sh", "/work", "sh\x00-c\x00a b", "A=1\x00B=")
	f.Add("", "", "", "")
	f.Fuzz(func(t *testing.T, path, dir, args, env string) {
		want := program{path, dir, strings.Split(args, "\x00"), strings.Split(env, "\x00")}
		b := want.encode()
		got, err := decodeProgram(b)
		if err != nil || got.path != want.path || got.dir != want.dir || !slices.Equal(got.args, want.args) || !slices.Equal(got.env, want.env) {
			t.Fatalf("%+v %v", got, err)
		}
		if len(b) > 0 {
			if _, err := decodeProgram(b[:len(b)-1]); err == nil {
				t.Error("a part was taken for all")
			}
		}
		_, _ = decodeProgram([]byte(path + args + env))
	})
}

// A guard that has nothing to guard rests: it has no process until the next program. One
// that has, also if that is a daemon, goes on.
func TestGuardRests(t *testing.T) {
	guard := guarding(t)
	run := func(line string) *Group {
		t.Helper()
		g, err := guard.Start(exec.Command(shell(), "-c", line))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	awake := func() bool { return guard.system.link != nil && !guard.system.link.gone() }
	guard.Rest() // before anything was started
	odd, daemon := childtest.OddSleep(), childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd); childtest.Wake(t, daemon) })
	g := run("sleep " + odd)
	if guard.Rest(); !awake() {
		t.Error("it rests while a program runs")
	}
	g.Close()
	if guard.Rest(); awake() {
		t.Error("it does not rest")
	}
	g = run("setsid -f sleep " + daemon)
	g.Await()
	childtest.Soon(t, "the daemon runs", func() bool { return len(childtest.Asleep(t, daemon)) == 1 })
	g.Spare()
	if how := g.Close(); !how.Success() {
		t.Error(how)
	}
	if guard.Rest(); !awake() || len(childtest.Asleep(t, daemon)) != 1 {
		t.Error("it rests while a daemon runs")
	}
	childtest.Wake(t, daemon)
	childtest.Soon(t, "it rests", func() bool { guard.Rest(); return !awake() })
	var starts sync.WaitGroup
	for range 20 { // beside those who start something
		starts.Go(func() { guard.Rest() })
		starts.Go(func() {
			if how := run("exit 3").Close(); how.Code != 3 && how.Signal != "killed" { // Close may be quicker
				t.Error(how)
			}
		})
	}
	starts.Wait()
}

// A lock on a file that a guard holds is free only when nothing of its programs is left: also where
// the guard's process is another one than when it was given the file. It holds no file that was dropped.
func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	locked := func() *os.File {
		t.Helper()
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	free := func() bool {
		t.Helper()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
	}
	odd := childtest.OddSleep()
	defer childtest.Wake(t, odd)
	for name, before := range map[string]func(g *Guard){
		"the same process": func(*Guard) {},
		"another process": func(g *Guard) {
			if !g.Rest() {
				t.Error("the guard does not rest")
			}
		},
		"another process, the first was killed": func(g *Guard) {
			for _, pid := range childtest.Guards(t, os.Getpid()) {
				_ = unix.Kill(pid, unix.SIGKILL)
				childtest.Soon(t, "the guard is gone", func() bool { return !childtest.Running(pid) })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var g Guard
			defer g.Close()
			f := locked()
			if _, err := g.Keep(f); err != nil {
				t.Fatal(err)
			}
			before(&g)
			r, err := g.Start(exec.Command("sh", "-c", `sleep "$0" & wait`, odd))
			if err != nil {
				t.Fatal(err)
			}
			f.Close() // as when we die
			childtest.Soon(t, "the program runs", func() bool { return len(childtest.Asleep(t, odd)) == 1 })
			if free() {
				t.Error("the lock is free while the program runs")
			}
			if r.Close(); free() {
				t.Error("the lock is free while the guard runs")
			}
			if g.Close(); !free() {
				t.Error("the lock is not free behind the end")
			}
		})
	}
	t.Run("dropped", func(t *testing.T) {
		var g Guard
		defer g.Close()
		f := locked()
		drop, err := g.Keep(f)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if free() {
			t.Error("the guard does not hold the file")
		}
		drop()
		childtest.Soon(t, "the lock is free", free)
	})
}
