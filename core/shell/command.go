package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"dragoman/core/child"
)

const (
	// settleTime is the time for output to arrive after the last process of ours has
	// ended: a process that escaped may hold the pipe open for ever.
	settleTime = 250 * time.Millisecond
	// lookEvery is the time between two checks of a group that was asked to end.
	lookEvery = 5 * time.Millisecond
)

// Command is a program that runs for the length of one call, as a job, or in a terminal. Its input
// is the null device.
type Command struct {
	Argv  []string
	Dir   string
	Env   []string
	Limit time.Duration // 0: no limit
	Grace time.Duration // between SIGTERM and SIGKILL
	Begun func()        // called when the program has started; nil: no call
	Guard Starter
}

// Starter starts programs: a *child.Guard, or the sandbox of a session.
type Starter interface {
	Start(cmd *exec.Cmd) (*child.Group, error)
}

// Reason is the reason for which a command ended.
type Reason int

// The reasons. Ended: by itself, or something else ended it. Overtime: after Limit. Canceled: with
// its context.
const (
	Ended Reason = iota
	Overtime
	Canceled
)

// Outcome describes the end of a command.
type Outcome struct {
	Why    Reason
	Code   int    // the exit code; -1: it did not exit by itself
	Signal string // the name of the signal that ended it; "": none did
}

// Words says how the command ended, after the time that it took; limit is its Limit.
func (o Outcome) Words(took, limit time.Duration) string {
	switch o.Why {
	case Overtime:
		return fmt.Sprintf("timed out after %v and was stopped", limit)
	case Canceled:
		return fmt.Sprintf("canceled after %v and stopped", took.Round(time.Millisecond))
	case Ended:
	}
	switch {
	case o.Signal != "":
		return "ended by signal: " + o.Signal
	case o.Code < 0:
		return "ended without an exit status"
	}
	return fmt.Sprintf("exit status %d", o.Code)
}

// Run runs the command. It returns when the program, all processes that it started
// and all goroutines have ended. With one reader, output and errors go through one
// pipe, which read reads to its end, in the order of printing; with a second reader,
// errors go through a pipe of their own. An error means that the command could not be
// started.
func (c Command) Run(ctx context.Context, read ...func(*os.File)) (Outcome, error) {
	pipes, err := openPipes(len(read))
	if err != nil {
		return Outcome{}, err
	}
	defer pipes.close()
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Stdout, cmd.Stderr = pipes[0].w, pipes[len(pipes)-1].w
	asLine(cmd)
	g, err := c.Guard.Start(cmd)
	pipes.started()
	if err != nil {
		return Outcome{}, err
	}

	var all sync.WaitGroup
	defer all.Wait()
	exited, drained := make(chan struct{}), make(chan struct{})
	all.Go(func() {
		defer close(exited)
		g.Await()
	})
	all.Go(func() {
		defer close(drained)
		pipes.drain(read)
	})
	if c.Begun != nil {
		c.Begun()
	}

	why := c.watch(ctx, exited)
	if why == Ended {
		g.Spare() // a daemon keeps running until the session ends
	}
	c.stop(g, why, exited)
	how := g.Close()
	select {
	case <-drained:
	default:
		// An escaped process may hold the other end of the pipe.
		pipes.hurry()
	}
	<-drained
	return Outcome{why, how.Code, how.Signal}, nil
}

// pipes carry the output of a command.
type pipes []pipe

type pipe struct{ r, w *os.File }

func openPipes(n int) (pipes, error) {
	var ps pipes
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			ps.started()
			ps.close()
			return nil, err
		}
		ps = append(ps, pipe{r, w})
	}
	return ps, nil
}

// started closes our copies of the write ends, after the command has inherited them.
func (ps pipes) started() {
	for _, p := range ps {
		p.w.Close()
	}
}

// drain reads all pipes to their ends.
func (ps pipes) drain(read []func(*os.File)) {
	var all sync.WaitGroup
	for i, p := range ps {
		all.Go(func() { read[i](p.r) })
	}
	all.Wait()
}

// hurry sets a deadline for further output.
func (ps pipes) hurry() {
	for _, p := range ps {
		if p.r.SetReadDeadline(time.Now().Add(settleTime)) != nil {
			p.r.Close()
		}
	}
}

func (ps pipes) close() {
	for _, p := range ps {
		p.r.Close()
	}
}

// watch waits until the program exits or has to be stopped.
func (c Command) watch(ctx context.Context, exited <-chan struct{}) Reason {
	var over <-chan time.Time
	if c.Limit > 0 {
		timer := time.NewTimer(c.Limit)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-exited:
		return Ended
	case <-over:
		return Overtime
	case <-ctx.Done():
		return Canceled
	}
}

// stop ends the rest of the group: first with a request, and after the grace by
// force.
func (c Command) stop(g *child.Group, why Reason, exited <-chan struct{}) {
	if why != Ended || g.Alive() {
		g.Terminate()
		if !c.gone(g, exited) {
			g.Kill()
		}
	}
	<-exited
}

// gone waits for the group to end, at most for the grace, and reports whether it has.
func (c Command) gone(g *child.Group, exited <-chan struct{}) bool {
	timer := time.NewTimer(c.Grace)
	defer timer.Stop()
	select {
	case <-exited:
	case <-timer.C:
		return false
	}
	g.Terminate() // for processes that left the session and missed the first signal
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for g.Alive() {
		select {
		case <-look.C:
		case <-timer.C:
			return false
		}
	}
	return true
}
