package child

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
)

// Group is a program and all that it starts. Any goroutine may call its methods.
type Group struct {
	reap func() // waits for the program, once

	mu     sync.Mutex // held while the tree is looked at or signalled; guards the fields below
	closed bool       // the tree's number may mean another one
	tree   tree       // the system's side of it; after closed, Close's
}

// Start starts cmd, whose ExtraFiles are empty, as the first of a group of its own,
// without a terminal. The rest of cmd is kept, also what SysProcAttr says beside
// that. cmd must not be waited for: Close does that, and then cmd.ProcessState says
// how the program ended. An error says that nothing was started.
func Start(cmd *exec.Cmd) (*Group, error) {
	g := &Group{reap: sync.OnceFunc(func() { _ = cmd.Wait() })}
	program := cmd.Path
	g.tree.prepare(cmd)
	if err := cmd.Start(); err != nil {
		g.tree.free()
		return nil, cause(err, cmd, program)
	}
	if err := g.tree.adopt(cmd.Process); err != nil {
		_ = cmd.Process.Kill()
		g.reap()
		g.tree.free()
		return nil, err
	}
	return g, nil
}

// Run runs cmd as a group, and returns when nothing is left of it: after the program's
// end or, where that comes first, ctx's. cmd.ProcessState says how the program ended;
// an error says that nothing was started.
func Run(ctx context.Context, cmd *exec.Cmd) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	g, err := Start(cmd)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	var killer sync.WaitGroup
	killer.Go(func() {
		select {
		case <-ctx.Done():
			g.Kill()
		case <-ended:
		}
	})
	g.Await()
	close(ended)
	killer.Wait()
	g.Close()
	return nil
}

// cause has an error name what was at fault, which the system leaves open: the folder,
// or the program, instead of the sh by which it was started.
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

// Await returns when the program itself has ended; what it has started may live on.
func (g *Group) Await() { g.tree.await(g.reap) }

// Alive reports whether a process of the group lives. Whom it sees stays of the group,
// also after leaving its session and its parent.
func (g *Group) Alive() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.closed && g.tree.alive()
}

// Terminate asks all processes of the group to end. Where there is no way to ask,
// it ends them.
func (g *Group) Terminate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.tree.terminate()
	}
}

// Kill ends all processes of the group, and waits a moment for them to be gone.
func (g *Group) Kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.tree.kill()
	}
}

// Close ends what is left of the group, and returns when the program and its guard
// have ended and what the program printed was copied to cmd's writers (within
// cmd.WaitDelay, where that is set). It is called once; of the other methods, those
// that come later do nothing.
func (g *Group) Close() {
	g.Kill()
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.tree.leave()
	g.reap()
	g.tree.free()
}
