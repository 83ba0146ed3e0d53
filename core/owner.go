package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Owner carries out the commands of a session's clients, which [Attachment] describes. A session in this
// process is one for as long as it owns the log. With a [Sharing] a Peer around it sends the commands to
// the process that does.
type Owner interface {
	Meta() Meta
	Attach(*Attachment)
	// Detach takes a client off; leave says that it is done with the session (Attachment.Leave).
	Detach(a *Attachment, leave bool)

	Head() Pos
	// Read is Attachment.Read, or with a signal Attachment.Watch.
	Read(after Pos, signal func(*Reader)) *Reader
	// View calls look with the state, which look must not keep.
	View(look func(*State))
	// Follow reads the stored records after the head, and closes the turn of a dead owner.
	Follow(context.Context) error

	// Admit begins or queues a turn, and watches its context.
	Admit(context.Context, *Attachment, Prompt) (TurnID, error)
	// Steer says something to the turn that runs, and reports whether there is one that takes it.
	Steer(*Attachment, []Block) bool
	// Unsteer withdraws the client's messages that the turn has not taken up.
	Unsteer(*Attachment)
	Cancel(a *Attachment, id TurnID, reason error)
	// Settle is a client's reply to an ask; ErrNotAsked if it does not wait.
	Settle(context.Context, *Attachment, AskID, Reply) error
	// Append puts events into the log that no turn produces, except settings that hold already. It
	// gives a message without an id one, and returns that. idle refuses the events while a turn
	// runs (*BusyError).
	Append(ctx context.Context, a *Attachment, idle bool, events ...Event) (MessageID, error)
	Truncate(ctx context.Context, a *Attachment, after Pos) error

	// Prepare, Choose and Can are those of the Gateway.
	Prepare(context.Context, *Attachment) error
	Choose(ctx context.Context, a *Attachment, id, value string) error
	Can(ctx context.Context, a *Attachment, needs ...Capability) error
}

// local is a session in this process as an Owner.
type local struct{ *Session }

var _ LocalSession = local{}

func (s local) Attach(a *Attachment) {
	s.mu.Lock()
	s.clients[a] = struct{}{}
	s.done = false
	s.stopIdleLocked()
	s.startIdleLocked()
	s.mu.Unlock()
	if s.peer != nil {
		s.watch()
	}
}

// peerChanged notifies the session's Peer.
func (s *Session) peerChanged() {
	if s.peer != nil {
		s.peer.Changed()
	}
}

func (s local) Detach(a *Attachment, leave bool) {
	s.mu.Lock()
	_, here := s.clients[a]
	delete(s.clients, a)
	s.unwatchUnusedLocked()
	var alone []AskID
	for id, p := range s.asks {
		if !s.canAskLocked(p) {
			alone = append(alone, id)
		}
	}
	s.startIdleLocked()
	s.mu.Unlock()
	for _, id := range alone {
		s.resolve(id, a, Reply{Outcome: OutcomeAlone, Text: "the client that could decide has left"})
	}
	if here {
		s.deserted(a)
	}
	if leave {
		s.left()
	}
}

func (s *Session) view(look func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	look(&s.state)
}

func (s local) Admit(ctx context.Context, a *Attachment, p Prompt) (TurnID, error) {
	done, err := s.own(context.WithoutCancel(ctx))
	if err != nil {
		return "", err
	}
	defer done()
	if needs := needsOf(p.all()); len(needs) > 0 {
		set := s.State().Settings
		if p.Settings != nil {
			set = *p.Settings
		}
		if err := s.g.able(ctx, a.client.Profiles, s.Meta().Roots, set, needs...); err != nil {
			return "", err
		}
	}
	turn, head, wake, err := s.enqueue(ctx, a, p)
	s.wake(wake)
	if err != nil || turn == nil {
		return turn.ID(), err
	}
	s.work() // the turn looks at its files meanwhile, and waits for the prompt to be durable before it asks anybody
	err = s.durable(context.WithoutCancel(ctx), head)
	if err != nil {
		turn.cancel(err)
	} else if errors.Is(context.Cause(ctx), ErrCanceled) {
		turn.cancel(ErrCanceled)
	}
	s.startQueued(false)
	s.work()
	return turn.id, err
}

func (s local) Steer(a *Attachment, blocks []Block) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusalLocked() == nil && s.steerLocked(a, a.client.origin(), blocks)
}

func (s *Session) steerLocked(a *Attachment, origin Origin, blocks []Block) bool {
	t := s.turn
	if t == nil || s.expectsSecretLocked(a) || !t.takesLocked(a, blocks) || s.crowdedLocked() != nil {
		return false
	}
	t.steers = append(t.steers, steering{a, Steered{Turn: t.id, Origin: origin, Prompt: blocks}})
	return true
}

func (s local) Unsteer(a *Attachment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.turn; t != nil {
		t.steers = slices.DeleteFunc(t.steers, func(s steering) bool { return s.by == a })
	}
}

func (s local) Cancel(_ *Attachment, id TurnID, reason error) {
	// The last one first: no turn may begin because the one before it has ended.
	for _, t := range slices.Backward(s.turns(id)) {
		t.cancel(reason)
	}
	s.dropQueued()
}

func (s local) Settle(ctx context.Context, a *Attachment, id AskID, r Reply) error {
	if !s.resolve(id, a, r) {
		return ErrNotAsked
	}
	return s.durable(ctx, s.Head())
}

func (s local) Append(ctx context.Context, _ *Attachment, idle bool, events ...Event) (made MessageID, err error) {
	done, err := s.own(context.WithoutCancel(ctx))
	if err != nil {
		return "", err
	}
	defer done()
	s.mu.Lock()
	if err := s.refusalLocked(); err != nil {
		s.mu.Unlock()
		return "", err
	}
	if busy := s.state.Turn; idle && busy != "" {
		s.mu.Unlock()
		return "", &BusyError{busy}
	}
	list := make([]Event, 0, len(events))
	for _, ev := range events {
		if e, ok := ev.(SettingsChanged); ok && e.Settings == s.state.Settings {
			continue
		}
		if e, ok := ev.(Archived); ok && e.Archived == s.state.Archived {
			continue
		}
		if e, ok := ev.(TextDelta); ok && e.Message == "" {
			made = MessageID(s.newIDLocked("m"))
			ev = TextDelta{Message: made, Text: e.Text}
		}
		list = append(list, ev)
	}
	if len(list) == 0 {
		s.mu.Unlock()
		return "", nil
	}
	wake := s.appendLocked(list...)
	head := s.log.Head()
	s.mu.Unlock()
	s.wake(wake)
	return made, s.durable(ctx, head)
}

// maxWaiting limits the number of prompts that wait in a session, and the number of
// those that wait for its turn to take them up.
const maxWaiting = 1024

// crowdedLocked returns an error if no more prompts may wait, else nil.
func (s *Session) crowdedLocked() error {
	if len(s.queue) >= maxWaiting || s.turn != nil && len(s.turn.steers) >= maxWaiting {
		return fmt.Errorf("%d prompts wait in this session: cancel some, or wait for their turns", maxWaiting)
	}
	return nil
}

// enqueue puts a prompt into the log and the queue. turn is nil when the prompt
// needs nothing more; then its id, if any, comes with the error's absence.
func (s *Session) enqueue(ctx context.Context, a *Attachment, p Prompt) (turn *Turn, head Pos, wake []*Reader, err error) {
	canceled := errors.Is(context.Cause(ctx), ErrCanceled)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refusalLocked(); err != nil {
		return nil, Pos{}, nil, err
	}
	if s.closing != nil || s.handing { // its turns have been ended, or it has had its last: this one would be left over
		return nil, Pos{}, nil, ErrClosed
	}
	if id, ok := s.state.keys.Get(p.Key); ok {
		s.adoptLocked(ctx, a, id, p) // its client was not told that the last owner had queued it
		return &Turn{s: s, id: id, cancel: func(error) {}}, s.log.Head(), nil, nil
	}
	secret := s.takeSecretLocked(a, &p)
	var events []Event
	if p.Settings != nil && *p.Settings != s.state.Settings {
		events = append(events, SettingsChanged{Settings: *p.Settings, By: a.client.Name})
	}
	if s.turn != nil && s.turn.begun != nil { // no client has prompted it: it gives way
		events = append(events, s.endBegunLocked()...)
	}
	if s.turn != nil && p.Busy == BusyRefuse {
		return nil, Pos{}, nil, &BusyError{s.turn.id}
	}
	origin := a.client.origin()
	origin.Hops, origin.Approvals = p.Hops, p.Approvals
	if p.Busy == BusySteer && !canceled && s.steerLocked(a, origin, p.Blocks) {
		wake = s.appendLocked(events...)
		return &Turn{s: s, id: s.turn.id, cancel: func(error) {}}, s.log.Head(), wake, nil
	}
	if err := s.crowdedLocked(); err != nil {
		return nil, Pos{}, nil, err
	}
	t := s.newTurnLocked(a, origin, p)
	t.secret = secret
	if s.turn != nil || len(s.queue) > 0 {
		events = append(events, PromptQueued{Turn: t.id, Key: p.Key, Origin: origin, Prompt: p.Blocks})
		if canceled {
			events = append(events, TurnEnded{Turn: t.id, Stop: StopCanceled})
			t.over = true
		} else {
			s.queue = append(s.queue, t)
		}
	} else {
		events = append(events, s.startedLocked(t)...)
		s.turn = t
	}
	wake = s.appendLocked(events...)
	s.stopIdleLocked()
	if !t.over {
		t.watch(ctx)
	}
	return t, s.log.Head(), wake, nil
}
