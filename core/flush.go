package core

import (
	"context"
	"time"

	"dragoman/core/internal/memlog"
	"dragoman/core/internal/stack"
	"dragoman/core/internal/writing"
)

// flusher writes a session's log to its store. Its goroutine lives only while there is
// something to write or to sync, and is the only writer. It syncs concurrently with writing,
// so that a slow disk does not delay records that must survive a kill.
type flusher struct {
	writing.Bell
	writing.Plan[Pos] // the session's lock guards it
}

// writingLocked returns what the flusher has to know about the log.
func (s *Session) writingLocked() writing.Log[Pos] {
	return writing.Log[Pos]{
		Written: s.log.Written(), Dirty: s.log.Dirty(), Full: s.log.Lag() > memlog.Batch, Closed: s.closed, Broken: s.storeErr != nil,
	}
}

// startFlushLocked starts the flusher if it does not run. A closed session starts nothing
// more, because close waits for its goroutines.
func (s *Session) startFlushLocked() {
	if s.storeErr != nil || s.epoch == 0 {
		return
	}
	start, call := s.flush.Start(s.writingLocked(), time.Now())
	if call {
		s.flush.Call()
	}
	if start {
		s.wg.Go(s.flushAll)
	}
}

// durable blocks until everything before pos would survive the loss of power.
func (s *Session) durable(ctx context.Context, pos Pos) error { return s.syncing(pos)(ctx) }

// syncing has everything before pos synced, and returns a function that waits for it.
func (s *Session) syncing(pos Pos) (await func(context.Context) error) {
	s.mu.Lock()
	err, over := s.storeErr, s.flush.Durable(pos)
	if err == nil && !over && s.closed && !s.flush.Active() {
		err = ErrClosed
	}
	if err != nil || over {
		s.mu.Unlock()
		return func(context.Context) error { return err }
	}
	done := s.flush.Await(pos)
	s.startFlushLocked()
	s.flush.Call()
	s.mu.Unlock()
	s.flush.Ring()
	return func(ctx context.Context) error {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// flushAll writes and syncs until nothing is left to do.
func (s *Session) flushAll() {
	stack.Grow8()
	for {
		s.mu.Lock()
		step, wait := s.flush.Next(s.writingLocked(), time.Now())
		var batch []Record
		if step == writing.Write {
			batch = s.log.Unwritten()
			s.flush.Take(len(batch) == 0 || !batch[len(batch)-1].End().Before(s.log.Head()))
		}
		sum := s.state.Summary()
		s.mu.Unlock()
		switch step {
		case writing.End:
			return
		case writing.Write:
			if err := s.journal.Write(context.Background(), batch); err != nil {
				s.storeFailed(err)
				continue
			}
			s.wrote(batch)
		case writing.Sync:
			s.wg.Go(s.sync)
		case writing.Note:
			s.note(sum) // behind the records that it sums up
		case writing.Wait:
			s.flush.Wait(wait)
			s.mu.Lock()
			s.flush.Woke()
			s.mu.Unlock()
		}
	}
}

func (s *Session) wrote(batch []Record) {
	s.mu.Lock()
	s.log.Wrote(batch)
	s.flush.Wrote()
	wake := s.readyLocked(nil)
	s.readers.Moved()
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
	done := s.flush.Synced(s.writingLocked(), upto)
	s.flush.Call()
	s.mu.Unlock()
	for _, c := range done {
		c <- nil
	}
	s.flush.Ring()
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
	waiting := s.flush.Fail()
	turn := s.turn
	wake := s.readyLocked(nil)
	s.readers.Moved()
	s.flush.Call()
	s.mu.Unlock()
	s.wake(wake)
	if turn != nil {
		turn.cancel(failure)
	}
	for _, c := range waiting {
		c <- failure
	}
}
