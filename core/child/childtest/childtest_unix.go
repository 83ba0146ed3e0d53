//go:build unix

// Package childtest looks at the machine's processes, for tests of what is started
// and ended.
package childtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Process is a line of the system's list of processes. What has ended and waits to
// be asked for has no arguments.
type Process struct {
	PID, Parent int
	Args        string
}

// Processes lists all processes.
func Processes(t *testing.T) (list []Process) {
	t.Helper()
	if runtime.GOOS != "linux" {
		out, err := exec.Command("/bin/ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "args=").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			var p Process
			if _, err := fmt.Sscan(line, &p.PID, &p.Parent); err == nil && !strings.Contains(line, "/bin/ps -A") {
				p.Args = strings.TrimLeft(line, " 0123456789")
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
		var p Process
		var state string
		if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &p.Parent); err != nil {
			t.Fatal(err)
		}
		p.PID, _ = strconv.Atoi(filepath.Base(filepath.Dir(name)))
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		p.Args = string(bytes.ReplaceAll(args, []byte{0}, []byte{' '}))
		list = append(list, p)
	}
	return list
}

// Guards are the guards that parent has.
func Guards(t *testing.T, parent int) (list []int) {
	t.Helper()
	for _, p := range Processes(t) {
		if p.Parent == parent && strings.Contains(p.Args, "dragoman-guard") {
			list = append(list, p.PID)
		}
	}
	return list
}

// OddSleep is a number of seconds for which nobody else sleeps.
func OddSleep() string { return strconv.Itoa(1_000_000 + rand.IntN(1_000_000_000)) }

// Asleep are the processes that sleep for so long.
func Asleep(t *testing.T, seconds string) (list []int) {
	t.Helper()
	for _, p := range Processes(t) {
		if strings.HasPrefix(p.Args, "sleep "+seconds) {
			list = append(list, p.PID)
		}
	}
	return list
}

// Wake ends the processes that sleep for so long, for what a failed test leaves.
func Wake(t *testing.T, seconds string) {
	t.Helper()
	for _, pid := range Asleep(t, seconds) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Running reports whether a process lives; one that has ended and that nobody waited
// for does not.
func Running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	if runtime.GOOS != "linux" {
		out, err := exec.Command("/bin/ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
		return err == nil && !strings.HasPrefix(string(out), "Z")
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])
	return !bytes.HasPrefix(state, []byte("Z")) && !bytes.HasPrefix(state, []byte("X"))
}

// Soon waits until it is so.
func Soon(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-deadline.C:
			t.Fatalf("not yet: %s", what)
		}
	}
}

// Killed starts cmd, ends it by kill once so many processes sleep for the odd time and
// it has so many guards, and waits until nobody is left of them. kill is given the
// number of the process, which leads a group.
func Killed(t *testing.T, cmd *exec.Cmd, odd string, sleeps, guards int, kill func(pid int) error) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		Wake(t, odd)
	})
	Soon(t, "all of it runs", func() bool { return len(Asleep(t, odd)) == sleeps })
	watching := Guards(t, cmd.Process.Pid)
	if len(watching) != guards {
		t.Fatalf("guards %v, want %d", watching, guards)
	}
	if err := kill(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it ended well")
	}
	Soon(
		t,
		"all is gone",
		func() bool { return len(Asleep(t, odd)) == 0 && !slices.ContainsFunc(watching, Running) },
	)
}

// Outright kills a process, as the system or a user in despair does.
func Outright(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// Politely asks a process to end.
func Politely(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }

// WithItsGroup kills a process and its group.
func WithItsGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
