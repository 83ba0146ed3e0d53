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

func find(ctx context.Context, o Owner, id MessageID) (Pos, error) {
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
	if a.client.Role != Decide {
		return ErrObserver
	}
	return a.owner.Truncate(ctx, a, after)
}

// Reverted records that the client has reverted files, or could not. It blocks until that is durable.
func (a *Attachment) Reverted(ctx context.Context, files []RevertedFile) error {
	_, err := a.append(ctx, false, Reverted{Files: files, By: a.client.Name})
	return err
}

func (s local) Truncate(ctx context.Context, a *Attachment, after Pos) error {
	by := a.client.Name
	done, err := s.own(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer done()
	if err := s.g.able(ctx, s.connection(), s.Meta().Roots, s.State().Settings, CanRewind); err != nil {
		return err
	}
	marks, err := s.flagsBefore(ctx, by, after)
	if err == nil {
		_, err = s.Append(ctx, a, true, append([]Event{Truncated{After: after, By: by}}, marks...)...)
	}
	if err != nil {
		return err
	}
	return s.refold(ctx)
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
	a.owner.View(func(s *State) { flags = maps.Clone(s.flags) })
	return flags
}

// flagsBefore lists, as events, the marks of the messages in front of a position.
func (s *Session) flagsBefore(ctx context.Context, by string, upto Pos) (events []Event, err error) {
	var flags map[MessageID]string
	s.view(func(st *State) { flags = maps.Clone(st.flags) })
	if len(flags) == 0 {
		return nil, nil
	}
	remaining := map[MessageID]bool{}
	for rec, err := range records(ctx, s.front, Pos{}, upto) {
		if err != nil {
			return nil, err
		}
		if (Pos{rec.Epoch, rec.Seq, 0}).Before(upto) { // a batch of records may end behind it
			remaining[messageOf(rec.Event)] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(flags)) {
		if remaining[id] {
			events = append(events, Flagged{Message: id, Text: flags[id], By: by})
		}
	}
	return events, nil
}

// Can returns an *UnsupportedError if the agent of a client's session lacks a capability.
func (g *Gateway) Can(ctx context.Context, a *Attachment, needs ...Capability) error {
	return a.owner.Can(ctx, a, needs...)
}

// Can implements Owner.
func (s local) Can(ctx context.Context, a *Attachment, needs ...Capability) error {
	return s.g.able(ctx, s.g.connection(a), s.Meta().Roots, s.State().Settings, needs...)
}

// ForkSide opens the conversation of a copy before its first prompt, so that the agent forks its
// current side of the other session: state is its Bound there. A prompt in the meantime waits. If
// that session has another agent by now, ForkSide does nothing.
func (s *Session) ForkSide(ctx context.Context, from *Attachment, state json.RawMessage) error {
	st := from.State()
	prof, err := s.g.ProfileOf(ctx, from)
	if err != nil {
		return err
	}
	agent, ok := prof.Agent(st.Settings.Agent)
	if !ok || agent.Name != st.Bound.Agent {
		return nil
	}
	done, err := s.betweenTurns(ctx, func(ctx context.Context) error {
		if err := s.prepareConversation(ctx, agent, st.Settings, state); err != nil {
			return agent.fault(err)
		}
		s.desk.caps.OwnsHistory = true
		return s.durable(ctx, s.Head())
	})
	if err == nil && !done {
		err = errors.New("it was prompted before its agent had its side of it")
	}
	return err
}
