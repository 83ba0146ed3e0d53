package core

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// idleAfter is the time after which an unused session is closed, or rests where a client holds it.
const idleAfter = time.Minute

// idleMended is that time after a session was claimed only to close the turn of a dead owner, who
// may come back. It is enough to store that.
const idleMended = 3 * time.Second

// usable reports whether the session takes commands, and keeps it open for
// another while if it does.
func (s *Session) usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusalLocked() != nil {
		return false
	}
	s.done = false
	s.stopIdleLocked()
	s.startIdleLocked()
	return true
}

// startIdleLocked starts the clock after which a session that is not in use is given back, or
// rests if clients hold it.
func (s *Session) startIdleLocked() {
	if s.closing != nil || s.idle != nil || s.turn != nil || len(s.queue) > 0 || s.uses > 0 || s.resting && len(s.clients) > 0 {
		return
	}
	s.idles++
	n, after := s.idles, idleAfter
	if s.mended {
		after = idleMended
	}
	if s.done {
		after = 0
	}
	s.idle = time.AfterFunc(after, func() { s.giveBack(n) })
}

func (s *Session) stopIdleLocked() {
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
}

// giveBack closes a session that has not been used since it was armed for the
// n-th time, or has it rest.
func (s *Session) giveBack(n int) {
	s.mu.Lock()
	if s.idle != nil && s.idles == n && len(s.clients) > 0 {
		s.idle = nil
		s.mu.Unlock()
		s.rest()
		return
	}
	used := s.idle == nil || s.idles != n
	if talk := s.talk.Load(); !used && !s.done && talk != nil && s.working == nil {
		if r, ok := (*talk).(Rester); ok {
			s.mu.Unlock()
			rests := r.Rest()
			s.mu.Lock()
			if used = s.idle == nil || s.idles != n; !used && !rests {
				s.idle, used = nil, true
				s.startIdleLocked()
			}
		}
	}
	s.leaving = s.leaving || !used
	s.mu.Unlock()
	if used {
		return
	}
	// No client is left for the error; a failure shows when the session is opened again.
	_ = s.close(context.Background(), ErrClosed)
	s.g.drop(s)
}

// left gives the session back at once if no client is attached (Attachment.Leave).
func (s *Session) left() {
	s.mu.Lock()
	s.done = len(s.clients) == 0
	working := s.working
	if !s.done || s.turn != nil {
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	if working != nil {
		<-working // the last turn has ended, and no other one is queued
	}
	s.mu.Lock()
	idle, n := s.idle != nil, s.idles
	s.mu.Unlock()
	if idle {
		s.giveBack(n)
	}
}

// close ends the session in a fixed order: its turns, the conversation and the
// tools, the log, the claim. It blocks until that is done or ctx ends; then it has
// not ended, and another one may try again.
func (s *Session) close(ctx context.Context, cause error) error {
	s.mu.Lock()
	for s.closing != nil {
		done := s.closing
		s.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("close session %s: %w", s.meta.ID, context.Cause(ctx))
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil
		}
	}
	done := make(chan struct{})
	defer close(done)
	s.closing = done
	s.handing = errors.Is(cause, ErrShutdown) && s.sharedLocked()
	s.stopIdleLocked()
	begun := s.turn
	s.mu.Unlock()
	if err := s.awake(ctx); err != nil {
		return err
	}
	if begun != nil && begun.begun != nil {
		s.endBegun(begun)
	}
	s.endTurns(cause)
	s.work() // a turn that has begun, and waits for the disk, ends like one that runs
	if err := s.quiet(ctx); err != nil {
		s.mu.Lock()
		s.closing = nil
		s.mu.Unlock()
		return fmt.Errorf("close session %s: %w", s.meta.ID, err)
	}
	err := s.closeDesk(ctx)
	if s.owned() {
		err = errors.Join(err, s.durable(ctx, s.Head()))
	}
	s.mu.Lock()
	s.closed = true
	wake := s.readyLocked(nil)
	s.readers.Close()
	s.mu.Unlock()
	s.end(cause)
	s.wake(wake)
	s.wg.Wait()
	if s.owned() {
		s.storeTexts()
		err = errors.Join(err, s.journal.Release())
	}
	if s.peer != nil { // the others can claim it now
		s.peer.End()
	}
	return errors.Join(err, s.journal.Close())
}

func (s *Session) owned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch > 0
}

// endTurns cancels the running and the queued turns, unless another process goes on with those.
func (s *Session) endTurns(cause error) {
	s.mu.Lock()
	stop, running, handing := s.preparing, s.turn, s.handing
	s.mu.Unlock()
	for _, t := range s.turns("") {
		if !handing || t == running {
			t.cancel(cause)
		}
	}
	if stop != nil {
		stop(cause)
	}
	s.dropQueued()
}

// quiet waits until no turn runs.
func (s *Session) quiet(ctx context.Context) error {
	s.mu.Lock()
	working := s.working
	s.mu.Unlock()
	if working == nil {
		return nil
	}
	select {
	case <-working:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
