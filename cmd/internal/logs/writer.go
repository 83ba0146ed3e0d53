package logs

import (
	"io"
	"sync"
	"time"
)

const (
	// backlog limits the bytes of a log that wait for somebody to take them.
	backlog = 256 << 10
	// drainFor limits the time that the end of the program waits for that.
	drainFor = 250 * time.Millisecond
	// pace is the time between two writes: what comes in between is written together, since each
	// line would wake a thread otherwise.
	pace = 5 * time.Millisecond
)

// writer writes lines from a goroutine of its own, so that an output that
// nobody reads, such as the pipe that an editor made for standard error, holds up
// nothing. What does not fit into its backlog is dropped and counted; the count
// is written as soon as there is room again.
type writer struct {
	lost func(n int) []byte // the line that reports n dropped ones

	wake chan struct{} // holds one token: there is something to do
	done chan struct{} // closed when the goroutine has ended
	last chan struct{} // closed by close

	mu      sync.Mutex // guards the fields below
	out     io.Writer
	waiting []byte // whole lines
	dropped int    // since the last report
	closed  bool
}

func newWriter(out io.Writer, lost func(int) []byte) *writer {
	return &writer{lost: lost, out: out, wake: make(chan struct{}, 1), done: make(chan struct{}), last: make(chan struct{})}
}

// start begins writing; close ends it.
func (w *writer) start() { go w.run() }

// Write queues one line. It never blocks and never fails.
func (w *writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	if w.closed || len(w.waiting)+len(line) > backlog {
		w.dropped++
	} else {
		w.waiting = append(w.waiting, line...)
	}
	w.mu.Unlock()
	w.signal()
	return len(line), nil
}

// redirect sends what is still waiting, and all that follows, to another output.
func (w *writer) redirect(out io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = out
}

// close writes what is waiting, for at most that long, and reports whether
// everything was written. The goroutine of an output that is stuck stays behind;
// the process is about to end.
func (w *writer) close(most time.Duration) bool {
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	if !again {
		close(w.last)
	}
	w.signal()
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-w.done:
		return true
	case <-t.C:
		return false
	}
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *writer) run() {
	defer close(w.done)
	var lines []byte
	for {
		w.mu.Lock()
		lines, w.waiting = w.waiting, lines[:0]
		out, dropped, closed := w.out, w.dropped, w.closed
		w.dropped = 0
		w.mu.Unlock()
		if dropped > 0 {
			lines = append(lines, w.lost(dropped)...)
		}
		if len(lines) > 0 {
			_, _ = out.Write(lines) // there is nowhere else to say that it failed
			select {
			case <-time.After(pace):
			case <-w.last:
			}
			continue
		}
		if closed {
			return
		}
		<-w.wake
	}
}
