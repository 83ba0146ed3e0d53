package core

import (
	"context"
	"errors"
)

// ownerDied is the reason given for closing a turn that a dead owner has left open.
const ownerDied = "interrupted: the process that ran it has ended"

// interruptedLocked lists the events that close the turn, the calls and the questions that
// were left open, because their process has ended. With continues, the queued prompts stay.
func (s *Session) interruptedLocked(why string, continues bool) []Event {
	return s.closedLocked(Errored, why, TurnEnded{Stop: StopInterrupted, Err: why}, continues)
}

// closedLocked lists the events that close what was left open: calls in a state, turns with an end, and
// the queued prompts unless the session continues.
func (s *Session) closedLocked(calls CallState, why string, end TurnEnded, continues bool) []Event {
	events := s.endCallsLocked(calls, why)
	for _, a := range s.state.Asks {
		events = append(events, Answered{a.ID, Reply{Outcome: OutcomeCanceled, Text: why}})
	}
	if end.Turn = s.state.Turn; end.Turn != "" {
		events = append(events, end)
	}
	for _, q := range s.state.queued {
		if continues {
			break
		}
		end.Turn = q.Turn
		events = append(events, end)
	}
	return events
}

// follow reads the stored records after the head, and closes the turn of a dead owner. ErrClosed: the
// session must be opened again.
func (s *Session) follow(ctx context.Context) error {
	s.mu.Lock()
	refused := s.refusalLocked()
	s.mu.Unlock()
	if errors.Is(refused, ErrClosed) {
		return refused
	}
	if refused != nil { // its next command will return the reason
		return nil
	}
	if err := s.refresh(ctx); err != nil {
		return err
	}
	return s.mend(ctx)
}

// refresh reads what another process has added to a session that this one only views.
func (s *Session) refresh(ctx context.Context) error {
	if err := s.lockOwning(ctx); err != nil {
		return err
	}
	defer func() { <-s.owning }()
	if s.owned() {
		return nil
	}
	err := s.load(ctx)
	s.mu.Lock()
	wake := s.readyLocked(nil)
	s.mu.Unlock()
	s.wake(wake)
	return err
}

// mend closes a turn that a dead process has left open: in the log where that is
// possible, and in memory alone if the log is read-only, so that no client waits for an
// end that cannot come. A session that another process owns is not changed.
func (s *Session) mend(ctx context.Context) error {
	s.mu.Lock()
	open := s.epoch == 0 && s.state.unfinished() && (s.peer == nil || !s.peer.Linked())
	s.mu.Unlock()
	if !open {
		return nil
	}
	done, err := s.own(ctx)
	if err == nil {
		s.mu.Lock()
		s.mended = s.uses == 1
		s.mu.Unlock()
		done()
		return nil
	}
	if owned := (*OwnedError)(nil); errors.As(err, &owned) {
		return nil
	}
	if errors.Is(err, ErrReadOnly) {
		return s.show(ctx, err)
	}
	return err
}

// show closes the log's open turn in memory alone, as the next owner will do in the log. why is
// the reason why the log is read-only.
func (s *Session) show(ctx context.Context, why error) error {
	if err := s.lockOwning(ctx); err != nil {
		return err
	}
	defer func() { <-s.owning }()
	s.mu.Lock()
	if s.epoch == 0 {
		s.showLocked(s.interruptedLocked("interrupted: "+why.Error(), false))
	}
	wake := s.readyLocked(nil)
	s.mu.Unlock()
	s.wake(wake)
	return nil
}

// showLocked puts the events that close a session into memory alone. They have the numbers that
// the next owner's records will have, so that readers are then at the right place.
func (s *Session) showLocked(closing []Event) {
	if len(closing) == 0 {
		return
	}
	s.shown, s.log.Broken = closing, true
	used := s.state.Updated
	for _, ev := range append([]Event{Claimed{Epoch: s.log.Epoch + 1, Node: s.g.cfg.Node, After: s.log.Head()}}, closing...) {
		s.log.Append(ev, used)
		s.state.apply(ev, used)
	}
}

// unshowLocked takes the events of showLocked out of memory again and returns them.
func (s *Session) unshowLocked() (closing []Event) {
	if closing, s.shown = s.shown, nil; closing != nil {
		s.log.Cut()
	}
	return closing
}

// watch watches the store for additions of other processes, while a reader waits and the session
// is not ours.
func (s *Session) watch() {
	s.mu.Lock()
	if s.epoch > 0 || s.unwatch != nil || s.closed || s.closing != nil || !s.awaitedLocked() {
		s.mu.Unlock()
		return
	}
	ctx, stop := context.WithCancel(s.base)
	s.unwatch = stop
	at := s.log.Written()
	s.mu.Unlock()
	s.journal.Watch(ctx, at, s.changed)
}

// awaitedLocked reports whether a reader waits, or a client that has to know who owns the session.
func (s *Session) awaitedLocked() bool {
	return s.peer != nil && len(s.clients) > 0 || s.readers.Waiting()
}

// unwatchUnusedLocked ends the watch of the log if nobody is left who needs it.
func (s *Session) unwatchUnusedLocked() {
	if s.readers.Empty() && (s.peer == nil || len(s.clients) == 0) {
		s.unwatchLocked()
	}
}

func (s *Session) unwatchLocked() {
	if s.unwatch != nil {
		s.unwatch()
		s.unwatch = nil
	}
}

// changed has the session follow its log, in which something may have been added.
func (s *Session) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookLocked(s.unwatch != nil)
}

// lookLocked has the session follow its log, if it does so at all.
func (s *Session) lookLocked(does bool) {
	if s.news = does && s.closing == nil && !s.leaving; s.news && !s.following {
		s.following = true
		s.wg.Go(s.followAll)
	}
}

// followAll follows the log until nothing is new.
func (s *Session) followAll() {
	for {
		s.mu.Lock()
		news := s.news
		s.news, s.following = false, news
		if !news {
			s.startIdleLocked() // the records that were read need not stay in memory
		}
		s.mu.Unlock()
		if !news {
			return
		}
		// Nobody waits for another error; the next command will report it.
		if errors.Is(s.follow(s.base), ErrNotFound) {
			s.deleted()
		}
	}
}
