package child

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// DieWithThread has the program killed when the thread that starts it ends, so also
// when we do: that thread must be locked for as long as the program runs. Only
// Linux can do that.
func DieWithThread(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// await does not wait for the program in the system's sense: until somebody does,
// nothing else gets its number, which is the group's. Without /proc it must, since
// the group would seem to live on.
func (t *tree) await(reap func()) {
	_, err := os.Stat("/proc/self")
	for err == nil {
		err = unix.Waitid(unix.P_PID, t.id, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			return
		}
		if errors.Is(err, unix.EINTR) {
			err = nil
		}
	}
	reap()
}

// send sends a signal to the group, and to processes of the session that made groups
// of their own, as shells with job control do.
func (t *tree) send(sig syscall.Signal) bool {
	_ = syscall.Kill(-t.id, sig)
	list := t.members()
	for _, pid := range list {
		_ = syscall.Kill(pid, sig)
	}
	return len(list) > 0
}

// members lists the living processes of the session. What has ended and waits
// for a parent that never asks is not alive.
func (t *tree) members() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		if syscall.Kill(-t.id, 0) == nil {
			return []int{t.id}
		}
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var list []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state parent group session …; the name may hold anything.
		f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(f) < 4 || f[0][0] == 'Z' || f[0][0] == 'X' {
			continue
		}
		if session, err := strconv.Atoi(string(f[3])); err == nil && session == t.id {
			list = append(list, pid)
		}
	}
	return list
}
