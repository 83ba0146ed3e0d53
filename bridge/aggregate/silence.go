package aggregate

import (
	"sync"
	"time"
)

// silence watches the calls of a server for its signs of life. One timer serves them all: a timer
// of each call's own would wake a thread for each.
type silence struct {
	limit time.Duration // how long a server may give no sign of life; 0: for ever

	mu    sync.Mutex          // guards the fields below
	heard map[*pass]time.Time // the last sign of life, by call
	timer *time.Timer         // nil: it does not run
	ended bool
}

// begin watches a call; a second time does nothing.
func (s *silence) begin(x *pass) {
	if s.limit <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.heard[x]; ok || s.ended {
		return
	}
	if s.heard == nil {
		s.heard = map[*pass]time.Time{}
	}
	s.heard[x] = time.Now()
	if s.timer == nil {
		s.timer = time.AfterFunc(s.limit, s.look)
	}
}

// sign notes a sign of life during a call.
func (s *silence) sign(x *pass) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.heard[x]; ok {
		s.heard[x] = time.Now()
	}
}

// forget ends the watch of a call.
func (s *silence) forget(x *pass) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.heard, x)
}

// look has each call judged that has been silent for too long, and runs the timer up to the next.
func (s *silence) look() {
	now := time.Now()
	var late []*pass
	s.mu.Lock()
	next := s.limit
	for x, at := range s.heard {
		left := s.limit - now.Sub(at)
		if left <= 0 {
			late = append(late, x)
			s.heard[x], left = now, s.limit
		}
		next = min(next, left)
	}
	if len(s.heard) == 0 || s.ended {
		s.timer = nil
	} else {
		s.timer.Reset(next)
	}
	s.mu.Unlock()
	for _, x := range late {
		x.silent()
	}
}

// end watches nothing any more.
func (s *silence) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.heard = true, nil
	if s.timer != nil {
		s.timer.Stop()
	}
}
