package child

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guard is Linux's side of a [Guard]: it has a process while programs run.
type guard struct {
	lenient bool    // daemons of programs that ended by themselves outlive it
	here    bool    // its programs stay in our session and process group
	sandbox Sandbox // nil: its programs run as we do

	mu       sync.Mutex // held while the process starts, is given files to keep or comes to rest; guards the fields below
	closed   bool
	link     *link // nil: none was started
	starting int   // programs
	kept     map[int64]*os.File
	keeps    int64 // the last key of kept
}

// start starts a program, by a new process where the one before has gone.
func (g *guard) start(cmd *exec.Cmd) (*tree, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	if g.sandbox != nil {
		cmd = g.sandbox.Program(cmd)
	}
	folder, err := openFolder(cmd.Dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	streams, err := openStdio(cmd)
	if err != nil {
		return nil, err
	}
	args := cmd.Args
	if len(args) == 0 {
		args = []string{cmd.Path}
	}
	p := program{path: cmd.Path, args: args, env: cmd.Environ()}
	if g.sandbox != nil {
		if p.dir, err = filepath.Abs(folder.Name()); err != nil {
			return nil, err
		}
	}
	body := p.encode()
	g.mu.Lock()
	g.starting++ // the process does not come to rest meanwhile
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.starting--
		g.mu.Unlock()
	}()
	for range 2 {
		var l *link
		if l, err = g.linked(); err != nil {
			break
		}
		var r *runningProgram
		r, err = l.start(p, body, folder, streams.files)
		if err == nil {
			streams.started()
			return &tree{link: l, running: r, streams: streams, delay: cmd.WaitDelay}, nil
		}
		if !errors.Is(err, errGuardGone) {
			break
		}
	}
	streams.failed()
	return nil, err
}

// openFolder opens a folder to start a program in; "": ours.
func openFolder(dir string) (*os.File, error) {
	name := cmp.Or(dir, ".")
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		if _, at := os.Stat(name); at != nil {
			return nil, at
		}
		return nil, &os.PathError{Op: "chdir", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (g *guard) ready() error {
	_, err := g.linked()
	return err
}

func (g *guard) linked() (*link, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.linkedLocked()
}

func (g *guard) linkedLocked() (*link, error) {
	if g.closed {
		return nil, errClosed
	}
	if g.link != nil && !g.link.gone() {
		return g.link, nil
	}
	l, err := newLink(g.lenient, g.here, g.sandbox)
	for id, f := range g.kept {
		if err != nil {
			break
		}
		if err = l.keep(id, f); err != nil {
			l.hangUp()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start the guard that ends programs: %w", err)
	}
	g.link = l
	return l, nil
}

// keep has this process of the guard, and each later one, hold a file open.
func (g *guard) keep(f *os.File) (drop func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keeps++
	id := g.keeps
	for range 2 { // by a new process where the one before has gone
		var l *link
		if l, err = g.linkedLocked(); err != nil {
			break
		}
		if err = l.keep(id, f); !errors.Is(err, errGuardGone) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if g.kept == nil {
		g.kept = map[int64]*os.File{}
	}
	g.kept[id] = f
	return func() { g.drop(id) }, nil
}

func (g *guard) drop(id int64) {
	g.mu.Lock()
	delete(g.kept, id)
	l := g.link
	g.mu.Unlock()
	if l != nil {
		_ = l.tell(message{op: opDrop, value: id}, nil, nil) // if it has gone, so has the file
	}
}

func (g *guard) close() {
	g.mu.Lock()
	l := g.link
	g.closed, g.link = true, nil
	g.mu.Unlock()
	if l != nil {
		l.close()
	}
}

// rest ends the process where it has nothing to guard, and reports whether there is none.
func (g *guard) rest() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.link
	if g.starting > 0 {
		return false
	}
	if l == nil || l.gone() {
		return true
	}
	if n, err := l.ask(message{op: opRest}, nil, nil); n != 1 || err != nil {
		return false
	}
	<-l.done
	return true
}

// link is our side of a guard's process.
type link struct {
	proc   *os.Process
	socket *os.File
	here   bool          // its programs stay in our session and process group
	base   uint64        // of the marks of its programs
	turn   chan struct{} // taken by who writes a request
	done   chan struct{} // closed when the process has ended, and nothing of its programs is left

	mu       sync.Mutex // guards the fields below
	over     bool       // done is closed, or about to be
	serial   uint64
	marks    uint64
	answers  map[uint64]chan int64
	programs map[uint64]*runningProgram
}

// runningProgram is a program that the guard has started. how and gone are set before ended is closed.
type runningProgram struct {
	mark  uint64
	ended chan struct{}
	how   syscall.WaitStatus
	gone  bool // nothing of its group is left, and the guard has forgotten it
}

// over reports whether the program has ended, and all of its group with it.
func (r *runningProgram) over() bool {
	select {
	case <-r.ended:
		return r.gone
	default:
		return false
	}
}

var (
	errGuardGone = errors.New("the guard was ended from outside, and its programs with it")
	errUnsent    = errors.New("its folder and streams could not be passed to the guard")
)

// newLink starts a guard's process. It has a session of its own, or, so that its programs can stay
// in ours, a process group: no key and no signal to our group reaches it.
func newLink(lenient, here bool, box Sandbox) (*link, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "guard's end")
	defer theirs.Close()
	if err := unix.SetNonblock(pair[0], true); err != nil {
		_ = unix.Close(pair[0])
		return nil, os.NewSyscallError("fcntl", err)
	}
	socket := os.NewFile(uintptr(pair[0]), "guard")
	base := markBase | uint64(rand.Uint32()>>2)<<32
	name := guardName
	if lenient {
		name = lenientName
	}
	var proc *os.Process
	if box != nil {
		proc, err = box.Launch(theirs, name)
	} else {
		proc, err = launch(theirs, name, here)
	}
	if err != nil {
		socket.Close()
		return nil, err
	}
	l := &link{
		proc: proc, socket: socket, here: here, base: base, turn: make(chan struct{}, 1), done: make(chan struct{}),
		answers: map[uint64]chan int64{}, programs: map[uint64]*runningProgram{},
	}
	go l.listen() // until the process ends, which closes done
	return l, nil
}

// launch starts this same program as a guard, even if its file has been replaced since we were
// started.
func launch(socket *os.File, name string, here bool) (*os.Process, error) {
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{name}, Env: []string{}, Dir: "/", Stdin: socket,
		SysProcAttr: &syscall.SysProcAttr{Setsid: !here, Setpgid: here && unix.Getpgrp() != 0},
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return cmd.Process, nil
}

func (l *link) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// listen reads the guard's messages until the guard ends.
func (l *link) listen() {
	defer close(l.done)
	defer l.socket.Close()
	buf := make([]byte, messageSize)
	for {
		if _, err := io.ReadFull(l.socket, buf); err != nil {
			break
		}
		l.take(decodeMessage(buf))
	}
	l.mu.Lock()
	l.over = true
	left := l.programs
	l.programs = nil
	l.mu.Unlock()
	// A guard ends its programs before itself, unless somebody kills it: then the system
	// has killed them, and the rest is found by its mark.
	if how, err := l.proc.Wait(); err != nil || !how.Success() {
		l.sweep()
	}
	for _, r := range left {
		r.how, r.gone = syscall.WaitStatus(unix.SIGKILL), true
		close(r.ended)
	}
}

func (l *link) take(m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch m.op {
	case saidAnswer:
		if c := l.answers[m.serial]; c != nil {
			delete(l.answers, m.serial)
			c <- m.value // which has room for one
		}
	case saidEnded:
		if r := l.programs[m.mark]; r != nil {
			delete(l.programs, m.mark)
			r.how, r.gone = syscall.WaitStatus(m.value), m.serial == 1
			close(r.ended)
		}
	}
}

// sweep ends the processes that a killed guard has left behind.
func (l *link) sweep() {
	ours := func(p process) bool { return markOf(p.pid)>>32 == l.base>>32 }
	find := func() []process {
		all, _ := processes()
		return descend(all, ours)
	}
	for end := time.Now().Add(killTime); killAll(find) > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// start has the guard start a program.
func (l *link) start(p program, body []byte, folder *os.File, streams [3]*os.File) (*runningProgram, error) {
	r := &runningProgram{ended: make(chan struct{})}
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return nil, errGuardGone
	}
	l.marks++
	r.mark = l.base | l.marks
	l.programs[r.mark] = r
	l.mu.Unlock()
	m := message{op: opStart, mark: r.mark, size: uint32(len(body))}
	var files []*os.File
	if p.dir == "" {
		files = append(files, folder)
	}
	for i, f := range streams {
		if f != nil {
			m.value |= 1 << i
			files = append(files, f)
		}
	}
	if l.here {
		m.value |= startHere | int64(unix.Getpgrp())<<startGroup
	}
	n, err := l.ask(m, body, files)
	switch {
	case err == nil && n < 0:
		err = &os.PathError{Op: "fork/exec", Path: p.path, Err: syscall.Errno(-n)}
	case errors.Is(err, errUnsent):
		err = &os.PathError{Op: "start", Path: p.path, Err: err}
	}
	if err != nil {
		l.mu.Lock()
		delete(l.programs, r.mark)
		l.mu.Unlock()
		return nil, err
	}
	return r, nil
}

// keep has the guard's process hold a file open until it is told to drop it, or ends.
func (l *link) keep(id int64, f *os.File) error {
	n, err := l.ask(message{op: opKeep, value: id}, nil, []*os.File{f})
	if err == nil && n != 0 {
		err = syscall.Errno(-n)
	}
	if err != nil {
		return fmt.Errorf("have the guard hold %s: %w", f.Name(), err)
	}
	return nil
}

// ask sends a request and waits for the answer. A guard that somebody has stopped is
// resumed.
func (l *link) ask(m message, body []byte, files []*os.File) (int64, error) {
	answer := make(chan int64, 1)
	l.mu.Lock()
	l.serial++
	m.serial = l.serial
	if !l.over {
		l.answers[m.serial] = answer
	}
	l.mu.Unlock()
	if err := l.tell(m, body, files); errors.Is(err, errUnsent) {
		l.mu.Lock()
		delete(l.answers, m.serial)
		l.mu.Unlock()
		return 0, err
	} else if err != nil {
		<-l.done
		return 0, errGuardGone
	}
	slow := time.NewTicker(time.Second)
	defer slow.Stop()
	for {
		select {
		case n := <-answer:
			return n, nil
		case <-l.done:
			select {
			case n := <-answer: // its last one
				return n, nil
			default:
				return 0, errGuardGone
			}
		case <-slow.C:
			_ = l.proc.Signal(unix.SIGCONT)
		}
	}
}

// tell writes a request. The guard reads at all times. errUnsent means that the system did
// not accept the files and that nothing was written; after any other error the guard ends.
func (l *link) tell(m message, body []byte, files []*os.File) error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	conn, err := l.socket.SyscallConn()
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	whole, sent := append(m.encode(), body...), 0
	if werr := conn.Write(func(fd uintptr) bool {
		sent, err = unix.SendmsgN(int(fd), whole, rights, nil, unix.MSG_NOSIGNAL)
		return !errors.Is(err, unix.EAGAIN)
	}); werr != nil {
		return werr
	}
	runtime.KeepAlive(files)
	if rest := whole[sent:]; err == nil && len(rest) > 0 {
		_, err = l.socket.Write(rest) // not without need: the guard may have ended by now, as it was asked to
	} else if err != nil && len(files) > 0 && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
		return fmt.Errorf("%w: %w", errUnsent, err)
	}
	if err != nil {
		l.hangUp() // half a request may have been written
	}
	return err
}

// hangUp ends the guard's input: the guard ends everything that is left, and itself.
func (l *link) hangUp() {
	if conn, err := l.socket.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
}

// close has the guard end all that is left, and itself.
func (l *link) close() {
	l.hangUp()
	late := time.NewTimer(closeTime)
	defer late.Stop()
	for again := time.NewTicker(time.Second); ; {
		select {
		case <-l.done:
			again.Stop()
			return
		case <-again.C:
			_ = l.proc.Signal(unix.SIGCONT) // somebody may have stopped it
		case <-late.C:
			again.Stop()
			return // the guard finishes without us
		}
	}
}

const (
	// killTime limits the wait for killed processes to be gone. One that the system cannot
	// end, because its disk does not answer, would hold us for ever.
	killTime = time.Second
	// closeTime is the same for all that a guard has started.
	closeTime = 3 * time.Second
)

// tree is a group, as its guard keeps it.
type tree struct {
	link    *link
	running *runningProgram
	streams *stdio
	delay   time.Duration
}

func (t *tree) await() { <-t.running.ended }

// signal sends a signal to all living processes and returns their number.
func (t *tree) signal(sig syscall.Signal) int64 {
	if t.running.over() {
		return 0
	}
	n, err := t.link.ask(message{op: opSignal, mark: t.running.mark, value: int64(sig)}, nil, nil)
	if err != nil {
		return 0 // everything ended with the guard
	}
	return n
}

func (t *tree) alive() bool { return t.signal(0) > 0 } // 0 only looks: it is not delivered

func (t *tree) terminate() { t.signal(unix.SIGTERM) }

// kill repeats the signal: a killed process needs a moment to be gone, and may have been
// starting another one. On a machine so busy that one attempt takes all the time, it
// makes three.
func (t *tree) kill() {
	end := time.Now().Add(killTime)
	for tries := 1; t.signal(unix.SIGKILL) > 0 && (tries < 3 || time.Now().Before(end)); tries++ {
		time.Sleep(time.Millisecond)
	}
}

func (t *tree) spare() {
	if !t.running.over() {
		_, _ = t.link.ask(message{op: opSpare, mark: t.running.mark}, nil, nil)
	}
}

func (t *tree) close() Ending {
	t.kill()
	t.await()
	if !t.running.gone {
		_ = t.link.tell(message{op: opForget, mark: t.running.mark}, nil, nil)
	}
	t.streams.finish(t.delay)
	how := t.running.how
	if how.Signaled() {
		return Ending{Code: -1, Signal: how.Signal().String()}
	}
	return Ending{Code: how.ExitStatus()}
}
