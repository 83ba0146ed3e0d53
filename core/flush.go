package core

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"dragoman/core/internal/memlog"
)

const (
	// deltaDelay is the time that text waits for more text before it is written.
	deltaDelay = 25 * time.Millisecond
	// syncEvery is the longest time between a write and its sync.
	syncEvery = time.Second
)

// flusher writes a session's log to its store. Its goroutine lives only while there is
// something to write or to sync, and is the only writer. It syncs concurrently with writing,
// so that a slow disk does not delay records that must survive a kill.
type flusher struct {
	token chan struct{} // holds one: look again
	call  atomic.Bool   // set under the lock: the flusher must look, send it the token

	// The session's lock guards the fields below.
	active   bool
	resting  bool      // it waits with nothing to write
	urgent   bool      // something other than text is unwritten
	since    time.Time // when the flusher first saw unwritten records; zero: there are none
	unsynced bool
	syncing  bool
	tried    time.Time // when the last sync began
	unlisted bool      // the session's summary has changed since it was noted
	synced   Pos
	waiting  []waiter
}

// waiter waits until everything before pos is durable.
type waiter struct {
	pos  Pos
	done chan error
}

// kick has the flusher look again, if it was called. It is called without the lock.
func (f *flusher) kick() {
	if !f.call.Swap(false) {
		return
	}
	select {
	case f.token <- struct{}{}:
	default:
	}
}

// startFlushLocked starts the flusher if it does not run. A closed session starts nothing
// more, because close waits for its goroutines.
func (s *Session) startFlushLocked() {
	f := &s.flush
	if s.storeErr != nil || s.epoch == 0 || s.closed && !f.active {
		return
	}
	if f.active {
		if f.resting || s.hurryLocked() {
			f.call.Store(true)
		}
		return
	}
	f.active, f.tried = true, time.Now()
	s.wg.Go(s.flushAll)
}

// durable blocks until everything before pos would survive the loss of power.
func (s *Session) durable(ctx context.Context, pos Pos) error {
	s.mu.Lock()
	if s.storeErr != nil {
		s.mu.Unlock()
		return s.storeErr
	}
	if !s.flush.synced.Before(pos) {
		s.mu.Unlock()
		return nil
	}
	if s.closed && !s.flush.active {
		s.mu.Unlock()
		return ErrClosed
	}
	w := waiter{pos, make(chan error, 1)} // one answer, never waited for
	s.flush.waiting = append(s.flush.waiting, w)
	s.startFlushLocked()
	s.flush.call.Store(true)
	s.mu.Unlock()
	s.flush.kick()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// flushStep is the next step of the flusher.
type flushStep uint8

const (
	flushEnd flushStep = iota
	flushWrite
	flushSync
	flushNote
	flushWait
)

// flushAll writes and syncs until nothing is left to do.
func (s *Session) flushAll() {
	for {
		s.mu.Lock()
		step, wait := s.flushLocked(time.Now())
		var batch []Record
		if step == flushWrite {
			batch = s.log.Unwritten()
			f := &s.flush // what does not fit into this batch is still urgent
			f.urgent = f.urgent && len(batch) > 0 && batch[len(batch)-1].End().Before(s.log.Head())
			f.since = time.Time{}
		}
		sum := s.state.Summary()
		s.mu.Unlock()
		switch step {
		case flushEnd:
			return
		case flushWrite:
			if err := s.journal.Write(context.Background(), batch); err != nil {
				s.storeFailed(err)
				continue
			}
			s.wrote(batch)
		case flushSync:
			s.wg.Go(s.sync)
		case flushNote:
			s.note(sum) // behind the records that it sums up
		case flushWait:
			s.pause(wait)
		}
	}
}

// flushLocked decides the next step. Text may wait a little for more of it.
func (s *Session) flushLocked(now time.Time) (step flushStep, wait time.Duration) {
	f := &s.flush
	if s.storeErr != nil {
		f.active = false
		return flushEnd, 0
	}
	unwritten := s.log.Dirty()
	if unwritten && f.since.IsZero() {
		f.since = now
	}
	switch left := deltaDelay - now.Sub(f.since); {
	case unwritten && (left <= 0 || s.hurryLocked()):
		return flushWrite, 0
	case f.unsynced && !f.syncing && (s.waitedLocked(true) || now.Sub(f.tried) >= syncEvery):
		f.syncing, f.tried = true, now
		return flushSync, 0
	case unwritten:
		return flushWait, left
	case f.unlisted && len(f.waiting) == 0:
		f.unlisted = false
		return flushNote, 0
	case f.syncing:
		f.resting = true
		return flushWait, syncEvery
	case f.unsynced && !s.closed:
		f.resting = true
		return flushWait, syncEvery - now.Sub(f.tried)
	}
	f.active = false
	return flushEnd, 0
}

// hurryLocked reports whether unwritten records should be written at once.
func (s *Session) hurryLocked() bool {
	f := &s.flush
	if f.urgent || s.closed || s.log.Lag() > memlog.Batch {
		return true
	}
	return s.waitedLocked(false)
}

// waitedLocked reports whether a caller waits for records to be durable: for some that are written
// or for some that are not.
func (s *Session) waitedLocked(written bool) bool {
	at := s.log.Written()
	return slices.ContainsFunc(s.flush.waiting, func(w waiter) bool { return at.Before(w.pos) != written })
}

// pause waits for d, or until the flusher is called.
func (s *Session) pause(d time.Duration) {
	timer := time.NewTimer(d)
	select {
	case <-timer.C:
	case <-s.flush.token:
		timer.Stop()
	}
	s.mu.Lock()
	s.flush.resting = false
	s.mu.Unlock()
}

func (s *Session) wrote(batch []Record) {
	s.mu.Lock()
	s.log.Wrote(batch)
	s.flush.unsynced = true
	wake := s.readyLocked(nil)
	s.roomLocked()
	s.mu.Unlock()
	s.wake(wake)
}

// sync makes written records durable and wakes the waiting callers.
func (s *Session) sync() {
	s.mu.Lock()
	upto := s.log.Written()
	s.mu.Unlock()
	if err := s.journal.Sync(context.Background()); err != nil {
		s.storeFailed(err)
		return
	}
	s.mu.Lock()
	f := &s.flush
	f.syncing, f.synced = false, upto
	f.unsynced = upto.Before(s.log.Written())
	rest := f.waiting[:0]
	var done []waiter
	for _, w := range f.waiting {
		if upto.Before(w.pos) {
			rest = append(rest, w)
		} else {
			done = append(done, w)
		}
	}
	f.waiting = rest
	f.call.Store(true)
	s.mu.Unlock()
	for _, w := range done {
		w.done <- nil
	}
	s.flush.kick()
}

// storeFailed ends what depends on the store. What is in memory can still be
// read, so that clients hear why.
func (s *Session) storeFailed(err error) {
	failure := &StoreError{Session: s.meta.ID, Err: err}
	s.mu.Lock()
	if s.storeErr != nil {
		s.mu.Unlock()
		return
	}
	s.storeErr = failure
	s.log.Broken = true
	waiting := s.flush.waiting
	s.flush.waiting = nil
	turn := s.turn
	wake := s.readyLocked(nil)
	s.roomLocked()
	s.flush.call.Store(true)
	s.mu.Unlock()
	s.wake(wake)
	if turn != nil {
		turn.cancel(failure)
	}
	for _, w := range waiting {
		w.done <- failure
	}
}
