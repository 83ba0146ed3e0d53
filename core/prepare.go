package core

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"dragoman/core/internal/choices"
)

// Prepare opens the conversation with a session's agent, if that is an external one which has
// not been asked yet, so that its options are known before the first prompt. It blocks until the
// agent has answered. While a turn runs it does nothing.
func (g *Gateway) Prepare(ctx context.Context, a *Attachment) error {
	if a.client.Role != Decide {
		return nil
	}
	return a.owner.Prepare(ctx, a)
}

// Prepare implements Owner.
func (s local) Prepare(ctx context.Context, a *Attachment) error {
	prof, err := s.g.Profile(ctx, a.client.Profiles, s.Meta().Roots)
	if err != nil {
		return err
	}
	for {
		st := s.State()
		agent, ok := prof.Agent(st.Settings.Agent)
		open := s.back.Load()
		if !ok || !agent.External || st.Turn != "" || st.Offered.Agent == agent.Name || open != nil && open.Key == agent.revision() {
			return nil
		}
		s.mu.Lock()
		if s.of == nil {
			s.of = a.client.Profiles
		}
		s.mu.Unlock()
		if done, err := s.prepareBetween(ctx, prof, agent, st.Settings); done || err != nil {
			return err
		}
		if err := s.quiet(ctx); err != nil { // another client has it prepared, or a turn is about to end
			return err
		}
	}
}

// prepareBetween opens the tools and the conversation between two turns. done is false where there
// is a turn, which does that.
func (s *Session) prepareBetween(ctx context.Context, prof *Profile, agent Agent, set Settings) (done bool, err error) {
	done, err = s.betweenTurns(ctx, func(ctx context.Context) error {
		if err := s.prepareTools(ctx, prof); err != nil {
			return err
		}
		if err := s.awaitServers(ctx); err != nil {
			return err
		}
		if err := s.prepareConversation(ctx, agent, set, nil); err != nil {
			return err
		}
		_, _ = s.learn(ctx) // its error is the next turn's
		return nil
	})
	if err != nil {
		err = agent.fault(err)
	}
	return done, err
}

// betweenTurns calls f in place of the goroutine that runs turns; a prompt in the meantime waits.
// done is false where that goroutine is at work or is about to be, and f is not called. The context
// of f ends when the session is closed.
func (s *Session) betweenTurns(ctx context.Context, f func(context.Context) error) (done bool, err error) {
	used, err := s.own(ctx)
	if err != nil {
		return false, err
	}
	defer used()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.mu.Lock()
	if s.turn != nil || s.working != nil || s.closing != nil {
		if s.closing != nil {
			err = ErrClosed
		}
		s.mu.Unlock()
		return false, err
	}
	s.working, s.preparing = make(chan struct{}), stop
	s.mu.Unlock()
	defer func() {
		if p := recover(); p != nil { // of the back end
			err = fmt.Errorf("internal error: %v", p)
		}
		s.mu.Lock()
		close(s.working)
		s.working, s.preparing = nil, nil
		s.mu.Unlock()
		s.work() // a prompt may have come meanwhile
	}()
	if err = f(ctx); err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return true, err
}

// prepareWait limits the time for which Prepare waits for the servers of the session's tools.
const prepareWait = 5 * time.Second

// awaitServers waits for servers that are starting, because some agents list tools only when they
// are opened.
func (s *Session) awaitServers(ctx context.Context) error {
	brief, enough := context.WithTimeout(ctx, prepareWait)
	defer enough()
	awaitAll(brief, starters(s.desk.tools.Sets()), false)
	return s.desk.tools.Refresh(ctx)
}

// pin has the log say up to where other agents with sides of their own have heard the session. With an
// external agent that the session uses only as the default one it stays: the agent's own session is a
// part of it.
func (s *Session) pin(ctx context.Context, agent Agent) error {
	st := s.State()
	s.mu.Lock()
	at := s.log.Head()
	if s.turn != nil { // its prompt is not theirs
		at = s.turn.start
	}
	left := s.state.sides.Left(agent.Name, at)
	s.mu.Unlock()
	var events []Event
	for _, side := range left {
		events = append(events, Bound(side))
	}
	if len(left) > 0 && !agent.External && st.Messages > 1 {
		events = append(events, Notice{Severity: Info, Text: "Agent " + agent.Name + " answers now. What was said before goes to the provider of its model."})
	}
	if agent.External && st.Settings.Agent == "" {
		st.Settings.Agent, s.desk.set.Agent = agent.Name, agent.Name
		events = append(events, SettingsChanged{Settings: st.Settings})
	}
	return s.publish(ctx, events...)
}

// fill imports the history of a session that was made from one of an agent's own, if that has not
// been done.
func (s *Session) fill(ctx context.Context) error {
	name := s.meta.From.Agent
	filled := func() (is bool) {
		s.view(func(st *State) { is = name == "" || st.Messages > 0 || len(st.sides) > 0 || st.Turn != "" })
		return is
	}
	if filled() {
		return nil
	}
	prof, err := s.g.Profile(ctx, nil, s.Meta().Roots)
	if err != nil {
		return err
	}
	agent, ok := prof.Agent(name)
	if !ok || !agent.External {
		return fmt.Errorf("open session %s: it is one of agent %s, which is not configured any more", s.meta.ID, name)
	}
	done, err := s.own(ctx)
	if owned := (*OwnedError)(nil); errors.As(err, &owned) {
		return nil // that process imports it
	}
	if err != nil {
		return err
	}
	defer done()
	if filled() { // by another process, before it was ours
		return nil
	}
	set := s.State().Settings
	if set.Agent = name; set != s.State().Settings {
		if err := s.publish(ctx, SettingsChanged{Settings: set}); err != nil {
			return err
		}
	}
	_, err = s.prepareBetween(ctx, prof, agent, set)
	return err
}

// Choose sets an option that the session's external agent has offered. It blocks until the agent
// has agreed and that is durable. If the agent does not run, it is told when it does.
func (g *Gateway) Choose(ctx context.Context, a *Attachment, id, value string) error {
	if a.client.Role != Decide {
		return ErrObserver
	}
	st := a.State()
	if err := choices.Check(st.Offered.Agent, st.Offered.Choices, id, value); err != nil {
		return err
	}
	return a.owner.Choose(ctx, a, id, value)
}

// Choose implements Owner.
func (s local) Choose(ctx context.Context, a *Attachment, id, value string) error {
	done, err := s.own(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer done()
	st := s.State()
	if conv := s.talk.Load(); conv != nil {
		if c, ok := (*conv).(Chooser); ok {
			if err := c.Choose(ctx, id, value); err != nil {
				return fmt.Errorf("set option %s of agent %s: %w", id, st.Offered.Agent, err)
			}
		}
	}
	now := s.State()
	now.Settings.Choices = now.Settings.Choices.With(id, value)
	events := []Event{SettingsChanged{Settings: now.Settings, By: a.client.Name}}
	if reflect.DeepEqual(now.Offered, st.Offered) { // the agent has not said so itself
		now.Offered.Choices = choices.Set(now.Offered.Choices, id, value)
		events = append(events, now.Offered)
	}
	_, err = s.Append(ctx, a, false, events...)
	return err
}

// Choice returns an option by its id; nil: there is none.
func (o Offered) Choice(id string) *Choice { return choices.Find(o.Choices, id) }
