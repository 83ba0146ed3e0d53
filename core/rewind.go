package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrNoMessage says that a session has no message of that id.
var ErrNoMessage = errors.New("the session has no such message")

// Find returns the position right in front of a message: of a user's, or of the
// agent's. ErrNoMessage if there is none, or a truncation hides it.
func (a *Attachment) Find(ctx context.Context, id MessageID) (Pos, error) {
	return find(ctx, a.owner, id)
}

func find(ctx context.Context, o owner, id MessageID) (Pos, error) {
	for rec, err := range records(ctx, o, Pos{}, o.Head()) {
		if err != nil {
			return Pos{}, err
		}
		if messageOf(rec.Event) == id {
			return Pos{rec.Epoch, rec.Seq, 0}, nil
		}
	}
	return Pos{}, fmt.Errorf("message %s: %w", id, ErrNoMessage)
}

// messageOf is the message that a record begins or belongs to.
func messageOf(ev Event) MessageID {
	switch e := any(ev).(type) {
	case TurnStarted:
		return e.Message
	case Steered:
		return e.Message
	case TextDelta:
		return e.Message
	}
	return ""
}

// Truncate hides the records after a position. It is refused while a turn runs, and blocks
// until it is durable. Marks of the remaining messages are kept.
func (a *Attachment) Truncate(ctx context.Context, after Pos) error {
	_, err := a.Rollback(ctx, after, true, false)
	return err
}

// Rollback reverts the part after a position: the messages (messages), and the changes of
// files by calls there and in their sub-sessions (files). It is refused while a turn runs,
// and blocks until it is durable. The outcome for each file is returned, and recorded as
// Reverted.
func (a *Attachment) Rollback(ctx context.Context, after Pos, messages, files bool) ([]RevertedFile, error) {
	if a.client.Role != Decide {
		return nil, ErrObserver
	}
	return a.owner.rollback(ctx, a.client.Name, after, messages, files)
}

func (s *Session) rollback(ctx context.Context, by string, after Pos, messages, files bool) ([]RevertedFile, error) {
	done, err := s.own(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	defer done()
	st := s.State()
	if st.Turn != "" {
		return nil, &BusyError{st.Turn}
	}
	if messages {
		if err := s.g.able(ctx, s.connection(), s.meta.Roots, st.Settings, CanRewind); err != nil {
			return nil, err
		}
	}
	var changes []Diff
	var workspace Files
	if files {
		if changes, err = s.changesBehind(ctx, after); err != nil {
			return nil, err
		}
	}
	if len(changes) > 0 { // before anything is hidden
		prof, err := s.g.Profile(ctx, s.connection(), s.meta.Roots)
		if err != nil {
			return nil, err
		}
		if workspace = prof.Files; workspace == nil {
			return nil, errors.New("undo changes of files: there are no tools for files here")
		}
	}
	if messages {
		if err := s.truncate(ctx, by, after); err != nil {
			return nil, err
		}
	}
	if len(changes) == 0 {
		return nil, nil
	}
	undone := workspace.Undo(ctx, s.meta, host{s}.Editor(), changes)
	_, err = s.append(context.WithoutCancel(ctx), false, Reverted{Files: undone, By: by})
	return undone, err
}

func (s *Session) truncate(ctx context.Context, by string, after Pos) error {
	marks, err := s.flagsBefore(ctx, by, after)
	if err == nil {
		_, err = s.append(ctx, true, append([]Event{Truncated{After: after, By: by}}, marks...)...)
	}
	if err != nil {
		return err
	}
	return s.refold(ctx)
}

// changesBehind lists the changes of files that calls behind a position made, in
// their order. Only our own tools' count: what another server says that it changed
// is its word, and undoing it would write whatever it likes.
func (s *Session) changesBehind(ctx context.Context, after Pos) (list []Diff, err error) {
	for rec, err := range records(ctx, s, after, s.Head()) {
		if err != nil {
			return list, err
		}
		c, ok := rec.Event.(CallChanged)
		if !ok || !c.Call.State.Ended() {
			continue
		}
		if c.Call.Child != "" {
			inner, err := s.changesOf(ctx, c.Call.Child)
			if err != nil {
				return list, err
			}
			list = append(list, inner...)
		}
		for _, b := range c.Call.Content {
			if d, ok := b.(Diff); ok && c.Call.State == Succeeded && c.Call.Server == Native {
				list = append(list, d)
			}
		}
	}
	return list, nil
}

// changesOf lists those of a sub-session; none if it is no more.
func (s *Session) changesOf(ctx context.Context, id SessionID) ([]Diff, error) {
	child, err := s.g.Open(ctx, s.meta.Principal, id)
	if errors.Is(err, ErrNotFound) || err == nil && child.meta.Parent != s.meta.ID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return child.changesBehind(ctx, Pos{})
}

// Flag marks a message of the session, or takes the mark off (an empty text). It
// blocks until that is durable.
func (a *Attachment) Flag(ctx context.Context, id MessageID, text string) error {
	if _, err := a.Find(ctx, id); err != nil {
		return err
	}
	_, err := a.append(ctx, false, Flagged{Message: id, Text: text, By: a.client.Name})
	return err
}

// Flags lists the current marks.
func (a *Attachment) Flags() (flags map[MessageID]string) {
	a.owner.view(func(s *State) { flags = maps.Clone(s.flags) })
	return flags
}

// flagsBefore lists, as events, the marks of the messages in front of a position.
func (s *Session) flagsBefore(ctx context.Context, by string, upto Pos) (events []Event, err error) {
	var flags map[MessageID]string
	s.view(func(st *State) { flags = maps.Clone(st.flags) })
	for _, id := range slices.Sorted(maps.Keys(flags)) {
		at, err := find(ctx, s, id)
		if err != nil && !errors.Is(err, ErrNoMessage) {
			return nil, err
		}
		if err == nil && at.Before(upto) {
			events = append(events, Flagged{Message: id, Text: flags[id], By: by})
		}
	}
	return events, nil
}

// Can returns an *UnsupportedError if the agent of a client's session lacks a capability.
func (g *Gateway) Can(ctx context.Context, a *Attachment, needs ...Capability) error {
	return g.able(ctx, g.connection(a), a.Meta().Roots, a.State().Settings, needs...)
}

// connection returns the profiles that a client's session goes by.
func (g *Gateway) connection(a *Attachment) Profiles {
	m := a.Meta()
	if s := g.live(sessionKey{m.Principal, m.ID}); s != nil && a.client.Profiles == nil {
		return s.connection()
	}
	return a.client.Profiles
}

// ForkSide opens the conversation of a copy before its first prompt, so that the agent forks its
// current side of the other session: state is its Bound there. A prompt in the meantime waits. If
// that session has another agent by now, ForkSide does nothing.
func (s *Session) ForkSide(ctx context.Context, from *Attachment, state json.RawMessage) error {
	st := from.State()
	prof, err := s.g.Profile(ctx, s.g.connection(from), from.Meta().Roots)
	if err != nil {
		return err
	}
	agent, ok := prof.Agent(st.Settings.Agent)
	if !ok || agent.Name != st.Bound.Agent {
		return nil
	}
	s.mu.Lock()
	if s.working != nil || s.turn != nil || s.closing != nil {
		s.mu.Unlock()
		return errors.New("it was prompted before its agent had its side of it")
	}
	s.working = make(chan struct{}) // the desk is ours
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		close(s.working)
		s.working = nil
		s.startIdleLocked()
		s.mu.Unlock()
		s.work()
	}()
	if err := s.prepareConversation(ctx, agent, st.Settings, state); err != nil {
		return fmt.Errorf("agent %s: %w", agent.Name, err)
	}
	s.desk.keeps = true
	return s.durable(ctx, s.Head())
}

// CopyFrom fills an empty session with the effective log of another one up to a position: with
// the ids of its messages and calls, without what belongs to that one alone. A turn that runs there
// is interrupted in the copy. It blocks until the copy is durable.
func (s *Session) CopyFrom(ctx context.Context, from *Attachment, upto Pos) error {
	done, err := s.own(ctx)
	if err != nil {
		return err
	}
	defer done()
	r := from.Read(Pos{})
	defer r.Close()
	for {
		recs, err := r.Until(ctx, upto)
		if err != nil {
			return err
		}
		var events []Event
		for _, rec := range recs {
			if ev := copyOf(rec, upto); ev != nil {
				events = append(events, ev)
			}
		}
		if err := s.publish(ctx, events...); err != nil {
			return err
		}
		if len(recs) == 0 {
			break
		}
	}
	s.mu.Lock()
	events := s.interruptedLocked("the session was forked here")
	wake := s.appendLocked(events...)
	s.mu.Unlock()
	s.wake(wake)
	return s.durable(ctx, s.Head())
}

// copyOf returns the part of a record that a fork at a position gets; nil: none. Open asks, a back
// end's Bound and prompts that have not started are not copied.
func copyOf(rec Record, upto Pos) Event {
	if at := (Pos{rec.Epoch, rec.Seq, rec.Off}); rec.Seq == 0 || !at.Before(upto) || !is(rec.Event, forked) {
		return nil
	}
	if s, text, ok := runOf(rec.Event); ok && rec.Seq == upto.Seq {
		return s.delta(cutRunes(text, int(min(upto.Off-rec.Off, uint64(len(text))))))
	}
	if e, ok := rec.Event.(TurnStarted); ok {
		e.Key = "" // it was sent to the other session
		return e
	}
	if e, ok := rec.Event.(Missing); ok { // nothing is missing in the copy's own log
		return e.Notice()
	}
	return rec.Event
}
