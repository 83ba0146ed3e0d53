// Package readers keeps track of those who read a log, and says when its writers have to wait for them.
package readers

import "time"

const (
	// far is the distance, in bytes, of the fastest reader at which a turn stops reading its
	// model. Text that a client has not read when the user stops the turn is still sent: the
	// Emacs client reads some 1 MB/s, so 8 MiB would take ten seconds.
	far = 1 << 20
	// stalled is after how long a reader that takes nothing no longer counts.
	stalled = time.Minute
	// Look is the longest time for which a writer waits for room before it looks whether a reader
	// has stalled meanwhile.
	Look = stalled / 12
)

// Progress is that of one reader of a log whose positions are P.
type Progress[P any] struct {
	Done   P         // what it has handled
	Taken  uint64    // how much of the log's total it has, in bytes
	Asked  time.Time // when it looked last
	Ready  bool      // it was told that there may be something to read, and has not found nothing since
	Closed bool      // it gets what memory holds, and no more
}

// Set holds the readers R of a log. The zero value is empty and ready to use. All methods need the
// lock that guards the log, and so does the Progress of each reader.
type Set[R comparable, P interface{ Before(other P) bool }] struct {
	all  map[R]*Progress[P]
	room chan struct{} // closed by Moved; nil: nobody waits
}

// Add adds a reader that has nothing of what is in memory, and is about to look.
func (s *Set[R, P]) Add(r R, p *Progress[P], now time.Time, dropped uint64) {
	p.Ready, p.Asked, p.Taken = true, now, dropped
	if s.all == nil {
		s.all = map[R]*Progress[P]{}
	}
	s.all[r] = p
}

// Remove takes a reader off.
func (s *Set[R, P]) Remove(r R) {
	delete(s.all, r)
	s.Moved()
}

// Empty reports whether there is no reader.
func (s *Set[R, P]) Empty() bool { return len(s.all) == 0 }

// Close closes all readers.
func (s *Set[R, P]) Close() {
	for _, p := range s.all {
		p.Closed = true
	}
	s.Moved()
}

// Wake marks the readers that wait, and appends them to a list.
func (s *Set[R, P]) Wake(list []R) []R {
	for r, p := range s.all {
		if !p.Ready {
			p.Ready = true
			list = append(list, r)
		}
	}
	return list
}

// Waiting reports whether a reader waits.
func (s *Set[R, P]) Waiting() bool {
	for _, p := range s.all {
		if !p.Ready {
			return true
		}
	}
	return false
}

// Behind reports whether a reader has not handled everything in front of a position.
func (s *Set[R, P]) Behind(upto P) bool {
	for _, p := range s.all {
		if p.Done.Before(upto) {
			return true
		}
	}
	return false
}

// Lagging reports whether the store, or every reader that counts, is far behind. The fastest reader
// decides. total is the size of all that was ever written, and unstored of what the store lacks.
func (s *Set[R, P]) Lagging(total, unstored uint64, now func() time.Time) bool {
	if unstored > far {
		return true
	}
	if len(s.all) == 0 || total < far {
		return false
	}
	at, counted := now(), false
	for _, p := range s.all {
		if at.Sub(p.Asked) > stalled {
			continue
		}
		counted = true
		if total-min(p.Taken, total) <= far {
			return false
		}
	}
	return counted
}

// Room returns a channel that is closed when a reader or the store makes progress.
func (s *Set[R, P]) Room() <-chan struct{} {
	if s.room == nil {
		s.room = make(chan struct{})
	}
	return s.room
}

// Moved says that a reader or the store has made progress: those who wait for room look again.
func (s *Set[R, P]) Moved() {
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
}
