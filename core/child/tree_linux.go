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

// send sends a signal to the group, and to all others of the tree. Who they are is
// seen first: what is killed is nobody's parent any more.
func (t *tree) send(sig syscall.Signal) bool {
	list := t.members()
	_ = syscall.Kill(-t.id, sig)
	for _, p := range list {
		_ = syscall.Kill(p.pid, sig)
	}
	return len(list) > 0
}

// process is what the system says of one that lives. No two that have the same number
// began at the same time.
type process struct {
	pid, parent, session int
	began                string
}

// members lists the living processes of the session, whatever their group, as shells
// with job control make them, and those that have a session of their own while a
// member is their parent; and theirs. Who was one before still is.
func (t *tree) members() (list []process) {
	all, err := processes()
	if err != nil {
		if syscall.Kill(-t.id, 0) == nil {
			return []process{{pid: t.id}}
		}
		return nil
	}
	ours := map[int]bool{}
	for grown := true; grown; { // a parent may stand behind its child
		grown = false
		for _, p := range all {
			if !ours[p.pid] && (p.session == t.id || ours[p.session] || ours[p.parent] || t.seen[p.pid] == p.began) {
				ours[p.pid], grown = true, true
				list = append(list, p)
			}
		}
	}
	clear(t.seen)
	for _, p := range list {
		t.seen[p.pid] = p.began
	}
	return list
}

// processes lists all that live. What has ended and waits for a parent that never
// asks does not.
func processes() (list []process, err error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state parent group session …, and as the 22nd when it began; the
		// name may hold anything.
		f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(f) < 20 || f[0][0] == 'Z' || f[0][0] == 'X' {
			continue
		}
		parent, err := strconv.Atoi(string(f[1]))
		session, err2 := strconv.Atoi(string(f[3]))
		if err == nil && err2 == nil {
			list = append(list, process{pid, parent, session, string(f[19])})
		}
	}
	return list, nil
}
