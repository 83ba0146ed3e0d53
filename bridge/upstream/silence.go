package upstream

import (
	"sync"
	"time"
)

// Silence watches requests to one server for its signs of life. While a question of the server's is
// with a person no time passes, and after the answer the server has all of its time again. One timer
// serves all requests: a timer of each request's own would wake a thread for each. The zero value is
// ready for use.
type Silence struct {
	mu     sync.Mutex // guards the fields below
	open   map[Watched]watch
	asking int         // questions that are with a person
	timer  *time.Timer // nil: there was no request yet
	due    time.Time   // when the timer ends; zero: it does not run
	closed bool
}

// Watched is a request that a Silence watches. Silent is called, in a goroutine of its own, when the
// server has given no sign of life for too long; the request is not watched any more.
type Watched interface{ Silent() }

// watch is the state of a request.
type watch struct {
	limit time.Duration
	heard time.Time // the last sign of life
}

// Begin watches a request, unless it is watched already. limit is how long the server may give no
// sign of life; 0: for ever.
func (s *Silence) Begin(x Watched, limit time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[x]; ok || s.closed || limit <= 0 {
		return
	}
	if s.open == nil {
		s.open = map[Watched]watch{}
	}
	now := time.Now()
	s.open[x] = watch{limit, now}
	if s.due.IsZero() || now.Add(limit).Before(s.due) {
		s.wakeLocked(now, limit)
	}
}

// Sign notes a sign of life during a request.
func (s *Silence) Sign(x Watched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.open[x]; ok {
		s.open[x] = watch{w.limit, time.Now()}
	}
}

// End ends the watch of a request.
func (s *Silence) End(x Watched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, x)
}

// Ask notes that a question of the server's is with a person; Answered must follow. It returns false
// if most questions are there already.
func (s *Silence) Ask(most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking >= most {
		return false
	}
	s.asking++
	return true
}

// Answered notes that a question is with a person no more.
func (s *Silence) Answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking--; s.asking > 0 {
		return
	}
	now := time.Now()
	for x, w := range s.open {
		s.open[x] = watch{w.limit, now}
	}
}

// Close ends all watches. No other begins.
func (s *Silence) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.open = true, nil
	if s.timer != nil {
		s.timer.Stop()
	}
}

// look gives up a request that has waited for too long, if there is one.
func (s *Silence) look() {
	if x := s.overdue(); x != nil {
		x.Silent()
	}
}

// overdue removes a request that has waited for too long and returns it; nil: there is none. It sets
// the timer for the next, at once if another one is overdue: Silent may block.
func (s *Silence) overdue() (late Watched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now() // under the lock: a sign that comes before it counts
	next := time.Duration(0)
	for x, w := range s.open {
		left := w.limit
		if s.asking == 0 {
			left -= now.Sub(w.heard)
		}
		if left <= 0 && late == nil {
			late = x
			delete(s.open, x)
		} else if next == 0 || left < next {
			next = max(left, 1)
		}
	}
	s.due = time.Time{}
	if next > 0 {
		s.wakeLocked(now, next)
	}
	return late
}

// wakeLocked has look called after d.
func (s *Silence) wakeLocked(now time.Time, d time.Duration) {
	s.due = now.Add(d)
	if s.timer == nil {
		s.timer = time.AfterFunc(d, s.look)
		return
	}
	s.timer.Reset(d)
}
