// Package silence notices that a server gives no sign of life for too long.
package silence

import (
	"sync"
	"time"
)

// Watch watches requests to one server for its signs of life. While a question of the server's is
// with a person no time passes, and after the answer the server has all of its time again. One timer
// serves all requests: a timer of each request's own would wake a thread for each. The zero value is
// ready for use.
type Watch struct {
	mu     sync.Mutex // guards the fields below
	open   map[Request]request
	asking int         // questions that are with a person
	timer  *time.Timer // nil: there was no request yet
	due    time.Time   // when the timer ends; zero: it does not run
	closed bool
}

// Request is a request that a Watch watches. Silent is called, in a goroutine of its own, when the
// server has given no sign of life for too long; the request is not watched any more.
type Request interface{ Silent() }

// request is the state of a request that is watched.
type request struct {
	limit time.Duration
	heard time.Time // the last sign of life
}

// Begin watches a request, unless it is watched already. limit is how long the server may give no
// sign of life; 0: for ever.
func (w *Watch) Begin(x Request, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.open[x]; ok || w.closed || limit <= 0 {
		return
	}
	if w.open == nil {
		w.open = map[Request]request{}
	}
	now := time.Now()
	w.open[x] = request{limit, now}
	if w.due.IsZero() || now.Add(limit).Before(w.due) {
		w.wakeLocked(now, limit)
	}
}

// Sign notes a sign of life during a request.
func (w *Watch) Sign(x Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, ok := w.open[x]; ok {
		w.open[x] = request{r.limit, time.Now()}
	}
}

// End ends the watch of a request.
func (w *Watch) End(x Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, x)
}

// Ask notes that a question of the server's is with a person; Answered must follow. It returns false
// if most questions are there already.
func (w *Watch) Ask(most int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asking >= most {
		return false
	}
	w.asking++
	return true
}

// Answered notes that a question is with a person no more.
func (w *Watch) Answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asking--; w.asking > 0 {
		return
	}
	now := time.Now()
	for x, r := range w.open {
		w.open[x] = request{r.limit, now}
	}
}

// Close ends all watches. No other begins.
func (w *Watch) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.open = true, nil
	if w.timer != nil {
		w.timer.Stop()
	}
}

// look gives up a request that has waited for too long, if there is one.
func (w *Watch) look() {
	if x := w.overdue(); x != nil {
		x.Silent()
	}
}

// overdue removes a request that has waited for too long and returns it; nil: there is none. It sets
// the timer for the next, at once if another one is overdue: Silent may block.
func (w *Watch) overdue() (late Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now() // under the lock: a sign that comes before it counts
	next := time.Duration(0)
	for x, r := range w.open {
		left := r.limit
		if w.asking == 0 {
			left -= now.Sub(r.heard)
		}
		if left <= 0 && late == nil {
			late = x
			delete(w.open, x)
		} else if next == 0 || left < next {
			next = max(left, 1)
		}
	}
	w.due = time.Time{}
	if next > 0 {
		w.wakeLocked(now, next)
	}
	return late
}

// wakeLocked has look called after d.
func (w *Watch) wakeLocked(now time.Time, d time.Duration) {
	w.due = now.Add(d)
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.look)
		return
	}
	w.timer.Reset(d)
}
