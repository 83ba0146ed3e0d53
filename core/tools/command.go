package tools

import (
	"context"
	"errors"
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

// command is a program that runs for the length of one call, or as a job.
type command struct {
	argv  []string
	dir   string
	env   []string
	limit time.Duration // 0: no limit
	grace time.Duration // between SIGTERM and SIGKILL
	begun func()        // called when the program has started; nil: no call
	guard *child.Guard
}

// reason is the reason for which a command ended.
type reason int

const (
	ended reason = iota
	overtime
	canceled
)

// outcome describes the end of a command.
type outcome struct {
	why    reason
	code   int // -1: it did not exit by itself
	signal string
}

// run runs the command. It returns when the program, all processes that it started
// and all goroutines have ended. With one reader, output and errors go through one
// pipe, which read reads to its end, in the order of printing; with a second reader,
// errors go through a pipe of their own. An error means that the command could not be
// started.
func (c command) run(ctx context.Context, read ...func(*os.File)) (outcome, error) {
	pipes, err := openPipes(len(read))
	if err != nil {
		return outcome{}, err
	}
	defer pipes.close()
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.env // stdin is the null device
	cmd.Stdout, cmd.Stderr = pipes[0].w, pipes[len(pipes)-1].w
	asLine(cmd)
	g, err := c.guard.Start(cmd)
	pipes.started()
	if err != nil {
		return outcome{}, err
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
	if c.begun != nil {
		c.begun()
	}

	why := c.watch(ctx, exited)
	if why == ended {
		g.Spare() // a daemon keeps running until the session ends
	}
	c.stop(g, exited)
	how := g.Close()
	select {
	case <-drained:
	default:
		// An escaped process may hold the other end of the pipe.
		pipes.hurry()
	}
	<-drained
	return outcome{why: why, code: how.Code, signal: how.Signal}, nil
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
func (c command) watch(ctx context.Context, exited <-chan struct{}) reason {
	var over <-chan time.Time
	if c.limit > 0 {
		timer := time.NewTimer(c.limit)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-exited:
		return ended
	case <-over:
		return overtime
	case <-ctx.Done():
		return canceled
	}
}

// stop ends the rest of the group: first with a request, and after the grace by
// force.
func (c command) stop(g *child.Group, exited <-chan struct{}) {
	if !isClosed(exited) || g.Alive() {
		g.Terminate()
		if !c.gone(g, exited) {
			g.Kill()
		}
	}
	<-exited
}

// gone waits for the group to end, at most for the grace, and reports whether it has.
func (c command) gone(g *child.Group, exited <-chan struct{}) bool {
	timer := time.NewTimer(c.grace)
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

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

const (
	pieceSize = 4 << 10               // a piece of output is passed on when it has this size
	pieceTime = 25 * time.Millisecond // or this age
	lastReads = 8                     // after the deadline: more than a pipe holds
)

// stream reads a command's output to its end. It passes the output to keep as it
// arrives and to emit in pieces. While emit blocks, a full pipe slows the command
// down; stopping the command does not depend on emit.
func stream(r *os.File, keep, emit func(string)) {
	chunks := make(chan []byte)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(chunks)
		late := 0
		for {
			buf := make([]byte, 16<<10)
			n, err := r.Read(buf)
			if n > 0 {
				chunks <- buf[:n]
			}
			if errors.Is(err, os.ErrDeadlineExceeded) && late == 0 || late > 0 && err == nil {
				// Read the rest in the pipe: it may have been there for a long time.
				if late++; late <= lastReads && r.SetReadDeadline(time.Now().Add(pieceTime)) == nil {
					continue
				}
				return
			}
			if err != nil {
				return
			}
		}
	})
	defer reader.Wait()

	var dec decoder
	var piece []byte
	flush := func() {
		if len(piece) > 0 {
			emit(string(piece))
			piece = piece[:0]
		}
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case chunk, ok := <-chunks:
			text := dec.text(chunk, !ok)
			keep(text)
			if len(piece) == 0 && len(text) > 0 {
				timer.Reset(pieceTime)
			}
			if piece = append(piece, text...); !ok || len(piece) >= pieceSize {
				timer.Stop()
				flush()
			}
			if !ok {
				return
			}
		case <-timer.C:
			flush()
		}
	}
}
