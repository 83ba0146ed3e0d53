package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// ErrClosed is the error of everything that needs a connection which has ended, and the
// cause of its calls' contexts.
var ErrClosed = errors.New("connection closed")

// errUntaken means that a connection ended before its peer had read the rest. It is an
// ErrClosed, since a peer that no longer reads has left.
var errUntaken = fmt.Errorf("%w: the peer did not read the rest in time", ErrClosed)

const (
	// DefaultLinger limits the time for writing the queue when a connection ends.
	DefaultLinger = time.Second
	// PumpRoom limits the queue before a pump waits, in bytes.
	PumpRoom = 256 << 10
	// chunk is about how much one Write takes: a Write ends with the first frame behind this
	// many bytes.
	chunk = 64 << 10
	// keep is the largest buffer that is used again, in bytes; a large message's memory
	// is given back.
	keep = 1 << 20
	// piece is the size of the Writes of a large frame, in bytes, so that a peer that reads it
	// slowly is noticed to read.
	piece = 64 << 10
	// drainStall limits the time for which Drain waits for a peer that reads nothing.
	drainStall = 5 * time.Second
)

// Writer queues whole frames and writes them from one goroutine, [Writer.Run]. If nothing is queued
// and the stream accepts a small frame without waiting, the goroutine that puts the frame writes
// it. Putting never blocks. Frames leave in the order in which they were put, and no frame of up to 1 MiB is split
// over two calls of Write.
//
// A Writer may be used by many goroutines.
type Writer struct {
	Linger   time.Duration // how long the rest may take when closing; set before Run; 0: DefaultLinger
	Recorder *Recorder     // records each write, just before it; set before Run; nil: none

	out     io.WriteCloser
	framing Framing
	wake    chan struct{} // one place: a wake-up that is already there says enough
	closed  chan struct{} // closed by Close

	mu sync.Mutex // guards the fields below
	// shortcut is nil before Run has begun, and if Run writes everything.
	shortcut *shortcut
	buf      []byte // whole frames that Run has not taken yet
	cuts     []cut  // where buf is cut into Writes, in order; the last cut may be missing
	replies  tally  // of buf
	spare    []byte // memory for buf
	pen      pen
	flying   cut   // what was taken and not yet written
	written  int64 // bytes, since the beginning
	room     chan struct{}
	since    time.Time // when the peer last took something, or the queue began to fill; zero: nothing is queued
	last     time.Time // when something was last written
	closing  bool
	err      error // why nothing more is accepted
}

// tally counts answers.
type tally struct{ n, bytes int }

func (t tally) plus(o tally) tally { return tally{t.n + o.n, t.bytes + o.bytes} }

// cut is a place between two frames: its offset, and the answers before it.
type cut struct {
	end     int
	replies tally
}

// NewWriter returns a writer of frames to out, which [Writer.Run] closes at its end.
func NewWriter(out io.WriteCloser, framing Framing) *Writer {
	return &Writer{out: out, framing: framing, wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Put queues one message. It copies msg, never blocks, and returns an error only when
// the connection has ended (errors.Is(err, ErrClosed)).
func (w *Writer) Put(msg []byte) error { return w.put(msg, false) }

func (w *Writer) put(msg []byte, reply bool) error {
	w.mu.Lock()
	err := w.err
	if err == nil {
		w.beginLocked()
		start := len(w.buf)
		w.frameLocked(msg)
		if reply {
			w.replies.n++
			w.replies.bytes += len(w.buf) - start
		}
		w.cutLocked()
	}
	b := w.takeLocked()
	w.mu.Unlock()
	w.send(b)
	return err
}

// give queues an answer, in memory that the writer may keep and change.
func (w *Writer) give(msg []byte) {
	w.mu.Lock()
	mine := w.err == nil && len(w.buf) == 0 && w.framing == Newline
	if mine {
		w.beginLocked()
		flatten(msg)
		w.buf = append(msg, '\n')
		w.replies.n++
		w.replies.bytes += len(w.buf)
		w.cutLocked()
	}
	w.mu.Unlock()
	if mine {
		w.signal()
		return
	}
	w.put(msg, true) //nolint:errcheck // the connection has ended
}

// PutLines queues many messages at once, each ended by a line feed and holding none:
// what append-encoders leave in a pump's buffer. They stay together in this order, and
// cost one lock and one copy. Empty lines are skipped under ContentLength framing. It
// copies lines, and blocks and fails as Put does.
func (w *Writer) PutLines(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	w.mu.Lock()
	err := w.err
	if err == nil {
		w.beginLocked()
		switch w.framing {
		case Newline:
			w.buf = append(w.buf, lines...)
			if lines[len(lines)-1] != '\n' {
				w.buf = append(w.buf, '\n')
			}
		case ContentLength:
			for line := range bytes.SplitSeq(lines, []byte("\n")) {
				if len(line) > 0 {
					w.frameLocked(line)
				}
			}
		}
		w.cutLocked()
	}
	b := w.takeLocked()
	w.mu.Unlock()
	w.send(b)
	return err
}

func (w *Writer) beginLocked() {
	if len(w.buf) == 0 && w.flying.end == 0 {
		w.since = time.Now()
	}
}

func (w *Writer) frameLocked(msg []byte) {
	switch w.framing {
	case Newline:
		start := len(w.buf)
		w.buf = append(w.buf, msg...)
		flatten(w.buf[start:])
		w.buf = append(w.buf, '\n')
	case ContentLength:
		w.buf = append(w.buf, "Content-Length: "...)
		w.buf = strconv.AppendInt(w.buf, int64(len(msg)), 10)
		w.buf = append(w.buf, "\r\n\r\n"...)
		w.buf = append(w.buf, msg...)
	}
}

// cutLocked allows a cut here when there is enough for a Write since the last one.
func (w *Writer) cutLocked() {
	last := 0
	if n := len(w.cuts); n > 0 {
		last = w.cuts[n-1].end
	}
	if len(w.buf)-last >= chunk {
		w.cuts = append(w.cuts, cut{len(w.buf), w.replies})
	}
}

func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Queued returns the number of bytes that were put and not yet written.
func (w *Writer) Queued() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.buf) + w.flying.end
}

// Unread returns how many bytes were put and not read by the peer, or somewhat more than that if there
// are any. ok is false if that cannot be seen: only Linux shows it, of pipes and local sockets.
func (w *Writer) Unread() (n int, ok bool) {
	w.mu.Lock()
	n, s := len(w.buf)+w.flying.end, w.shortcut
	w.mu.Unlock()
	if n > 0 || s == nil {
		return n, n > 0
	}
	return s.unread()
}

// Stalled returns for how long the peer has read nothing of the queue; 0 if nothing is queued. Only
// whole Writes count, of about 1 MiB at most.
func (w *Writer) Stalled() time.Duration {
	w.mu.Lock()
	since := w.since
	w.mu.Unlock()
	if since.IsZero() {
		return 0
	}
	return time.Since(since)
}

// Room waits until fewer than limit bytes are queued. It is for pumps, which have a log
// to read on from; answers never wait. It returns the context's cause when that ends
// first, and the writer's error when the connection has ended.
func (w *Writer) Room(ctx context.Context, limit int) error {
	return w.await(ctx, func() bool { return len(w.buf)+w.flying.end < limit })
}

// answersRoom waits until fewer answers than max, and bytes of answers than maxBytes, are queued.
func (w *Writer) answersRoom(ctx context.Context, limit tally) error {
	return w.await(ctx, func() bool {
		return w.replies.n+w.flying.replies.n < limit.n && w.replies.bytes+w.flying.replies.bytes < limit.bytes
	})
}

// await waits until ready, which is called with the lock held, returns true.
func (w *Writer) await(ctx context.Context, ready func() bool) error {
	for {
		w.mu.Lock()
		if w.err != nil || ready() {
			err := w.err
			w.mu.Unlock()
			return err
		}
		if w.room == nil {
			w.room = make(chan struct{})
		}
		room := w.room
		w.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Drain waits until the present queue is written, as long as the peer reads something every five
// seconds and ctx lasts. It is for the output to a peer that has closed its own side and may still
// read.
func (w *Writer) Drain(ctx context.Context) {
	w.mu.Lock()
	end := w.written + int64(len(w.buf)+w.flying.end)
	w.mu.Unlock()
	for {
		left := drainStall - w.Stalled()
		if left <= 0 {
			return
		}
		turn, cancel := context.WithTimeout(ctx, left)
		err := w.await(turn, func() bool { return w.written >= end })
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return
		}
	}
}

// Close ends the queue: nothing more is accepted, and Run writes the rest and returns. Close does
// not wait, and may be called again.
func (w *Writer) Close() {
	w.mu.Lock()
	first := !w.closing
	w.closing = true
	if w.err == nil {
		w.err = ErrClosed
	}
	room := w.room
	w.room = nil
	w.mu.Unlock()
	if first {
		close(w.closed)
	}
	if room != nil {
		close(room)
	}
	w.signal()
}

// Run writes the queue until Close is called, ctx ends or the stream fails; before Run nothing is
// written. At the end the rest of the queue is written, for at most Linger; then the stream is
// closed and everyone who waits is released. It returns nil if everything was written, and an
// ErrClosed if the peer did not read the rest.
func (w *Writer) Run(ctx context.Context) error {
	var owner sync.WaitGroup
	done := make(chan struct{})
	severed := false
	owner.Go(func() { severed = w.sever(ctx, done) })
	w.begin()
	err := w.write()
	close(done)
	owner.Wait()
	if severed && err != nil {
		err = errUntaken // what Write says is that we closed the stream
	}
	w.fail(err)
	if severed {
		return err
	}
	if cerr := w.out.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("close output: %w", cerr)
	}
	return err
}

// begin opens the shortcut, unless there is a recorder, which only sees Run's writes.
func (w *Writer) begin() {
	if w.Recorder != nil {
		return
	}
	s := shortcutTo(w.out)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shortcut = s
}

// sever closes the stream, and so ends a Write, when that takes too long once the writer closes.
func (w *Writer) sever(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		w.Close()
	case <-w.closed:
	case <-done:
		return false
	}
	t := time.NewTimer(w.linger())
	defer t.Stop()
	select {
	case <-t.C:
		w.out.Close() // its error is the one that Write returns
		return true
	case <-done:
		return false
	}
}

func (w *Writer) linger() time.Duration {
	if w.Linger <= 0 {
		return DefaultLinger
	}
	return w.Linger
}

func (w *Writer) write() error {
	var buf []byte
	var cuts []cut
	for {
		var more bool
		if buf, cuts, more = w.take(buf, cuts); !more {
			return nil
		}
		if len(buf) == 0 {
			<-w.wake
			continue
		}
		from := cut{}
		for _, c := range cuts {
			all := cuts[len(cuts)-1]
			if w.Recorder != nil {
				w.Recorder.sent(buf[from.end:c.end], w.framing)
			}
			for large := c.end-from.end > chunk+keep; large && c.end-from.end > piece; from.end += piece {
				if err := w.writePiece(buf[from.end : from.end+piece]); err != nil {
					return err
				}
				w.wrote(cut{from.end + piece, from.replies}, all)
			}
			if err := w.writePiece(buf[from.end:c.end]); err != nil {
				return err
			}
			w.wrote(c, all)
			from = c
		}
	}
}

func (w *Writer) writePiece(b []byte) error {
	if _, err := w.out.Write(b); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// take swaps the queue with the memory of the last writes. It returns false if the writer is closing
// and everything was written.
func (w *Writer) take(buf []byte, cuts []cut) ([]byte, []cut, bool) {
	if cap(buf) > keep {
		buf = nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pen == byPut { // whoever holds it wakes Run if anything is left
		return buf[:0], cuts[:0], true
	}
	if w.pen = free; len(w.buf) == 0 {
		return buf[:0], cuts[:0], !w.closing
	}
	w.pen = byRun
	all := cut{len(w.buf), w.replies}
	if n := len(w.cuts); n == 0 || w.cuts[n-1].end != all.end {
		w.cuts = append(w.cuts, all)
	}
	w.flying, w.replies = all, tally{}
	w.buf, buf = buf[:0], w.buf
	w.cuts, cuts = cuts[:0], w.cuts
	return buf, cuts, true
}

// wrote notes that all up to the cut c has left, of what ends with the cut all.
func (w *Writer) wrote(c, all cut) {
	w.mu.Lock()
	w.written += int64(w.flying.end - (all.end - c.end))
	w.flying = cut{all.end - c.end, tally{all.replies.n - c.replies.n, all.replies.bytes - c.replies.bytes}}
	w.last = time.Now()
	if w.since = w.last; len(w.buf)+w.flying.end == 0 {
		w.since = time.Time{}
	}
	room := w.room
	w.room = nil
	w.mu.Unlock()
	if room != nil {
		close(room)
	}
}

// fail ends the queue, and drops the rest. A nil error means that everything was written.
func (w *Writer) fail(err error) {
	w.mu.Lock()
	switch {
	case err == nil:
		w.err = ErrClosed
	case errors.Is(err, ErrClosed):
		w.err = err
	default:
		w.err = fmt.Errorf("%w: %v", ErrClosed, err)
	}
	w.closing = true
	w.buf, w.cuts, w.replies, w.flying, w.since = nil, nil, tally{}, cut{}, time.Time{}
	room := w.room
	w.room = nil
	w.mu.Unlock()
	if room != nil {
		close(room)
	}
}
