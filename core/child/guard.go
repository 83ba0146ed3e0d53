package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Guard starts programs, and ends all of them when it is closed or we die. The zero
// Guard is usable. Any goroutine may call its methods.
type Guard struct{ system guard }

// Sandbox confines a guard and all that it starts. Any goroutine may call its methods.
type Sandbox interface {
	// Launch starts a process that confines itself and then becomes the guard of the given name,
	// with the socket as its standard input. It blocks until that has happened. Where guards are no
	// processes it is not called.
	Launch(socket *os.File, name string) (*os.Process, error)
	// Program returns a program as it is started inside: with the variables that it is to have
	// there. It does not change the given one.
	Program(cmd *exec.Cmd) *exec.Cmd
}

// Confined returns a guard whose programs run in a sandbox.
func Confined(s Sandbox) *Guard { return &Guard{system: guard{sandbox: s}} }

var errClosed = errors.New("the guard of this program is closed")

// Start starts cmd as the first of a group of its own, without a terminal. It uses the
// program, the folder, the environment, the streams and WaitDelay of cmd; ExtraFiles must be
// empty, and on Linux SysProcAttr too. The caller neither starts cmd nor waits for it:
// [Group.Close] returns how the program ended. After an error nothing is running.
func (g *Guard) Start(cmd *exec.Cmd) (*Group, error) {
	t, err := g.system.start(cmd)
	if err != nil {
		return nil, err
	}
	return &Group{tree: t}, nil
}

// Close ends what is left of all that the guard has started, daemons included, and waits
// up to 3 seconds for that. The guard then starts nothing more. Groups still need their own
// Close, before or after.
func (g *Guard) Close() { g.system.close() }

// Rest ends the guard's own process (on Linux) if nothing that it has started is left, and reports
// whether there is none now. The next Start starts a new one. Rest blocks until the process has ended.
func (g *Guard) Rest() bool { return g.system.rest() }

// Ready starts the guard's own process (on Linux) before a program needs it. Without it, Start does.
func (g *Guard) Ready() error { return g.system.ready() }

// Keep has what ends the guard's programs when we die hold f open until it has ended them. So a lock
// on f, as of flock, is free only when the programs are gone. On Linux that is the guard's process,
// which is started if there is none; on other Unix systems the watches of the programs that are
// started from now on; on Windows nothing does it. f stays open here at least until drop, which ends
// that.
func (g *Guard) Keep(f *os.File) (drop func(), err error) { return g.system.keep(f) }

// Guards holds guards by name, for several users of one guard. The zero Guards is
// usable. Any goroutine may call its methods.
type Guards struct {
	mu     sync.Mutex // guards the fields below
	held   map[string]*sharedGuard
	spare  *sharedGuard // whose process runs already; nil: there is none
	closed bool         // there is to be no spare any more
}

// sharedGuard is a guard that several users hold.
type sharedGuard struct {
	guard Guard
	users int
}

// Hold returns the guard of that name: all who hold it at the same time share it. release
// gives it back, and the last release closes it and blocks for that.
func (gs *Guards) Hold(name string) (g *Guard, release func()) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	h := gs.held[name]
	if h == nil {
		if gs.held == nil {
			gs.held = map[string]*sharedGuard{}
		}
		if h = gs.spare; h == nil {
			h = &sharedGuard{}
		}
		gs.spare = nil
		gs.held[name] = h
	}
	h.users++
	return &h.guard, sync.OnceFunc(func() {
		gs.mu.Lock()
		h.users--
		last := h.users == 0
		if last {
			delete(gs.held, name)
		}
		gs.mu.Unlock()
		if last {
			h.guard.Close()
		}
	})
}

// Spare has a guard whose process runs already for the next name, so that its first program need not
// wait for that. It blocks until the process runs. Close must follow at some time.
func (gs *Guards) Spare() {
	gs.mu.Lock()
	needed := gs.spare == nil && !gs.closed
	gs.mu.Unlock()
	if !needed {
		return
	}
	h := &sharedGuard{}
	_ = h.guard.Ready() // the program that needs it will report the error
	gs.mu.Lock()
	keep := gs.spare == nil && !gs.closed
	if keep {
		gs.spare = h
	}
	gs.mu.Unlock()
	if !keep {
		h.guard.Close()
	}
}

// Close ends the spare guard. Guards that are held stay.
func (gs *Guards) Close() {
	gs.mu.Lock()
	h := gs.spare
	gs.spare, gs.closed = nil, true
	gs.mu.Unlock()
	if h != nil {
		h.guard.Close()
	}
}

// Group is a program and all that it starts. Any goroutine may call its methods.
type Group struct {
	tree  *tree
	after func() // see Then
}

// Then has Close call f when nothing of the group is left, before it returns. It is called before
// Close, at most once.
func (g *Group) Then(f func()) { g.after = f }

// Await returns when the program itself has ended; its children may live on.
func (g *Group) Await() { g.tree.await() }

// Alive reports whether a process of the group lives.
func (g *Group) Alive() bool { return g.tree.alive() }

// Terminate asks all processes of the group to end. Where there is no way to ask,
// it ends them. A second call, on Linux, asks only the processes that have lost their
// parents since the first.
func (g *Group) Terminate() { g.tree.terminate() }

// Kill ends all processes of the group, and waits a moment for them to be gone.
func (g *Group) Kill() { g.tree.kill() }

// Spare takes daemons out of the group: those that have left the program's session
// and whose parents have ended. They end with the guard. It is for a program that has
// ended by itself.
func (g *Group) Spare() { g.tree.spare() }

// Close ends what is left of the group, and returns how the program ended. It returns
// after the program has ended and its output was copied to cmd's writers (within
// cmd.WaitDelay, if that is set). It is called once; calls of the other methods after it
// do nothing.
func (g *Group) Close() Ending {
	how := g.tree.close()
	if g.after != nil {
		g.after()
	}
	return how
}

// Ending describes how a program ended.
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

// Run runs cmd under a guard of its own, and returns when the program has ended and
// nothing of it is left but daemons, which live on, even after us. If ctx ends first
// everything is killed, daemons included. An error says that nothing was
// started.
func Run(ctx context.Context, cmd *exec.Cmd) (Ending, error) {
	return run(ctx, cmd, &Guard{system: guard{lenient: true}}, 0)
}

// RunAtTerminal is Run for a program that asks at our terminal. It stays in our session and
// process group, so the keys that interrupt or suspend us do the same with it. All that it
// leaves in the end counts as daemons. If ctx ends first everything is asked to end, and killed
// after grace. On systems other than Linux all this holds for the program alone, and it is not
// ended when we are killed.
func RunAtTerminal(ctx context.Context, cmd *exec.Cmd, grace time.Duration) (Ending, error) {
	return run(ctx, cmd, &Guard{system: guard{lenient: true, here: true}}, grace)
}

func run(ctx context.Context, cmd *exec.Cmd, guard *Guard, grace time.Duration) (Ending, error) {
	if ctx.Err() != nil {
		return Ending{}, context.Cause(ctx)
	}
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
		if grace > 0 {
			g.Terminate()
			late := time.NewTimer(grace)
			defer late.Stop()
			select {
			case <-ended:
			case <-late.C:
			}
		}
		g.Kill()
	}
	waiter.Wait()
	return g.Close(), nil
}
