package bridge

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// await returns when the program has ended. It is not waited for yet: until it is,
// nothing else gets its number, which is the group's.
func (g *group) await(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// alive reports whether a process of the session lives.
func (g *group) alive() bool { return len(g.members()) > 0 }

// signal sends a signal to the group, and to processes of its session that made
// groups of their own.
func (g *group) signal(sig syscall.Signal) {
	_ = syscall.Kill(-g.id, sig)
	for _, pid := range g.members() {
		_ = syscall.Kill(pid, sig)
	}
}

// members lists the living processes of the session; without /proc, none.
func (g *group) members() []int {
	dir, err := os.Open("/proc")
	if err != nil {
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
		if session, err := strconv.Atoi(string(f[3])); err == nil && session == g.id {
			list = append(list, pid)
		}
	}
	return list
}
