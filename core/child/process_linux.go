package child

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// process describes a living process. No two processes with the same number began at the
// same time.
type process struct {
	pid, parent, group, session int
	began                       string
}

// processes lists all living processes. Zombies are left out.
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

// children lists our own children, zombies too. Unlike a search for processes it misses none, as long as
// nobody collects one meanwhile: they are listed in the order in which they came. All of them are children of
// our first thread, which has started them, or to which the system gives those that have lost their parents.
func children() (list []int, err error) {
	self := strconv.Itoa(os.Getpid())
	text, err := os.ReadFile("/proc/" + self + "/task/" + self + "/children")
	for pid := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, err
}

// awaitChild blocks until a child of ours has ended, without collecting it; false: there is none.
func awaitChild() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
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
	for grown := true; grown; { // a parent may be listed after its child
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

// send sends a signal to p, and not to another process that has been given its number
// since. It reports whether the signal was sent.
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

// killAll kills the processes that find returns. It stops them first, until find returns
// no new ones, because a stopped process starts nothing. It returns how many it could kill.
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

// A mark is a resource limit that a guard sets for a program and that everything the
// program starts inherits, whatever it does to its session, its parents and its
// environment. It limits how many microseconds a real-time process may run without a pause;
// a mark allows more than a hundred thousand years. Its upper half names the guard.
const (
	markLimit = unix.RLIMIT_RTTIME
	markBase  = 1 << 62
)

// setMark gives this process, and what it starts from now on, a mark. It reports whether
// the system accepted it.
func setMark(mark uint64) bool {
	var now unix.Rlimit
	if unix.Getrlimit(markLimit, &now) != nil || now.Max < mark {
		return false
	}
	now.Cur = mark
	return unix.Setrlimit(markLimit, &now) == nil && markOf(os.Getpid()) == mark
}

// markOf returns the mark of a process; 0 if it has none, or we may not know it.
func markOf(pid int) uint64 {
	var limit unix.Rlimit
	if unix.Prlimit(pid, markLimit, nil, &limit) != nil || limit.Cur&^(markBase<<1-1) != 0 ||
		limit.Cur < markBase {
		return 0
	}
	return limit.Cur
}

// Guarded reports whether a guard of this program, or what one has started, is the process: of any user's
// gateway. What a guard has started can take its mark off; its guard, an ancestor of it, keeps one.
func Guarded(pid int) bool {
	if markOf(pid) != 0 {
		return true
	}
	name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return err == nil && strings.TrimSuffix(string(name), "\n") == guardName
}
