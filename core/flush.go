package core

import (
	"context"
	"time"
)

const (
	// deltaDelay is the longest that text waits to be written.
	deltaDelay = 25 * time.Millisecond
	// syncEvery is the longest that what was written waits to be durable.
	syncEvery = time.Second
)

// flusher takes a session's log to its store. Its goroutine lives only while
// there is something to write or to sync; nobody else writes.
type flusher struct {
	token chan struct{} // holds one: look again

	// The session's lock guards the fields below.
	active   bool
	urgent   bool // something other than text is unwritten
	unsynced bool
	unlisted bool // the session's summary has changed since it was noted
	synced   Pos
	waiting  []waiter
}

// waiter waits until everything before pos is durable.
type waiter struct {
	pos  Pos
	done chan error
}

func (f *flusher) kick() {
	select {
	case f.token <- struct{}{}:
	default:
	}
}

// startFlushLocked sees to it that somebody writes what was appended.
func (s *Session) startFlushLocked() {
	if s.flush.active || s.storeErr != nil || s.epoch == 0 {
		return
	}
	s.flush.active = true
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
	w := waiter{pos, make(chan error, 1)} // one answer, never waited for
	s.flush.waiting = append(s.flush.waiting, w)
	s.startFlushLocked()
	s.mu.Unlock()
	s.flush.kick()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// flushAll writes and syncs until nothing is left to do.
func (s *Session) flushAll() {
	lastSync := time.Now()
	waited := false
	for {
		s.mu.Lock()
		f := &s.flush
		batch := s.log.unwritten(nil)
		must := s.hurryLocked()
		if len(batch) == 0 && len(f.waiting) == 0 && f.unlisted {
			f.unlisted = false
			sum := s.state.Summary()
			s.mu.Unlock()
			s.note(sum) // behind the records that it sums up
			continue
		}
		if len(batch) == 0 && len(f.waiting) == 0 && (!f.unsynced || s.closed) {
			f.active = false
			s.mu.Unlock()
			return
		}
		if n := len(batch); n > 0 { // what does not fit into this batch is still urgent
			f.urgent = f.urgent && batch[n-1].End().Before(s.log.head())
		}
		s.mu.Unlock()

		switch {
		case len(batch) > 0 && !must && !waited:
			s.pause(deltaDelay)
			waited = true
			continue
		case len(batch) > 0:
			waited = false
			if err := s.journal.Write(context.Background(), batch); err != nil {
				s.storeFailed(err)
				return
			}
			s.wrote(batch)
		}
		switch due := time.Since(lastSync) >= syncEvery; {
		case due || s.wanted():
			if err := s.sync(); err != nil {
				s.storeFailed(err)
				return
			}
			lastSync = time.Now()
		case len(batch) == 0:
			s.pause(syncEvery - time.Since(lastSync))
		}
	}
}

// hurryLocked reports whether what is unwritten should be written at once.
func (s *Session) hurryLocked() bool {
	return s.flush.urgent || len(s.flush.waiting) > 0 || s.closed || s.log.total-min(s.log.wroteSum, s.log.total) > batchBytes
}

// pause waits for d, or until there is something urgent.
func (s *Session) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-s.flush.token:
			s.mu.Lock()
			must := s.hurryLocked()
			s.mu.Unlock()
			if must {
				return
			}
		}
	}
}

func (s *Session) wrote(batch []Record) {
	s.mu.Lock()
	s.log.wrote(batch)
	s.flush.unsynced = true
	wake := s.readyLocked(nil)
	s.roomLocked()
	s.mu.Unlock()
	for _, r := range wake {
		r.signal()
	}
}

// wanted reports whether somebody waits for what is written to be durable.
func (s *Session) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.flush.waiting) > 0
}

func (s *Session) sync() error {
	s.mu.Lock()
	upto := Pos{s.log.epoch, s.log.written, s.log.runOff}
	s.mu.Unlock()
	if err := s.journal.Sync(context.Background()); err != nil {
		return err
	}
	s.mu.Lock()
	f := &s.flush
	f.synced = upto
	f.unsynced = Pos{s.log.epoch, s.log.written, s.log.runOff} != upto
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
	s.mu.Unlock()
	for _, w := range done {
		w.done <- nil
	}
	return nil
}

// storeFailed ends what depends on the store. What is in memory can still be
// read, so that clients hear why.
func (s *Session) storeFailed(err error) {
	failure := &StoreError{Session: s.meta.ID, Err: err}
	s.mu.Lock()
	s.storeErr = failure
	s.log.broken = true
	s.flush.active = false
	waiting := s.flush.waiting
	s.flush.waiting = nil
	turn := s.turn
	wake := s.readyLocked(nil)
	s.roomLocked()
	s.mu.Unlock()
	if turn != nil {
		turn.cancel(failure)
	}
	for _, w := range waiting {
		w.done <- failure
	}
	for _, r := range wake {
		r.signal()
	}
}
