package logs

import (
	"io"
	"sync"
	"time"
)

const (
	// backlog limits the waiting part of a log, in bytes.
	backlog = 256 << 10
	// drainFor limits the time that the end of the program waits for standard error, which may be
	// a pipe that nobody reads.
	drainFor = 250 * time.Millisecond
	// storeFor limits the time that it waits for files: they take all lines, but a busy machine
	// may take its time.
	storeFor = 5 * time.Second
	// pace is the interval between two writes: lines in between are written together, because
	// each line would otherwise wake a thread.
	pace = 5 * time.Millisecond
)

// writer writes lines from a goroutine of its own, so that an output that is not read, such as an
// editor's pipe for standard error, delays nothing. Lines that do not fit into its backlog are
// dropped and counted; the count is written as soon as there is room again.
type writer struct {
	lost func(n int) []byte // the line that reports n dropped ones

	wake chan struct{} // holds one token: there is work
	done chan struct{} // closed when the goroutine has ended
	last chan struct{} // closed by close

	mu      sync.Mutex // guards the fields below
	out     io.Writer
	waiting []byte // whole lines
	dropped int    // since the last report
	closed  bool
}

func newWriter(out io.Writer, lost func(int) []byte) *writer {
	return &writer{
		lost: lost,
		out:  out,
		wake: make(chan struct{}, 1),
		done: make(chan struct{}),
		last: make(chan struct{}),
	}
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

// redirect sends the waiting lines, and all later ones, to another output.
func (w *writer) redirect(out io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = out
}

// close writes the waiting lines, within the given time, and reports whether everything was
// written. The goroutine of a blocked output stays behind; the process is about to end.
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
			_, _ = out.Write(lines) // there is no place left to report the failure
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
