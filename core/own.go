package core

import (
	"context"
	"errors"
	"fmt"
)

// own makes this process the session's owner, if it is not, and keeps it that until done is called.
// A turn whose owner has died is closed on the way, and what another process has added is read.
func (s *Session) own(ctx context.Context) (done func(), err error) {
	if err := s.lockOwning(ctx); err != nil {
		return nil, err
	}
	defer func() { <-s.owning }()
	s.mu.Lock()
	owned, err := s.epoch > 0, s.refusalLocked()
	if !owned && s.closing != nil && err == nil {
		err = ErrClosed // the claim would never be given back
	}
	s.mu.Unlock()
	if err == nil && !owned {
		err = s.claim(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.uses++
	s.mended = false
	s.stopIdleLocked()
	s.mu.Unlock()
	return s.used, nil
}

// lockOwning takes the owning token, or returns an error when ctx ends.
func (s *Session) lockOwning(ctx context.Context) error {
	select {
	case s.owning <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// used ends a use that own began.
func (s *Session) used() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uses--; s.uses == 0 {
		s.startIdleLocked()
	}
}

// claim is own of a session that is not ours, with the owning token.
func (s *Session) claim(ctx context.Context) error {
	epoch, err := s.journal.Claim(ctx)
	if err != nil {
		return err
	}
	if err := s.load(ctx); err != nil {
		return errors.Join(err, s.journal.Release())
	}
	s.loadTexts()
	alone := s.peer == nil || s.peer.Alone()
	s.mu.Lock()
	s.resting = false
	s.state.Missing = "" // a log that can be claimed is sound
	s.epoch, s.log.Epoch, s.lastID = epoch, epoch, 0
	s.unwatchLocked()
	closing := s.unshowLocked()
	events := append([]Event{Claimed{Epoch: epoch, Node: s.g.cfg.Node, After: s.log.Head()}}, closing...)
	shared := !alone || s.peer != nil && len(s.clients) > 0
	events = append(events, s.interruptedLocked(ownerDied, shared)...)
	wake := s.appendLocked(events...)
	if shared {
		s.requeueLocked(len(s.clients) > 0) // they were there when its owner ended
	}
	s.mu.Unlock()
	s.wake(wake)
	return nil
}

// rest releases everything that an attached session does not need until its next command: the
// claim with the store's descriptors, the conversation, and the log in memory. If the session is
// busy it tries again after a while.
func (s *Session) rest() {
	select {
	case s.owning <- struct{}{}: // no other goroutine claims it, and no turn can begin
	default:
		s.mu.Lock()
		s.startIdleLocked()
		s.mu.Unlock()
		return
	}
	defer func() { <-s.owning }()
	s.mu.Lock()
	quiet := s.quietLocked()
	s.mu.Unlock()
	quiet = quiet && s.desk.quiet()
	s.mu.Lock()
	if !quiet || !s.quietLocked() {
		s.startIdleLocked()
		s.mu.Unlock()
		return
	}
	owned := s.epoch > 0
	s.epoch, s.resting = 0, true
	s.log.Forget()
	s.mu.Unlock()
	// Nobody waits for this error; the next command will report it.
	_ = s.restDesk(context.Background())
	if owned {
		s.storeTexts()
		_ = s.journal.Release()
	}
	s.watch()
	s.peerChanged()
}

// quietLocked reports whether nothing is under way in the session.
func (s *Session) quietLocked() bool {
	return s.refusalLocked() == nil && s.closing == nil && s.turn == nil && len(s.queue) == 0 && s.working == nil && len(s.asks) == 0 && s.uses == 0 &&
		s.shown == nil && s.flush.Idle() && !s.log.Dirty()
}

// awake waits for the end of a rest that has begun. None begins while a session is being closed.
func (s *Session) awake(ctx context.Context) error {
	err := s.lockOwning(ctx)
	if err == nil {
		<-s.owning
		return nil
	}
	s.mu.Lock()
	s.closing = nil
	s.mu.Unlock()
	return fmt.Errorf("close session %s: %w", s.meta.ID, err)
}
