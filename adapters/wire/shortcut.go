package wire

import "time"

// shortcutMost limits a write by the shortcut, in bytes. A pipe takes so many bytes whole or not at
// all; for more, the cost of waking Run is small.
const shortcutMost = 4 << 10

// shortcutPause is the shortest time between the last write and one by the shortcut. Run combines
// messages in quick succession into fewer writes.
const shortcutPause = 25 * time.Microsecond

// pen is the right to write to the stream.
type pen uint8

const (
	free  pen = iota // not in use
	byRun            // held by Run, which may wait for the peer
	byPut            // held by a goroutine that has put something, and does not wait
)

// takeLocked takes the queue, and the pen, for a write by the shortcut. It returns nil if Run must
// write the queue.
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

// send writes the result of takeLocked as far as the stream accepts it without waiting. Run writes
// the rest, or everything if b is nil.
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

// returnLocked puts the rest of a write back in front of the queue.
func (w *Writer) returnLocked(rest []byte, replies tally) {
	w.buf, w.spare = append(rest, w.buf...), w.buf[:0]
	for i := range w.cuts {
		w.cuts[i].end += len(rest)
		w.cuts[i].replies = w.cuts[i].replies.plus(replies)
	}
	w.replies = w.replies.plus(replies)
}
