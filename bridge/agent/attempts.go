package agent

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

// starts is the key of attempts to start the program. Those to open a session have the session's id.
const starts core.SessionID = ""

// attempts delay what has failed, by key. After a failure one makes the next attempt alone: its success
// wakes the others that wait, and after its failure they wait again.
type attempts struct {
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

// outcome is the result of an attempt.
type outcome int

const (
	unknown outcome = iota // it was given up
	worked
	failed
)

// outcomeOf returns the outcome of an attempt that ends with an error. An agent that wants a login works.
func outcomeOf(ctx context.Context, err error) outcome {
	switch {
	case err == nil, errors.As(err, new(*core.SignInError)):
		return worked
	case ctx.Err() != nil, errors.Is(err, errNotNow):
		return unknown
	}
	return failed
}

func newAttempts(now func() time.Time) *attempts {
	return &attempts{now: now, list: map[core.SessionID]*failing{}}
}

// delayed reports whether an attempt would have to wait for one of several keys.
func (a *attempts) delayed(keys ...core.SessionID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(keys, func(key core.SessionID) bool {
		f := a.list[key]
		return f != nil && (f.trying || f.next.After(a.now()))
	})
}

// await waits until an attempt may be made. end takes the outcome of the attempt, and must be called.
func (a *attempts) await(ctx context.Context, key core.SessionID, waits waiting) (end func(outcome), err error) {
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
			return func(o outcome) { a.ended(key, f, o) }, nil
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
			err = fmt.Errorf("%w: the last attempt has failed", errNotNow)
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
func (a *attempts) ended(key core.SessionID, of *failing, o outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.list[key]
	switch {
	case o == worked:
		delete(a.list, key)
	case o == failed && f == nil:
		a.forgetLocked()
		a.list[key] = &failing{fails: 1, next: a.now().Add(firstDelay), changed: make(chan struct{})}
	case o == failed && f == of:
		f.next = a.now().Add(backoff(f.fails))
		f.fails++
	}
	if f != nil && (f == of || o == worked) {
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
func (a *attempts) forgetLocked() {
	for key, f := range a.list {
		if key != starts && !f.trying && a.now().Sub(f.next) > maxDelay {
			delete(a.list, key)
		}
	}
}
