package child

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
)

// Guard starts programs, and ends all of them when it is closed or we die. The zero
// Guard is usable. Any goroutine may call its methods.
type Guard struct{ system guard }

var errClosed = errors.New("the guard of this program is closed")

// Start starts cmd as the first of a group of its own, without a terminal. Of cmd it
// takes what to start and where, the streams and WaitDelay; ExtraFiles must be empty,
// and on Linux SysProcAttr too. cmd is neither started nor waited for by anybody else:
// [Group.Close] says how the program ended. An error says that nothing was started.
func (g *Guard) Start(cmd *exec.Cmd) (*Group, error) {
	t, err := g.system.start(cmd)
	if err != nil {
		return nil, err
	}
	return &Group{tree: t}, nil
}

// Close ends all that the guard has started and that is left of it, daemons included,
// and waits for that (3 seconds at the most). It starts nothing any more. Groups are
// closed beside that, before or after.
func (g *Guard) Close() { g.system.close() }

// Rest gives back what the guard holds where nothing is left of what it has started:
// its process, on Linux. The next program has a new one.
func (g *Guard) Rest() { g.system.rest() }

// Guards are the guards of those who start programs, by their names. The zero Guards
// is usable. Any goroutine may call its methods.
type Guards struct {
	mu   sync.Mutex // guards the field below
	held map[string]*held
}

type held struct {
	guard Guard
	by    int
}

// Hold returns the guard of that name: everybody who holds it at a time has the same
// one. release gives it back; the last one to do so closes it.
func (gs *Guards) Hold(name string) (g *Guard, release func()) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	h := gs.held[name]
	if h == nil {
		if gs.held == nil {
			gs.held = map[string]*held{}
		}
		h = &held{}
		gs.held[name] = h
	}
	h.by++
	return &h.guard, sync.OnceFunc(func() {
		gs.mu.Lock()
		h.by--
		last := h.by == 0
		if last {
			delete(gs.held, name)
		}
		gs.mu.Unlock()
		if last {
			h.guard.Close()
		}
	})
}

// Group is a program and all that it starts. Any goroutine may call its methods.
type Group struct{ tree *tree }

// Await returns when the program itself has ended; what it has started may live on.
func (g *Group) Await() { g.tree.await() }

// Alive reports whether a process of the group lives.
func (g *Group) Alive() bool { return g.tree.alive() }

// Terminate asks all processes of the group to end. Where there is no way to ask,
// it ends them. Asked again, on Linux, it asks those alone who have lost their parents
// since then.
func (g *Group) Terminate() { g.tree.terminate() }

// Kill ends all processes of the group, and waits a moment for them to be gone.
func (g *Group) Kill() { g.tree.kill() }

// Spare takes daemons out of the group: those that have left the program's session
// and whose parents have ended. They end with the guard. It is for a program that has
// ended by itself.
func (g *Group) Spare() { g.tree.spare() }

// Close ends what is left of the group, and says how the program ended. It returns
// when the program has ended and what it printed was copied to cmd's writers (within
// cmd.WaitDelay, where that is set). It is called once; of the other methods, those
// that come later do nothing.
func (g *Group) Close() Ending { return g.tree.close() }

// Ending says how a program ended.
type Ending struct {
	Code   int    // its exit code; -1: it did not exit by itself
	Signal string // the name of the signal that ended it; "": none did
}

// Success reports whether the program ended well.
func (e Ending) Success() bool { return e.Code == 0 }

// String words it as the standard library does.
func (e Ending) String() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Run runs cmd under a guard of its own, and returns when nothing is left of it but
// daemons: after the program's end or, where that comes first, ctx's; then daemons go
// too. Daemons that are left live on, also after us. An error says that nothing was
// started.
func Run(ctx context.Context, cmd *exec.Cmd) (Ending, error) {
	if ctx.Err() != nil {
		return Ending{}, context.Cause(ctx)
	}
	guard := Guard{system: guard{lenient: true}}
	defer guard.Close()
	g, err := guard.Start(cmd)
	if err != nil {
		return Ending{}, err
	}
	ended := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() {
		defer close(ended)
		g.Await()
	})
	select {
	case <-ended:
		g.Spare()
	case <-ctx.Done():
		g.Kill()
	}
	waiter.Wait()
	return g.Close(), nil
}
