package child

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The names of a guard's process: in lists of processes, and as its only argument.
const (
	guardName   = "dragoman-guard"
	lenientName = "dragoman-guard-lenient"
)

// init turns this process into a guard if it was started as one, before the rest of the
// program is set up. So every program that imports this package can be its own guard. The
// guard ends without os.Exit, which under the race detector sleeps for a second, and Close
// would wait for that.
func init() {
	if len(os.Args) == 1 && (os.Args[0] == guardName || os.Args[0] == lenientName) {
		unix.Exit(keep(0, os.Args[0] == lenientName))
	}
}

// keeper is the inside of a guard's process. Requests are read and carried out on the first thread: the
// system kills the programs when the thread that started them ends. Another one waits for the programs to end.
// Each sleeps in the system and does itself what it was woken for: handing work from one goroutine to another
// would cost more than the work.
type keeper struct {
	socket  int
	lenient bool
	null    int           // the null device
	begun   chan struct{} // has room for one; a program was started
	reaped  chan struct{} // has room for one; something below us has ended

	turn      chan struct{} // taken by who uses the fields below, or writes to the socket
	programs  map[uint64]*startedProgram
	kept      map[int64]int // files that stay open as long as programs run
	childless bool          // nothing is left below us
	resting   bool          // and the process ends: the next program gets a new guard
}

// startedProgram is a program that the guard has started and not yet forgotten.
type startedProgram struct {
	mark   uint64
	pid    int
	ended  bool
	spared bool
	asked  map[int]string // the processes that were asked to end, with their start times; nil: none yet
	sig    syscall.Signal // the signal that they were sent
}

// keep runs a guard until its work is done, and returns the exit code of the process.
func keep(socket int, lenient bool) int {
	if kind, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TYPE); err != nil ||
		kind != unix.SOCK_STREAM {
		return 2 // somebody has started it by hand
	}
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(25)
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // our programs do not look into us
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if name, err := unix.BytePtrFromString(guardName); err == nil {
		_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0)
	}
	// They are caught and not ignored: programs inherit what their parent ignores.
	deaf := make(chan os.Signal, 1)
	signal.Notify(deaf, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGTSTP)
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 1
	}
	k := &keeper{
		socket:    socket,
		lenient:   lenient,
		null:      null,
		begun:     make(chan struct{}, 1),
		reaped:    make(chan struct{}, 1),
		turn:      make(chan struct{}, 1),
		programs:  map[uint64]*startedProgram{},
		kept:      map[int64]int{},
		childless: true,
	}
	go k.watch() // as long as the process lives
	for !k.resting {
		m, body, files, err := receive(socket)
		if err != nil {
			k.end()
			return 0
		}
		k.do(request{m, body, files})
	}
	return 0
}

// watch reports the ends of programs.
func (k *keeper) watch() {
	for range k.begun {
		for awaitChild() {
			k.turn <- struct{}{}
			k.reap()
			<-k.turn
			nudge(k.reaped)
		}
	}
}

// nudge leaves a word in a channel that has room for one.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

type request struct {
	message
	body  []byte
	files []int
}

// do carries out a request and answers it.
func (k *keeper) do(r request) {
	k.turn <- struct{}{}
	defer func() { <-k.turn }()
	k.reap()
	p := k.programs[r.mark]
	var answer int64
	switch {
	case r.op == opStart:
		answer = k.start(r)
	case r.op == opRest:
		if k.resting = k.childless; k.resting {
			answer = 1
		}
	case r.op == opKeep:
		answer = k.keep(r)
	case r.op == opDrop:
		k.drop(r.value)
	case p == nil:
	case r.op == opSignal:
		answer = k.signal(p, syscall.Signal(r.value))
	case r.op == opSpare:
		p.spared = true
	case r.op == opForget:
		if !(k.lenient && p.spared) { // the end must know which daemons to leave alone
			delete(k.programs, r.mark)
		}
	}
	if r.op != opForget && r.op != opDrop {
		k.say(message{op: saidAnswer, serial: r.serial, value: answer})
	}
}

// keep holds a file open.
func (k *keeper) keep(r request) int64 {
	if len(r.files) != 1 {
		return -int64(unix.EINVAL)
	}
	k.drop(r.value) // which was given twice
	k.kept[r.value] = r.files[0]
	return 0
}

// drop closes a file.
func (k *keeper) drop(id int64) {
	if fd, ok := k.kept[id]; ok {
		_ = unix.Close(fd)
		delete(k.kept, id)
	}
}

// say writes a message to the process that uses the guard. If that is dead, it is lost.
func (k *keeper) say(m message) {
	for b := m.encode(); len(b) > 0; {
		n, err := unix.SendmsgN(k.socket, b, nil, nil, unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return
		}
		b = b[n:]
	}
}

// start starts a program, and returns its number or, as a negative one, the error's.
func (k *keeper) start(r request) int64 {
	defer func() {
		clear(r.body)
		for _, fd := range r.files {
			_ = unix.Close(fd)
		}
	}()
	what, err := decodeProgram(r.body)
	if err != nil || len(r.files) == 0 && what.dir == "" {
		return -int64(unix.EINVAL)
	}
	streams := []uintptr{uintptr(k.null), uintptr(k.null), uintptr(k.null)}
	files := r.files
	if what.dir == "" {
		files = files[1:]
	}
	for i := range streams {
		if r.value&(1<<i) != 0 {
			if len(files) == 0 {
				return -int64(unix.EINVAL)
			}
			streams[i], files = uintptr(files[0]), files[1:]
		}
	}
	if what.dir != "" {
		err = unix.Chdir(what.dir)
	} else {
		err = unix.Fchdir(r.files[0])
	}
	if err != nil {
		return -errno(err)
	}
	defer func() { _ = unix.Chdir("/") }()
	setMark(r.mark)
	here, group := r.value&startHere != 0, int(r.value>>startGroup)
	pid, err := syscall.ForkExec(what.path, what.args, &syscall.ProcAttr{
		Env: what.env, Files: streams,
		Sys: &syscall.SysProcAttr{Setsid: !here, Setpgid: here && group != 0, Pgid: group, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		return -errno(err)
	}
	k.programs[r.mark] = &startedProgram{mark: r.mark, pid: pid}
	k.childless = false
	nudge(k.begun)
	return int64(pid)
}

func errno(err error) int64 {
	var no syscall.Errno
	if errors.As(err, &no) {
		return int64(no)
	}
	return int64(unix.EINVAL)
}

// reap collects the processes that have ended, and reports those that are programs.
func (k *keeper) reap() {
	var ended []message
	for {
		var how unix.WaitStatus
		pid, err := unix.Wait4(-1, &how, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if k.childless = err != nil; pid <= 0 {
			break
		}
		for _, p := range k.programs {
			if p.pid == pid && !p.ended {
				p.ended = true
				if how.Signaled() && how.Signal() == p.sig {
					k.askLate(p)
				}
				ended = append(ended, message{op: saidEnded, mark: p.mark, value: int64(how)})
			}
		}
	}
	if len(ended) == 0 {
		return
	}
	alone := k.childless || k.onlyPrograms()
	for _, m := range ended {
		if alone {
			m.serial = 1
			delete(k.programs, m.mark)
		}
		k.say(m)
	}
}

// onlyPrograms reports whether our own children are programs that run. Then nothing is left of those that
// have ended, because whatever loses its parent becomes a child of ours.
func (k *keeper) onlyPrograms() bool {
	list, err := children()
	if err != nil {
		return false // an old system
	}
	run := map[int]bool{}
	for _, p := range k.programs {
		run[p.pid] = !p.ended
	}
	return !slices.ContainsFunc(list, func(pid int) bool { return !run[pid] })
}

// signal sends a signal to a group, and returns how many it has.
func (k *keeper) signal(p *startedProgram, sig syscall.Signal) int64 {
	if k.childless {
		return 0 // the most frequent case: there is nothing to search for
	}
	find := func() []process { return k.members(p) }
	if sig == unix.SIGKILL {
		return int64(killAll(find))
	}
	list := find()
	if sig == 0 {
		return int64(len(list))
	}
	// One call signals the program's whole process group, so a process that is just being
	// forked is not missed. Each process is asked once, because one that cleans up may start
	// others for that. A process that has lost its parent since then is asked as well.
	again := p.asked != nil
	if !again {
		p.asked, p.sig = map[int]string{}, sig
		if !p.ended || slices.ContainsFunc(list, func(q process) bool { return q.group == p.pid }) {
			_ = unix.Kill(-p.pid, sig)
		}
	}
	for _, q := range list {
		if p.asked[q.pid] == q.began || again && q.parent != os.Getpid() {
			continue
		}
		p.asked[q.pid] = q.began
		if again || q.group != p.pid {
			q.send(sig)
		}
	}
	return int64(len(list))
}

// askLate sends the signal to processes that a program has left in its process group and
// that did not exist when the program was asked. A shell blocks signals while it forks:
// it receives the signal only afterwards, and the process that it has forked does not. A
// program that the signal ended had no chance to end its own processes.
func (k *keeper) askLate(p *startedProgram) {
	for _, q := range k.members(p) {
		if q.group == p.pid && q.parent == os.Getpid() && p.asked[q.pid] != q.began {
			p.asked[q.pid] = q.began
			q.send(p.sig)
		}
	}
}

// below lists all that descend from us.
func (k *keeper) below() []process {
	all, err := processes()
	if err != nil { // there is no /proc: the programs themselves are known
		for _, p := range k.programs {
			if !p.ended {
				all = append(all, process{pid: p.pid, parent: os.Getpid(), group: p.pid, session: p.pid})
			}
		}
	}
	self := os.Getpid()
	return descend(all, func(q process) bool { return q.parent == self })
}

// members lists the processes of a group: the program and its session, what carries its
// mark, and what descends from those. Once a session has ended its number may be given to
// another program's session, which then carries another mark.
func (k *keeper) members(p *startedProgram) []process {
	return descend(k.below(), func(q process) bool {
		mark := markOf(q.pid)
		switch {
		case q.pid == p.pid && !p.ended:
			return true
		case q.session == p.pid:
			return mark == p.mark || mark>>32 != p.mark>>32
		}
		return mark == p.mark && !p.spared
	})
}

// end ends all that is left, and waits for that. Only the system knows that nothing is:
// while we look, processes start, end and change their parents. What we may not end is
// waited for half a second.
func (k *keeper) end() {
	find := k.below
	if k.lenient {
		find = func() []process {
			var list []process
			for _, p := range k.programs {
				list = append(list, k.members(p)...)
			}
			return list
		}
	}
	over := func() (done bool, killed int) {
		k.turn <- struct{}{}
		defer func() { <-k.turn }()
		k.reap()
		if k.childless || k.lenient && len(find()) == 0 {
			return true, 0
		}
		return false, killAll(find)
	}
	for tries := 0; tries < 100; tries++ {
		done, killed := over()
		if done {
			return
		}
		if killed > 0 {
			tries = 0 // at 0 killed, only processes are left that we may not end, or that are ending
		}
		select {
		case <-k.reaped:
		case <-time.After(5 * time.Millisecond):
		}
	}
}
