package pump

import "bytes"

// MaxHeld limits what a Backlog holds back, in bytes.
const MaxHeld = 2 << 20

// Backlog keeps the messages of a session's past in order, in which some things are told once, by their
// ends, at the place where they began. What follows such a thing is held back until it ends, as far as
// MaxHeld allows. The functions append what can be written to dst, and return it.
type Backlog struct {
	// Now returns the messages about a thing that has not ended, as it is now.
	Now func(key string) []byte
	// Sent is called when the messages about a thing were appended, and may append more; nil: nothing follows.
	Sent func(dst []byte, key string, ended bool) []byte

	queue []*stretch // from the oldest thing that has not ended
	open  map[string]*stretch
	held  int // bytes in the queue
}

// stretch is a part of the past: a thing, or what stands between two of them.
type stretch struct {
	key   string
	lines []byte
	ended bool
}

// Held returns how many bytes are held back.
func (b *Backlog) Held() int { return b.held }

// Open reports whether a thing has begun and not ended.
func (b *Backlog) Open(key string) bool { return b.open[key] != nil }

// Begin gives a thing its place.
func (b *Backlog) Begin(key string) {
	s := &stretch{key: key}
	b.queue = append(b.queue, s)
	if b.open == nil {
		b.open = map[string]*stretch{}
	}
	b.open[key] = s
}

// End ends a thing, with the messages about it, which it does not keep.
func (b *Backlog) End(dst []byte, key string, lines []byte) []byte {
	s := b.open[key]
	if b.queue[0] != s {
		lines = bytes.Clone(lines)
	}
	b.end(s, lines)
	return b.flush(dst)
}

func (b *Backlog) end(s *stretch, lines []byte) {
	delete(b.open, s.key)
	s.lines, s.ended = lines, true
	b.held += len(lines)
}

// Add takes the messages that begin in dst at an index.
func (b *Backlog) Add(dst []byte, at int) []byte {
	n := len(b.queue)
	if n == 0 || at == len(dst) {
		return dst
	}
	lines := dst[at:]
	if last := b.queue[n-1]; last.key == "" {
		last.lines = append(last.lines, lines...)
	} else {
		b.queue = append(b.queue, &stretch{lines: append([]byte(nil), lines...), ended: true})
	}
	b.held += len(lines)
	return b.flush(dst[:at])
}

// flush appends what is behind nothing that has not ended. A thing that holds back too much is told as it
// is now, and not kept any more.
func (b *Backlog) flush(dst []byte) []byte {
	for len(b.queue) > 0 && (b.queue[0].ended || b.held > MaxHeld) {
		dst = b.pop(dst)
	}
	return dst
}

// Settle appends all that is held back.
func (b *Backlog) Settle(dst []byte) []byte {
	for len(b.queue) > 0 {
		dst = b.pop(dst)
	}
	return dst
}

// pop appends the first stretch.
func (b *Backlog) pop(dst []byte) []byte {
	s := b.queue[0]
	ended := s.ended
	if !ended {
		b.end(s, b.Now(s.key))
	}
	b.queue[0] = nil
	b.queue = b.queue[1:]
	b.held -= len(s.lines)
	dst = append(dst, s.lines...)
	if s.key != "" && b.Sent != nil {
		dst = b.Sent(dst, s.key, ended)
	}
	return dst
}
