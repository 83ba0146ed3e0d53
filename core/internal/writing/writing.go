// Package writing decides when the records of a log are written to its store and made durable.
package writing

import (
	"slices"
	"time"
)

const (
	// delay is the time that text waits for more text before it is written.
	delay = 25 * time.Millisecond
	// syncEvery is the longest time between a write and its sync.
	syncEvery = time.Second
)

// Step is the next step of a writer.
type Step uint8

const (
	End   Step = iota // nothing is left to do
	Write             // write the next records
	Sync              // have another goroutine sync
	Note              // note the session's summary
	Wait              // wait, for a time at most
)

// Log is what a plan has to know about a log whose positions are P.
type Log[P any] struct {
	Written P    // the position behind the last written record
	Dirty   bool // something is unwritten
	Full    bool // and so much that it must not wait
	Closed  bool // nothing waits any more
	Broken  bool // nothing can be written any more
}

// Plan is the state of writing a log. It is written by one goroutine, which is active while there
// is something to do. All methods need the lock that guards the log.
type Plan[P interface{ Before(other P) bool }] struct {
	Urgent   bool // something other than text is unwritten
	Unlisted bool // the session's summary has changed since it was noted

	active   bool
	resting  bool      // it waits with nothing to write
	since    time.Time // when unwritten records were first seen; zero: there are none
	unsynced bool
	syncing  bool
	tried    time.Time // when the last sync began
	synced   P
	waiting  []waiter[P]
}

// waiter waits until everything before pos is durable.
type waiter[P any] struct {
	pos  P
	done chan error
}

// Start reports whether the goroutine has to be started; call, whether it has to look again.
func (p *Plan[P]) Start(l Log[P], now time.Time) (start, call bool) {
	switch {
	case p.active:
		return false, p.resting || p.hurry(l)
	case l.Closed:
		return false, false
	}
	p.active, p.tried = true, now
	return true, false
}

// Active reports whether the goroutine runs.
func (p *Plan[P]) Active() bool { return p.active }

// Idle reports whether nothing is under way, nor waited for.
func (p *Plan[P]) Idle() bool { return !p.active && !p.syncing && len(p.waiting) == 0 }

// Durable reports whether everything before a position would survive the loss of power.
func (p *Plan[P]) Durable(pos P) bool { return !p.synced.Before(pos) }

// Await returns a channel that gets the one result of waiting for a position. It need not be read.
func (p *Plan[P]) Await(pos P) <-chan error {
	w := waiter[P]{pos, make(chan error, 1)}
	p.waiting = append(p.waiting, w)
	return w.done
}

// Next decides the next step. Text may wait a little for more of it.
func (p *Plan[P]) Next(l Log[P], now time.Time) (step Step, wait time.Duration) {
	if l.Broken {
		p.active = false
		return End, 0
	}
	if l.Dirty && p.since.IsZero() {
		p.since = now
	}
	switch left := delay - now.Sub(p.since); {
	case l.Dirty && (left <= 0 || p.hurry(l)):
		return Write, 0
	case p.unsynced && !p.syncing && (p.waited(l, true) || now.Sub(p.tried) >= syncEvery):
		p.syncing, p.tried = true, now
		return Sync, 0
	case l.Dirty:
		return Wait, left
	case p.Unlisted && len(p.waiting) == 0:
		p.Unlisted = false
		return Note, 0
	case p.syncing:
		p.resting = true
		return Wait, syncEvery
	case p.unsynced && !l.Closed:
		p.resting = true
		return Wait, syncEvery - now.Sub(p.tried)
	}
	p.active = false
	return End, 0
}

// Take says that records are about to be written: all of them, or some.
func (p *Plan[P]) Take(all bool) {
	p.Urgent = p.Urgent && !all
	p.since = time.Time{}
}

// Wrote says that records were written.
func (p *Plan[P]) Wrote() { p.unsynced = true }

// Woke says that a Wait is over.
func (p *Plan[P]) Woke() { p.resting = false }

// Synced says that everything before a position is durable, and returns who waited for that.
func (p *Plan[P]) Synced(l Log[P], upto P) (done []chan error) {
	p.syncing, p.synced = false, upto
	p.unsynced = upto.Before(l.Written)
	p.waiting = slices.DeleteFunc(p.waiting, func(w waiter[P]) bool {
		if upto.Before(w.pos) {
			return false
		}
		done = append(done, w.done)
		return true
	})
	return done
}

// Fail returns who waits: nothing will be durable any more.
func (p *Plan[P]) Fail() (waiting []chan error) {
	for _, w := range p.waiting {
		waiting = append(waiting, w.done)
	}
	p.waiting = nil
	return waiting
}

// hurry reports whether unwritten records should be written at once.
func (p *Plan[P]) hurry(l Log[P]) bool {
	return p.Urgent || l.Closed || l.Full || p.waited(l, false)
}

// waited reports whether somebody waits for records to be durable: for some that are written, or
// for some that are not.
func (p *Plan[P]) waited(l Log[P], written bool) bool {
	return slices.ContainsFunc(p.waiting, func(w waiter[P]) bool { return l.Written.Before(w.pos) != written })
}
