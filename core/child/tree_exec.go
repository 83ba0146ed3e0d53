//go:build !linux

package child

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// guard is the system's side of a [Guard] where each program has its own watch or job
// object. It ends nothing by itself: the owner of each group closes it.
type guard struct {
	lenient bool // which makes no difference here
	here    bool // its programs stay in our session and process group; only they are ended
	sandbox Sandbox
	closed  atomic.Bool

	mu    sync.Mutex // guards the fields below
	kept  map[int]*os.File
	keeps int // the last key of kept
}

func (g *guard) close() { g.closed.Store(true) }

func (g *guard) ready() error { return nil }

// keep has the watches of programs that are started from now on hold a file open.
func (g *guard) keep(f *os.File) (drop func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept == nil {
		g.kept = map[int]*os.File{}
	}
	g.keeps++
	id := g.keeps
	g.kept[id] = f
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.kept, id)
	}, nil
}

// rest does nothing: such a guard has no process.
func (*guard) rest() bool { return true }

func (g *guard) start(cmd *exec.Cmd) (*tree, error) {
	if g.closed.Load() {
		return nil, errClosed
	}
	if g.sandbox != nil {
		cmd = g.sandbox.Program(cmd)
	}
	streams, err := openStdio(cmd)
	if err != nil {
		return nil, err
	}
	own := &exec.Cmd{
		Path:        cmd.Path,
		Args:        cmd.Args,
		Env:         cmd.Env,
		Dir:         cmd.Dir,
		SysProcAttr: cmd.SysProcAttr,
		Err:         cmd.Err,
	}
	if f := streams.files[0]; f != nil {
		own.Stdin = f
	}
	if f := streams.files[1]; f != nil {
		own.Stdout = f
	}
	if f := streams.files[2]; f != nil {
		own.Stderr = f
	}
	t := &tree{cmd: own, reap: sync.OnceFunc(func() { _ = own.Wait() }), streams: streams, delay: cmd.WaitDelay}
	g.mu.Lock()
	t.session.keep(slices.Collect(maps.Values(g.kept)))
	g.mu.Unlock()
	t.session.prepare(own, g.here)
	if err := own.Start(); err != nil {
		t.session.free()
		streams.failed()
		return nil, cause(err, own, cmd.Path)
	}
	if err := t.session.adopt(own.Process); err != nil {
		_ = own.Process.Kill()
		t.reap()
		t.session.free()
		streams.failed()
		return nil, err
	}
	streams.started()
	return t, nil
}

// cause makes an error name the faulty folder or program, and not the sh that was to
// start it.
func cause(err error, cmd *exec.Cmd, program string) error {
	if _, at := os.Stat(cmd.Dir); at != nil && cmd.Dir != "" {
		return at
	}
	var at *os.PathError
	if errors.As(err, &at) && at.Path == cmd.Path {
		return &os.PathError{Op: at.Op, Path: program, Err: at.Err}
	}
	return err
}

// tree is a group that is a child of ours.
type tree struct {
	cmd     *exec.Cmd
	reap    func() // waits for the program, once
	streams *stdio
	delay   time.Duration

	mu      sync.Mutex // held while the session is looked at or signalled; guards the fields below
	closed  bool       // the session's number may belong to another session
	session session    // the system's side of it; after closed, close's
}

func (t *tree) await() { t.session.await(t.reap) }

func (t *tree) alive() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.closed && t.session.alive()
}

func (t *tree) terminate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.session.terminate()
	}
}

func (t *tree) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.session.kill()
	}
}

// spare does nothing: processes that have left the session are not known here in any
// case.
func (t *tree) spare() {}

func (t *tree) close() Ending {
	t.kill()
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.session.leave()
	t.reap()
	t.session.free()
	t.streams.finish(t.delay)
	return endingOf(t.cmd.ProcessState)
}
