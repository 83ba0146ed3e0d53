package core

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Request describes a call that a back end is about to run itself.
type Request struct {
	Call Call // as it was proposed
	// Spec is the tool that rules judge it as: for a command line our own shell_command, whatever
	// the back end calls its tool. Access is what it would touch.
	Spec   Spec
	Access []Access
	// Options are the answers that the back end offers; nil: our own. An empty list refuses.
	Options []Option
}

// Authorize is for calls that the back end runs itself. The call is left Running, or ends as
// Rejected. Without a turn one begins (Begin), and a call that the log does not have is proposed.
// The reply names one of the options if a person has chosen it. A rule's is AllowOnce or RejectOnce.
// The error of a turn that ends meanwhile is ErrOver, unless it was stopped.
func (h host) Authorize(ctx context.Context, r Request) (Reply, error) {
	s, no := h.s, Reply{Outcome: OutcomeDecided, Decision: RejectOnce}
	t, c, err := h.propose(ctx, r.Call)
	if err != nil {
		return no, err
	}
	prof, err := s.rules(ctx)
	if err != nil {
		return no, err
	}
	reply := ruled(false, "rejected: the agent offers no answer")
	if r.Options == nil || len(r.Options) > 0 {
		if reply, err = t.authorize(ctx, c, Check{Spec: r.Spec, Access: r.Access, Origin: t.origin}, prof, &r); err != nil {
			return no, err
		}
	}
	c.Why = reply.Why
	if !reply.Decision.Allows() {
		c.State, c.End = Rejected, s.now()
		return reply, t.Emit(ctx, CallChanged{c})
	}
	c.State, c.Start = Running, s.now()
	if err := t.Emit(ctx, CallChanged{c}); err != nil {
		return no, err
	}
	return reply, s.durable(ctx, s.Head())
}

// propose returns the running turn, or begins one, and a call as it is proposed there.
func (h host) propose(ctx context.Context, c Call) (*Turn, Call, error) {
	for {
		h.s.mu.Lock()
		t, was := h.s.turn, h.s.state.calls[c.ID].State
		h.s.mu.Unlock()
		if t == nil {
			if _, err := h.Begin(ctx, Origin{}); err != nil && !errors.As(err, new(*BusyError)) {
				return nil, c, err
			}
			continue
		}
		c.Turn, c.State = t.id, Proposed
		switch was {
		case Proposed:
			return t, c, nil
		case "":
			if err := t.Emit(ctx, CallChanged{c}); !errors.Is(err, ErrOver) {
				return t, c, err
			}
		case Awaiting, Running, Succeeded, Errored, Rejected, Canceled:
			return nil, c, fmt.Errorf("authorize call %s: it is %s already", c.ID, was)
		}
	}
}

// Publish appends what belongs to no turn.
func (h host) Publish(ctx context.Context, events ...Event) error {
	for _, ev := range events {
		if !is(ev, byHost) {
			return fmt.Errorf("publish %T: it belongs into a turn", ev)
		}
	}
	done, err := h.s.own(ctx)
	if err != nil {
		return err
	}
	defer done()
	return h.s.publish(ctx, events...)
}

// begunIdle is the longest silence of a turn that no client has prompted.
const begunIdle = time.Second

// Begin starts a turn that no client here has prompted; a *BusyError if one runs. The origin of
// the zero value is that of the turn before.
func (h host) Begin(ctx context.Context, o Origin) (*Turn, error) {
	s := h.s
	done, err := s.own(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	s.mu.Lock()
	if err := s.refusalLocked(); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	if s.closing != nil { // nobody would end it
		s.mu.Unlock()
		return nil, ErrClosed
	}
	if s.turn != nil {
		defer s.mu.Unlock()
		return nil, &BusyError{s.turn.id}
	}
	if o == (Origin{}) {
		o = s.state.origin
	}
	t := s.newTurnLocked(nil, o, Prompt{})
	t.set = s.state.Settings
	t.active = time.Now()
	t.begun = time.AfterFunc(begunIdle, func() { s.endBegun(t) })
	t.unwatch = context.AfterFunc(t.ctx, func() { s.endBegun(t) }) // it was stopped
	s.turn = t
	s.appendUnlock(s.startedLocked(t)...)
	return t, nil
}

// endBegun ends a turn of Begin that has been idle or was stopped. While a person is asked or a call
// runs, it is not idle.
func (s *Session) endBegun(t *Turn) {
	s.mu.Lock()
	if s.turn != t {
		s.mu.Unlock()
		return
	}
	stopped := s.closing != nil || t.ctx.Err() != nil
	if len(s.asks) > 0 || len(s.state.calls) > 0 {
		t.active = time.Now()
	}
	if left := begunIdle - time.Since(t.active); left > 0 && !stopped {
		t.begun.Reset(left)
		s.mu.Unlock()
		return
	}
	events := s.endBegunLocked()
	s.startIdleLocked()
	s.appendUnlock(events...)
}

// endBegunLocked lists the events that end the turn of Begin.
func (s *Session) endBegunLocked() []Event {
	t := s.turn
	t.begun.Stop()
	events := s.endLocked(t, StopEnd, nil)
	t.unwatch()
	t.cancel(nil)
	return events
}

// ErrHistory is the error of an import into a session that is in use.
var ErrHistory = errors.New("it has a history of its own")

// Import implements Host.
func (h host) Import(ctx context.Context, history iter.Seq2[Event, error]) error {
	return h.s.Import(ctx, history, "it had not ended when it was imported")
}

// Import fills a session that has no history yet. A turn that it leaves open ends, as usual, and why
// is the reason for cancelling the open calls. It blocks until that is durable. Of a history that fails,
// nothing stays.
func (s *Session) Import(ctx context.Context, history iter.Seq2[Event, error], why string) error {
	done, err := s.own(ctx)
	if err != nil {
		return err
	}
	defer done()
	s.mu.Lock()
	used, start := s.state.Messages > 0 || s.turn != nil, s.log.Head()
	s.mu.Unlock()
	if used {
		return fmt.Errorf("import into session %s: %w", s.meta.ID, ErrHistory)
	}
	for ev, err := range history {
		if err == nil {
			err = s.publish(ctx, ev)
		}
		if err != nil { // the next import begins anew
			s.mu.Lock()
			s.appendUnlock(Truncated{After: start})
			return errors.Join(err, s.refold(context.WithoutCancel(ctx)))
		}
	}
	s.mu.Lock()
	s.appendUnlock(s.closedLocked(Canceled, why, TurnEnded{Stop: StopEnd}, false)...)
	return s.durable(ctx, s.Head())
}
