package child

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is what the system says of one that lives. No two that have the same number
// began at the same time.
type process struct {
	pid, parent, group, session int
	began                       string
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
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	buf := make([]byte, 1024)
	return survey(pids, func(pid int) (process, bool) { return lookAt(pid, buf) }), nil
}

// survey looks at processes one after the other. Whose parent has ended meanwhile is
// looked at again, since it has another one by then: whoever follows parents down to it
// would miss it.
func survey(pids []int, look func(pid int) (process, bool)) (list []process) {
	parents := map[int]int{} // of those that live
	for _, pid := range pids {
		if p, ok := look(pid); ok {
			list = append(list, p)
			parents[pid] = p.parent
		}
	}
	for moved := true; moved; {
		moved = false
		for i, p := range list {
			if _, ok := parents[p.parent]; ok || p.parent == 0 {
				continue // it is there, or is not ours to see
			}
			if now, ok := look(p.pid); ok && now.parent != p.parent {
				list[i], moved = now, true
			}
		}
	}
	return list
}

// lookAt looks at one process; false: it does not live. It lives as long as one of its
// threads does: the system lists it as a zombie from the moment that its first thread has
// ended, which at the end of a program may be long before the last one has, and its
// children have another parent only then.
func lookAt(pid int, buf []byte) (p process, ok bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return p, false
	}
	n, err := unix.Read(fd, buf)
	_ = unix.Close(fd)
	if err != nil {
		return p, false
	}
	// pid (name) state parent group session …, as the 20th how many threads it has and
	// as the 22nd when it began; the name may hold anything.
	stat := buf[:n]
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 20 {
		return p, false
	}
	if threads, _ := strconv.Atoi(string(f[17])); f[0][0] == 'X' || f[0][0] == 'Z' && threads <= 1 {
		return p, false
	}
	parent, err := strconv.Atoi(string(f[1]))
	group, err2 := strconv.Atoi(string(f[2]))
	session, err3 := strconv.Atoi(string(f[3]))
	return process{pid, parent, group, session, string(f[19])}, err == nil && err2 == nil && err3 == nil
}

// descend lists the processes that admit takes, and all that descend from them.
func descend(all []process, admit func(process) bool) (list []process) {
	in := map[int]bool{}
	for grown := true; grown; { // a parent may stand behind its child
		grown = false
		for _, p := range all {
			if !in[p.pid] && (in[p.parent] || admit(p)) {
				in[p.pid], grown = true, true
				list = append(list, p)
			}
		}
	}
	return list
}

// send sends a signal to the very process that was seen, and not to another one that
// has its number by now. It reports whether it was sent.
func (p process) send(sig syscall.Signal) bool {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // an old system, or one that hides the call
		return unix.Kill(p.pid, sig) == nil
	}
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if now, ok := lookAt(p.pid, make([]byte, 1024)); !ok || now.began != p.began {
		return false
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0) == nil
}

// killAll ends the processes that find finds: it stops them first, until it finds no
// new ones, since what is stopped starts nothing. It returns how many there were that
// it may end.
func killAll(find func() []process) (n int) {
	stopped := map[int]string{}
	var list []process
	for grown := true; grown; {
		grown, list = false, find()
		for _, p := range list {
			if stopped[p.pid] != p.began {
				stopped[p.pid] = p.began
				grown = p.send(unix.SIGSTOP) || grown
			}
		}
	}
	for _, p := range list {
		if p.send(unix.SIGKILL) {
			n++
		}
	}
	return n
}

// A mark is a limit that a program has from its guard and that all that it starts
// inherits, whatever it does to its session, its parents and its environment: how many
// microseconds a process that the system schedules in real time may run without a
// pause. A mark is more than a hundred thousand years of that. Its upper half names the
// guard.
const (
	markLimit = unix.RLIMIT_RTTIME
	markBase  = 1 << 62
)

// setMark has us, and what we start from now on, carry a mark. It reports whether the
// system takes it.
func setMark(mark uint64) bool {
	var now unix.Rlimit
	if unix.Getrlimit(markLimit, &now) != nil || now.Max < mark {
		return false
	}
	now.Cur = mark
	return unix.Setrlimit(markLimit, &now) == nil && markOf(os.Getpid()) == mark
}

// markOf is the mark that a process carries; 0: none, or it is not ours to know.
func markOf(pid int) uint64 {
	var limit unix.Rlimit
	if unix.Prlimit(pid, markLimit, nil, &limit) != nil || limit.Cur&^(markBase<<1-1) != 0 || limit.Cur < markBase {
		return 0
	}
	return limit.Cur
}
