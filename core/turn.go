package core

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"dragoman/core/internal/capability"
	"dragoman/core/internal/given"
	"dragoman/core/internal/stack"
)

// Turn is one prompt being answered, as the back end that answers it sees it.
// Its methods may be called by any goroutine until Run returns.
type Turn struct {
	s       *Session
	id      TurnID
	by      *Attachment // nil: no client here prompted it
	origin  Origin
	prompt  Prompt
	message MessageID
	start   Pos             // right in front of TurnStarted
	ctx     context.Context //nolint:containedctx // the turn's life; handed to Run, and to nothing else
	cancel  context.CancelCauseFunc
	tools   *toolsets
	set     Settings
	command CommandResult                // the summary that the prompt asks for, if any
	secret  func(context.Context) string // answers a message that is a secret; nil: it is an ordinary one
	begun   *time.Timer                  // of a turn that no client prompted: ends it when it is idle

	// look ends the turn if the prompt was taken back through its context; nil: it
	// has no prompt. It is set before the turn can begin.
	look func()

	// The session's lock guards the fields below.
	unwatch func() bool // stops watching the prompt's context
	profile *Profile    // as of the turn's last look; nil: it has not looked yet
	caps    BackendCaps // of its back end; the zero value until the turn reaches it
	steers  []steering  // said to the turn, and not taken up
	later   []Ask       // questions that the next message answers
	orphan  bool        // it was queued in a process that has ended, and its client has not come back
	over    bool
	active  time.Time // when something was emitted or answered last
}

// steering is something that was said to a turn, and who said it.
type steering struct {
	by   *Attachment
	said Steered
}

// ID names the turn; a nil Turn has none.
func (t *Turn) ID() TurnID {
	if t == nil {
		return ""
	}
	return t.id
}

// Meta returns the session's metadata.
func (t *Turn) Meta() Meta { return t.s.Meta() }

// System returns the system prompt of the client that prompted; nil: it has none.
func (t *Turn) System() *SystemPrompt {
	if t.by == nil {
		return nil
	}
	return t.by.client.System
}

// Context ends with the turn, with the reason as its cause if the turn is stopped.
func (t *Turn) Context() context.Context { return t.ctx }

// Begun reports whether no client prompted the turn (Host.Begin).
func (t *Turn) Begun() bool { return t.begun != nil }

// Prompt returns the user's message. The text of a command replaces the command.
func (t *Turn) Prompt() []Block { return t.prompt.Blocks }

// Message returns the id of the user's message; empty for a turn that no client prompted.
func (t *Turn) Message() MessageID { return t.message }

// State returns the current state of the session.
func (t *Turn) State() State { return t.s.State() }

// Origin describes who prompted.
func (t *Turn) Origin() Origin { return t.origin }

// Settings are those that the turn began with.
func (t *Turn) Settings() Settings { return t.set }

// Profile returns the profile as of the turn's last look.
func (t *Turn) Profile() *Profile {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.profile
}

// agent is the one that answers the turn.
func (t *Turn) agent() (Agent, error) {
	a, ok := t.Profile().Agent(t.set.Agent)
	if !ok {
		return a, fmt.Errorf("there is no agent %q; choose another one", t.set.Agent)
	}
	return a, nil
}

// NewMessage makes a message's id.
func (t *Turn) NewMessage() MessageID { return MessageID(t.s.newID("m")) }

// NewThought makes a thought's id.
func (t *Turn) NewThought() ThoughtID { return ThoughtID(t.s.newID("h")) }

// NewCall makes a call's id.
func (t *Turn) NewCall() CallID { return CallID(t.s.newID("c")) }

// Ask puts a question to the user and blocks until it is settled, as Host.Ask does.
func (t *Turn) Ask(ctx context.Context, a Ask) (Reply, error) { return host{t.s}.Ask(ctx, a) }

// Later lists the questions that were settled as OutcomeLater. The back end says them and then
// ends the turn: the user's next message answers them.
func (t *Turn) Later() []Ask {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return slices.Clone(t.later)
}

// Set changes the session's settings, as the user requested with the turn's prompt. The turn
// itself keeps the settings of its beginning.
func (t *Turn) Set(ctx context.Context, set Settings) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return t.s.publish(ctx, SettingsChanged{Settings: set, By: t.origin.Client})
}

// takesLocked reports whether the turn accepts a client's message while it runs.
func (t *Turn) takesLocked(a *Attachment, blocks []Block) bool {
	return t.caps.Steer && capability.Check("", t.caps, needsOf(blocks)) == nil && (t.by == nil || t.by.client.Profiles == a.client.Profiles)
}

// Steered takes up the messages to the turn since the last call, and logs them at this point.
func (t *Turn) Steered() []Steered {
	s := t.s
	s.mu.Lock()
	if len(t.steers) == 0 {
		s.mu.Unlock()
		return nil
	}
	list, events := make([]Steered, len(t.steers)), make([]Event, len(t.steers))
	for i, st := range t.steers {
		list[i] = st.said
		list[i].Message = MessageID(s.newIDLocked("m"))
		events[i] = list[i]
	}
	t.steers = nil
	s.appendUnlock(events...)
	return list
}

// Emit appends events of the turn. It blocks while every client is far behind. An error means
// that the turn must end: it was stopped, or its session cannot be stored. ErrOver: it has ended. A
// change that the call's state does not allow is refused.
func (t *Turn) Emit(ctx context.Context, events ...Event) error {
	for _, ev := range events {
		if !is(ev, byTurn) {
			return fmt.Errorf("emit %T: it is not a turn's to make", ev)
		}
	}
	return t.s.publishIf(ctx, func() error { return t.fitLocked(events) }, events...)
}

// fitLocked refuses events that come too late: after the turn's end, or a call's.
func (t *Turn) fitLocked(events []Event) error {
	if t.over {
		return ErrOver
	}
	if cause := context.Cause(t.ctx); cause != nil {
		return cause
	}
	for _, ev := range events {
		e, ok := ev.(CallChanged)
		if was := t.s.state.calls[e.Call.ID].State; ok && !was.To(e.Call.State) {
			return fmt.Errorf("call %s: it cannot go from %q to %q", e.Call.ID, was, e.Call.State)
		}
	}
	t.active = time.Now()
	return nil
}

// Records yields the session's effective log after a position, up to its end at the time of
// the call: hidden records are left out, runs may come in pieces. It waits until the store has
// written them, not until they are durable.
func (t *Turn) Records(ctx context.Context, after Pos) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for rec, err := range records(ctx, t.s.front, after, t.s.Head()) {
			if (rec.Seq > 0 || err != nil) && !yield(rec, err) {
				return
			}
		}
	}
}

// Head is the position of a reader that has everything.
func (s *Session) Head() Pos {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Head()
}

// newTurnLocked returns a turn that has not started.
func (s *Session) newTurnLocked(a *Attachment, origin Origin, p Prompt) *Turn {
	t := &Turn{s: s, id: TurnID(s.newIDLocked("t")), by: a, origin: origin, prompt: p}
	t.ctx, t.cancel = context.WithCancelCause(s.base)
	return t
}

// watch ends the turn when the prompt is taken back through its context.
func (t *Turn) watch(ctx context.Context) {
	t.look = func() {
		if cause := context.Cause(ctx); errors.Is(cause, ErrCanceled) || errors.Is(cause, ErrClientGone) {
			t.cancel(cause)
			t.s.dropQueued()
		}
	}
	t.unwatch = context.AfterFunc(ctx, t.look)
}

// startedLocked lists the events that begin a turn. The profiles of the client that has prompted it
// are the session's from here on.
func (s *Session) startedLocked(t *Turn) []Event {
	t.message, t.start = MessageID(s.newIDLocked("m")), s.log.Head()
	if s.by = t.by; t.by != nil { // for the turn, and what comes after it
		s.of = t.by.client.Profiles
	} else if t.orphan {
		s.of = nil
	}
	var standing, passing []Block
	if c := t.prompt.Context; c != nil {
		standing, passing = given.News(&s.state.given, c.Standing, c.Passing, slotOf)
		t.prompt.Blocks = slices.Concat(t.prompt.Blocks, passing)
	}
	events := []Event{TurnStarted{
		Turn: t.id, Message: t.message, Key: t.prompt.Key, Origin: t.origin,
		Prompt: t.prompt.Blocks, Passing: len(passing), Standing: standing,
	}}
	if !t.isCommand() && t.secret == nil {
		events = append(events, s.titledLocked(t.prompt.Blocks)...)
	}
	return events
}

// titledLocked lists the event that gives the session a title by a prompt, if the session has none.
func (s *Session) titledLocked(prompt []Block) []Event {
	title := titleOf(prompt)
	if s.state.Title != "" || title == "" {
		return nil
	}
	return []Event{TitleChanged{Title: title, Auto: true}}
}

// turns lists the turn of that id; the zero id: those that run or are queued now.
func (s *Session) turns(id TurnID) (list []*Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range append([]*Turn{s.turn}, s.queue...) {
		if t != nil && (id == "" || t.id == id) {
			list = append(list, t)
		}
	}
	return list
}

// work starts the goroutine that runs turns, if it is not on its way.
func (s *Session) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.working != nil || s.closed || s.turn == nil || s.turn.begun != nil {
		return
	}
	s.working = make(chan struct{})
	s.wg.Go(s.runAll)
}

// runAll runs the turn that has started and the queued ones.
func (s *Session) runAll() {
	stack.Grow16()
	for {
		s.mu.Lock()
		t := s.turn
		if t == nil && s.stale() { // its back end waits for this
			s.mu.Unlock()
			_ = s.endConversation(context.Background()) // no caller waits for this error
			continue
		}
		if t == nil || t.begun != nil { // nobody runs a turn of Begin
			close(s.working)
			s.working = nil
			s.startIdleLocked()
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		stop, err := s.answer(t)
		s.finish(t, stop, err)
		s.storeTexts()
	}
}

// answer lets the agent's conversation run the turn. A panic of a back end ends
// its turn, not the process.
func (s *Session) answer(t *Turn) (stop StopReason, err error) {
	defer func() {
		if p := recover(); p != nil {
			stop, err = StopError, fmt.Errorf("run the turn: internal error: %v", p)
		}
	}()
	if t.look != nil {
		t.look() // the goroutine that watches the context may not have run yet
	}
	if t.ctx.Err() != nil {
		return StopCanceled, context.Cause(t.ctx)
	}
	durable := s.syncing(s.Head()) // the prompt, before the model or a server is asked
	s.g.profiles(s.connection()).Before(t.ctx, s.Meta(), host{s})
	prof, err := s.look(t.ctx, t)
	if err := durable(t.ctx); err != nil {
		return StopError, err
	}
	if err == nil {
		err = s.prepare(t.ctx, t, prof)
	}
	if err != nil {
		return StopError, err
	}
	if over, err := s.carryOut(t.ctx, t); over || err != nil {
		return StopEnd, err
	}
	if err := s.begin(t); err != nil {
		return StopError, err
	}
	conv, err := s.converse(t.ctx, t)
	if errors.Is(err, errRetired) { // since the turn has looked
		if _, err = s.look(t.ctx, t); err == nil {
			conv, err = s.converse(t.ctx, t)
		}
	}
	if err != nil {
		return StopError, err
	}
	return conv.Run(t.ctx, t)
}

// begin asks the limits about a turn of an agent that cannot be paused.
func (s *Session) begin(t *Turn) error {
	l := t.Limits()
	if l == nil {
		return nil
	}
	if a, err := t.agent(); err != nil || !a.External {
		return err
	}
	return l.Begin(t.ctx, t)
}

// finish ends a turn. Then the next one begins.
func (s *Session) finish(t *Turn, stop StopReason, err error) {
	s.mu.Lock()
	wake := s.appendLocked(s.endLocked(t, stop, err)...)
	s.handing = s.handing || t.prompt.Last && t.by.client.Remote == "" && s.sharedLocked()
	if len(s.queue) > 0 && !s.handing {
		s.turn = s.queue[0]
		s.queue = s.queue[1:]
		wake = append(wake, s.appendLocked(s.startedLocked(s.turn)...)...)
	}
	unwatch := t.unwatch
	s.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
	t.cancel(nil)
	s.wake(wake)
}

// endLocked ends a turn and lists its last events, in their fixed order: the model has stopped, every
// call ends, open asks are withdrawn, the turn ends.
func (s *Session) endLocked(t *Turn, stop StopReason, err error) []Event {
	text, login, limit := "", &SignInError{}, (*LimitError)(nil)
	switch cause := context.Cause(t.ctx); {
	case errors.Is(cause, ErrCanceled):
		stop = StopCanceled
	case errors.Is(cause, ErrShutdown) && s.handing:
		stop, text = StopInterrupted, ownerDied
	case errors.As(cause, &limit):
		stop, text = StopLimit, limit.Text
	case cause != nil:
		stop, text = StopError, cause.Error()
	case errors.As(err, &limit), err != nil && stop == StopLimit:
		stop, text = StopLimit, err.Error()
	case err != nil:
		stop, text = StopError, err.Error()
		errors.As(err, &login)
	case stop == "":
		stop = StopEnd
	}
	events := s.closeCallsLocked(stop, text)
	for id, p := range s.asks {
		delete(s.asks, id)
		events = append(events, Answered{id, Reply{Outcome: OutcomeCanceled}})
		p.done <- Reply{Outcome: OutcomeCanceled} // it has room for the one reply
	}
	t.over, s.turn = true, nil
	return append(events, TurnEnded{Turn: t.id, Stop: stop, Err: text, Login: login.Agent})
}

// closeCallsLocked lists the ends of the calls that are still open when their turn ends.
func (s *Session) closeCallsLocked(stop StopReason, text string) []Event {
	switch {
	case stop == StopCanceled:
		return s.endCallsLocked(Canceled, "the turn was cancelled")
	case s.storeErr != nil:
		return s.endCallsLocked(Errored, s.storeErr.Error())
	case text != "":
		return s.endCallsLocked(Errored, "the turn ended: "+text)
	}
	return s.endCallsLocked(Errored, "the turn ended before the call did")
}

// endCallsLocked lists the ends of all open calls, with a state and the reason for it.
func (s *Session) endCallsLocked(state CallState, why string) (events []Event) {
	for _, c := range s.state.openCalls() {
		c = s.state.stopped(c)
		c.State, c.Why, c.End = state, why, s.now()
		events = append(events, CallChanged{c})
	}
	return events
}

// dropQueued ends the queued turns that were cancelled.
func (s *Session) dropQueued() {
	s.mu.Lock()
	s.appendUnlock(s.dropLocked(func(t *Turn) bool { return t.ctx.Err() != nil }, TurnEnded{Stop: StopCanceled})...)
}

// dropLocked takes turns off the queue, and lists the events that end them.
func (s *Session) dropLocked(which func(*Turn) bool, end TurnEnded) (events []Event) {
	s.queue = slices.DeleteFunc(s.queue, func(t *Turn) bool {
		t.over = which(t)
		if t.over {
			end.Turn = t.id
			events = append(events, end)
		}
		return t.over
	})
	return events
}
