package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"dragoman/core"
)

const (
	// firstDelay is the time between a failed attempt and the next one. It doubles to maxDelay.
	firstDelay = time.Second
	maxDelay   = 5 * time.Minute
)

// Starts is the key of attempts to start the program. Those to open a session have the session's id.
const Starts core.SessionID = ""

// Attempts delay what has failed, by key. After a failure one makes the next attempt alone: its success
// wakes the others that wait, and after its failure they wait again.
type Attempts struct {
	now func() time.Time

	mu   sync.Mutex // guards the field below, and those of its values
	list map[core.SessionID]*failing
}

// failing is something whose last attempt has failed.
type failing struct {
	fails   int           // one after the other
	next    time.Time     // of the next attempt
	trying  bool          // it is under way
	changed chan struct{} // closed when it has ended
}

// Outcome is the result of an attempt.
type Outcome int

const (
	Unknown Outcome = iota // it was given up
	Worked
	Failed
)

// OutcomeOf returns the outcome of an attempt that ends with an error. An agent that wants a login works.
func OutcomeOf(ctx context.Context, err error) Outcome {
	switch {
	case err == nil, errors.As(err, new(*core.SignInError)):
		return Worked
	case ctx.Err() != nil, errors.Is(err, ErrNotNow):
		return Unknown
	}
	return Failed
}

// NewAttempts returns attempts of which none has failed.
func NewAttempts(now func() time.Time) *Attempts {
	return &Attempts{now: now, list: map[core.SessionID]*failing{}}
}

// Delayed reports whether an attempt would have to wait for one of several keys.
func (a *Attempts) Delayed(keys ...core.SessionID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(keys, func(key core.SessionID) bool {
		f := a.list[key]
		return f != nil && (f.trying || f.next.After(a.now()))
	})
}

// Await waits until an attempt may be made. end takes the outcome of the attempt, and must be called.
func (a *Attempts) Await(ctx context.Context, key core.SessionID, waits Waiting) (end func(Outcome), err error) {
	for {
		a.mu.Lock()
		f, wait := a.list[key], time.Duration(0)
		if f != nil {
			wait = max(f.next.Sub(a.now()), 0)
		}
		if f == nil || wait == 0 && !f.trying {
			if f != nil {
				f.trying = true
			}
			a.mu.Unlock()
			return func(o Outcome) { a.ended(key, f, o) }, nil
		}
		changed, trying := f.changed, f.trying
		a.mu.Unlock()
		enough := waits("", wait)
		timer := time.NewTimer(wait)
		due := timer.C
		if trying {
			due = nil
		}
		select {
		case <-due:
		case <-changed:
		case <-enough:
			err = fmt.Errorf("%w: the last attempt has failed", ErrNotNow)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		timer.Stop()
		if err != nil {
			return nil, err
		}
	}
}

// ended notes the outcome of an attempt. of is what had failed when it began; nil: nothing had. Of several
// attempts at once that fail, one counts.
func (a *Attempts) ended(key core.SessionID, of *failing, o Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.list[key]
	switch {
	case o == Worked:
		delete(a.list, key)
	case o == Failed && f == nil:
		a.forgetLocked()
		a.list[key] = &failing{fails: 1, next: a.now().Add(firstDelay), changed: make(chan struct{})}
	case o == Failed && f == of:
		f.next = a.now().Add(backoff(f.fails))
		f.fails++
	}
	if f != nil && (f == of || o == Worked) {
		f.trying = false
		close(f.changed)
		f.changed = make(chan struct{})
	}
}

// backoff returns the delay after a number of failures and one more.
func backoff(fails int) time.Duration {
	if fails < 9 { // 256 s
		return min(firstDelay<<fails, maxDelay)
	}
	return maxDelay
}

// forgetLocked drops sessions that nobody has tried to open for long.
func (a *Attempts) forgetLocked() {
	for key, f := range a.list {
		if key != Starts && !f.trying && a.now().Sub(f.next) > maxDelay {
			delete(a.list, key)
		}
	}
}
