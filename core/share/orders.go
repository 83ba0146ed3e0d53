package share

import (
	"context"
	"errors"
	"reflect"

	"dragoman/core"
)

// Admit implements core.Owner.
func (s *session) Admit(ctx context.Context, a *core.Attachment, p core.Prompt) (id core.TurnID, err error) {
	if p.Key == "" {
		p.Key = newKey()
	}
	running := a.State().Turn
	o := orderOf(a)
	o.Prompt, o.Was = promptOf(p), settingsOf(a)
	is, err := s.command(ctx, a, patience, func() (err error) {
		s.catchUpAlone(ctx, o)
		p.Settings = o.Prompt.Settings
		id, err = s.LocalSession.Admit(ctx, a, p)
		return err
	}, o)
	if is.Turn == "" || err != nil {
		return id, err
	}
	if p.Busy != core.BusySteer || is.Turn != running { // else it has become a part of that turn
		s.follows(ctx, a, is.Turn, p)
	}
	return is.Turn, nil
}

// follows cancels the turn of a prompt in another process when the prompt's context ends.
func (s *session) follows(ctx context.Context, a *core.Attachment, id core.TurnID, p core.Prompt) {
	is := &sent{by: a, prompt: p, ctx: ctx}
	is.stop = context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); errors.Is(cause, core.ErrCanceled) || errors.Is(cause, core.ErrClientGone) {
			s.Cancel(a, id, cause)
		}
	})
	s.mu.Lock()
	s.sent[id] = is
	s.mu.Unlock()
	s.tidy()
}

// Steer implements core.Owner.
func (s *session) Steer(a *core.Attachment, list []core.Block) (took bool) {
	o := orderOf(a)
	o.Steer = (*blocks)(&list)
	is, err := s.command(context.Background(), a, patience, func() error {
		took = s.LocalSession.Steer(a, list)
		return nil
	}, o)
	return err == nil && (took || is.Took)
}

// Unsteer implements core.Owner.
func (s *session) Unsteer(a *core.Attachment) {
	o := orderOf(a)
	o.Unsteer = true
	// Without an answer the turn has ended with its process, and the messages with it.
	_, _ = s.command(context.Background(), a, patience, func() error {
		s.LocalSession.Unsteer(a)
		return nil
	}, o)
}

// Cancel implements core.Owner.
func (s *session) Cancel(a *core.Attachment, id core.TurnID, reason error) {
	o := orderOf(a)
	o.Cancel = &cancel{Turn: id, Gone: errors.Is(reason, core.ErrClientGone)}
	if !o.Cancel.Gone && !errors.Is(reason, core.ErrCanceled) {
		o.Cancel.Reason = reason.Error()
	}
	// Without an answer the turn has ended with its process.
	_, _ = s.command(context.Background(), a, patience, func() error {
		s.LocalSession.Cancel(a, id, reason)
		return nil
	}, o)
}

// elsewhere returns a *core.OwnedError if another process owns the session and can be reached.
func (s *session) elsewhere() error {
	if s.Owned() {
		return nil
	}
	if at := s.Address(); at != "" {
		return &core.OwnedError{Session: s.key.id, Node: nodeAt(at), Address: at}
	}
	return nil
}

// Settle implements core.Owner.
func (s *session) Settle(ctx context.Context, a *core.Attachment, id core.AskID, r core.Reply) error {
	o := orderOf(a)
	o.Settle = &settle{id, r}
	_, err := s.command(ctx, a, patience, func() error {
		return s.LocalSession.Settle(ctx, a, id, r)
	}, o)
	return err
}

// Append implements core.Owner.
func (s *session) Append(ctx context.Context, a *core.Attachment, idle bool, events ...core.Event) (id core.MessageID, err error) {
	o := orderOf(a)
	o.Append, o.Was = &additions{Idle: idle}, settingsOf(a)
	for _, ev := range events {
		o.Append.Events = append(o.Append.Events, event{ev})
	}
	is, err := s.command(ctx, a, patience, func() (err error) {
		s.catchUpAlone(ctx, o)
		for i, e := range o.Append.Events {
			events[i] = e.Event
		}
		id, err = s.LocalSession.Append(ctx, a, idle, events...)
		return err
	}, o)
	return id + is.Message, err // one of them is empty
}

// Truncate implements core.Owner.
func (s *session) Truncate(ctx context.Context, a *core.Attachment, after core.Pos) error {
	o := orderOf(a)
	o.Truncate = &after
	_, err := s.command(ctx, a, patience, func() error { return s.LocalSession.Truncate(ctx, a, after) }, o)
	return err
}

// Prepare implements core.Owner.
func (s *session) Prepare(ctx context.Context, a *core.Attachment) error {
	o := orderOf(a)
	o.Prepare = true
	_, err := s.command(ctx, a, startFor, func() error { return s.LocalSession.Prepare(ctx, a) }, o)
	return err
}

// Choose implements core.Owner.
func (s *session) Choose(ctx context.Context, a *core.Attachment, id, value string) error {
	o := orderOf(a)
	o.Choose = &choice{id, value}
	_, err := s.command(ctx, a, startFor, func() error { return s.LocalSession.Choose(ctx, a, id, value) }, o)
	return err
}

// Can implements core.Owner.
func (s *session) Can(ctx context.Context, a *core.Attachment, needs ...core.Capability) error {
	o := orderOf(a)
	o.Can = needs
	_, err := s.command(ctx, a, startFor, func() error {
		return s.LocalSession.Can(ctx, a, needs...)
	}, o)
	return err
}

// recorded reports whether the log behind a position shows that an order was carried out whose answer
// was lost. A prompt that is sent again is found there by its key.
func (s *session) recorded(ctx context.Context, a *core.Attachment, o *order, from core.Pos) bool {
	if o.Settle == nil && o.Append == nil && o.Truncate == nil {
		return false
	}
	_ = s.Follow(ctx) // the log is read as far as possible
	var open []core.Event
	if o.Append != nil {
		for _, e := range o.Append.Events {
			open = append(open, e.Event)
		}
	}
	for rec, err := range a.Records(ctx, from, s.Head()) {
		if err != nil {
			return false
		}
		switch e := any(rec.Event).(type) {
		case core.Answered:
			if o.Settle != nil && e.Ask == o.Settle.Ask && e.Reply.By == o.Settle.Reply.By && e.Reply.Decision == o.Settle.Reply.Decision {
				return true
			}
		case core.Truncated:
			if o.Truncate != nil && e.After == *o.Truncate && e.By == a.Client().Name {
				return true
			}
		}
		if len(open) > 0 && matches(rec.Event, open[0]) {
			if open = open[1:]; len(open) == 0 {
				return true
			}
		}
	}
	return false
}

// matches reports whether a logged event is one that was to be appended.
func matches(logged, wanted core.Event) bool {
	said, ok := wanted.(core.TextDelta)
	if is, said2 := logged.(core.TextDelta); ok && said2 && said.Message == "" {
		return is.Text == said.Text
	}
	return reflect.DeepEqual(logged, wanted)
}

func settingsOf(a *core.Attachment) *core.Settings {
	set := a.State().Settings
	return &set
}

// catchUpAlone reads what the last owner has written, before this process becomes the owner to carry out an
// order, which is then based on that.
func (s *session) catchUpAlone(ctx context.Context, o *order) {
	if !s.Owned() {
		_ = s.Follow(ctx) // the claim reports that the log cannot be read
	}
	s.rebase(o)
}

// rebase has an order change only the settings that it was to change: another client may have set the others
// meanwhile.
func (s *session) rebase(o *order) {
	if o.Was == nil {
		return
	}
	var now core.Settings
	s.View(func(st *core.State) { now = st.Settings })
	if o.Prompt != nil && o.Prompt.Settings != nil {
		set := changed(*o.Was, *o.Prompt.Settings, now)
		o.Prompt.Settings = &set
	}
	if o.Append != nil {
		for i, e := range o.Append.Events {
			if e, ok := e.Event.(core.SettingsChanged); ok {
				e.Settings = changed(*o.Was, e.Settings, now)
				o.Append.Events[i] = event{e}
			}
		}
	}
	o.Was = &now
}

// changed returns settings with the changes from was to wanted.
func changed(was, wanted, now core.Settings) core.Settings {
	return core.Settings{
		Agent: either(was.Agent, wanted.Agent, now.Agent), Model: either(was.Model, wanted.Model, now.Model),
		Effort: either(was.Effort, wanted.Effort, now.Effort), Trust: either(was.Trust, wanted.Trust, now.Trust),
		Choices: either(was.Choices, wanted.Choices, now.Choices),
	}
}

func either[T comparable](was, wanted, now T) T {
	if wanted == was {
		return now
	}
	return wanted
}

// promptOf returns a prompt as a message.
func promptOf(p core.Prompt) *prompt {
	is := &prompt{Blocks: p.Blocks, Busy: p.Busy, Key: p.Key, Hops: p.Hops, Approvals: p.Approvals, Settings: p.Settings, Unattended: p.Unattended, NeedsServers: p.NeedsServers}
	if p.Context != nil {
		is.Context = &view{p.Context.Standing, p.Context.Passing}
	}
	return is
}

// of returns the prompt of a message.
func (p *prompt) of() core.Prompt {
	is := core.Prompt{Blocks: p.Blocks, Busy: p.Busy, Key: p.Key, Hops: p.Hops, Approvals: p.Approvals, Settings: p.Settings, Unattended: p.Unattended, NeedsServers: p.NeedsServers}
	if p.Context != nil {
		is.Context = &core.Context{Standing: p.Context.Standing, Passing: p.Context.Passing}
	}
	return is
}
