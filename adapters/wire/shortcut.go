package wire

import "time"

// shortcutMost limits what takes the shortcut, in bytes: so much a pipe takes whole or not at all.
// With more to write, waking Run costs little.
const shortcutMost = 4 << 10

// shortcutPause is how long nothing must have been written for something to take the shortcut: of
// many messages in quick succession Run writes more than one at a time.
const shortcutPause = 25 * time.Microsecond

// pen says who writes to the stream.
type pen uint8

const (
	free  pen = iota // nobody does
	byRun            // Run does, and may wait for the peer
	byPut            // a goroutine that has put something does, without waiting
)

// takeLocked takes what is queued if whoever has put it is to write it: it is little, and nobody
// else writes. It returns nil if Run is to write it.
func (w *Writer) takeLocked() []byte {
	if w.shortcut == nil || w.pen != free || w.closing || len(w.buf) == 0 || len(w.buf) > shortcutMost ||
		time.Since(w.last) < shortcutPause {
		return nil
	}
	b := w.buf
	w.buf, w.spare = w.spare[:0], nil
	w.flying, w.replies, w.pen = cut{len(b), w.replies}, tally{}, byPut
	return b
}

// send writes what was taken by takeLocked, as far as the stream takes it without waiting; the
// rest is Run's, and so is everything if b is nil.
func (w *Writer) send(b []byte) {
	if b == nil {
		w.signal()
		return
	}
	n := w.shortcut.write(b)
	w.mu.Lock()
	if w.spare = b[:0]; n < len(b) {
		w.returnLocked(b[n:], w.flying.replies)
	}
	w.written += int64(n)
	w.flying, w.pen = cut{}, free
	w.last = time.Now()
	if n > 0 {
		w.since = w.last
	}
	if len(w.buf) == 0 {
		w.since = time.Time{}
	}
	more := len(w.buf) > 0 || w.closing
	room := w.room
	w.room = nil
	w.mu.Unlock()
	if room != nil {
		close(room)
	}
	if more {
		w.signal()
	}
}

// returnLocked puts back, before what is queued, what the stream did not take.
func (w *Writer) returnLocked(rest []byte, replies tally) {
	w.buf, w.spare = append(rest, w.buf...), w.buf[:0]
	for i := range w.cuts {
		w.cuts[i].end += len(rest)
		w.cuts[i].replies = w.cuts[i].replies.plus(replies)
	}
	w.replies = w.replies.plus(replies)
}
