package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Role says what a client may do with a session.
type Role string

const (
	Decide  Role = "decide"  // prompt, decide, answer, cancel; the default
	Observe Role = "observe" // only read
)

// Caller is the identity of a program that prompts and answers for its own user,
// as an MCP client does; empty: a person in an editor or a terminal. The adapter
// makes it up when the client connects and tells it to nobody, unlike the client's
// name, which the client chooses. What was answered for the session counts only in
// turns of the same Caller.
type Caller string

// Client is who attaches to a session.
type Client struct {
	Name      string // for people: "Zed 0.212", "agent over MCP"
	Principal Principal
	Caller    Caller // recorded in the Origin of its turns and in its Replies
	Role      Role
	Asks      bool // approvals can be put to it
	Questions bool // questions and consents can be put to it
	// NoForms says that the client shows no forms, NoPages that it cannot offer to open
	// pages. A question that no client can be asked is shown in the chat instead.
	NoForms, NoPages bool
	Editor           Editor // nil: none
	// Servers are MCP servers that the client brings along for the session, for as
	// long as it is attached. They are not stored: they may hold secrets.
	Servers []ServerSpec
}

// ServerSpec is an MCP server: a program, or an address.
type ServerSpec struct {
	Name    string
	Command string // absolute, or found on the PATH; empty: URL is used
	Args    []string
	Env     []string // NAME=VALUE, beside a small safe set
	URL     string
	Headers map[string]string
	SSE     bool // the older transport over HTTP
}

// Attachment is one client on one session. What it does is recorded under its
// client's name. All methods may be called by any goroutine.
type Attachment struct {
	s      *Session
	client Client
}

// Attach adds a client. The session stays open while anybody is attached; what is not
// used for a while rests: it gives its claim and its memory back until the next
// command, and another process can go on with it.
func (s *Session) Attach(c Client) *Attachment {
	c.Role = cmp.Or(c.Role, Decide)
	c.Principal = cmp.Or(c.Principal, s.meta.Principal)
	a := &Attachment{s: s, client: c}
	s.mu.Lock()
	s.clients[a] = struct{}{}
	s.done = false
	s.stopIdleLocked()
	s.startIdleLocked()
	s.mu.Unlock()
	return a
}

// Close takes the client off the session. What only it could have decided is
// rejected; a turn goes on.
func (a *Attachment) Close() {
	s := a.s
	s.mu.Lock()
	delete(s.clients, a)
	var alone []AskID
	for id, p := range s.asks {
		if !s.canAskLocked(p.ask) {
			alone = append(alone, id)
		}
	}
	s.startIdleLocked()
	s.mu.Unlock()
	for _, id := range alone {
		s.settle(id, Reply{Outcome: OutcomeAlone, Text: "the client that could decide has left"})
	}
}

// Session is what the client is attached to.
func (a *Attachment) Session() *Session { return a.s }

// Read returns a reader of the session's log. Close it after use.
func (a *Attachment) Read(after Pos) *Reader { return a.s.newReader(after, nil) }

// Records yields the log behind a position up to head, a position that it has reached: what a
// truncation hides is left out, runs may come in pieces, and the last records may stand behind
// head. It waits for the store alone. An error is the last that it yields.
func (a *Attachment) Records(ctx context.Context, after, head Pos) iter.Seq2[Record, error] {
	return a.s.records(ctx, after, head)
}

// Watch is Read for a goroutine that waits on many readers with a Mux.
func (a *Attachment) Watch(after Pos, m *Mux) *Reader { return a.s.newReader(after, m) }

// Head is the position of a reader that has everything.
func (a *Attachment) Head() Pos { return a.s.Head() }

// Follow reads what another process has added, and closes a turn that has ended with
// that process. In a session that is ours it does nothing. It blocks while the store
// reads the log.
func (a *Attachment) Follow(ctx context.Context) error {
	a.s.mu.Lock()
	refused := a.s.refusalLocked() != nil // its next command will say why
	a.s.mu.Unlock()
	if refused {
		return nil
	}
	if err := a.s.follow(ctx); err != nil {
		return err
	}
	return a.s.mend(ctx)
}

// State is what is true of the session now.
func (a *Attachment) State() State { return a.s.State() }

// Prompted reports whether the client's Caller has prompted here, in this attachment or an
// earlier one. Without a Caller it is false.
func (a *Attachment) Prompted() bool {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.s.state.callers[a.client.Caller]
}

// Pending lists what waits for a person, oldest first.
func (a *Attachment) Pending() []Ask {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return slices.Clone(a.s.state.Asks)
}

// Busy says what becomes of a prompt while a turn runs.
type Busy string

const (
	BusyQueue  Busy = ""       // it runs when those before it have ended
	BusyRefuse Busy = "refuse" // it fails with a *BusyError
	// BusySteer: it joins the turn that runs, where the back end can; else it is
	// queued. It stands in the log from when the turn takes it up; what a turn has
	// not taken up when it ends is dropped.
	BusySteer Busy = "steer"
)

// Prompt is what a user says.
type Prompt struct {
	Blocks    []Block
	Busy      Busy
	Key       string // of a prompt that may be sent twice: the second is answered with the first one's turn
	Hops      int    // gateways that it came through
	Approvals Approvals
	Settings  *Settings // set first; nil: as they are
}

// Prompt begins a turn, or queues one. It blocks until that is durable, not
// until the turn ends. ctx belongs to the prompt for as long as its turn lasts:
// when it ends with the cause ErrCanceled, at any time, the turn ends as
// cancelled, also one that is queued or has not begun (the log shows it all the
// same, and the error is nil). ErrClientGone stops it too. Any other end of ctx
// means nothing.
func (a *Attachment) Prompt(ctx context.Context, p Prompt) (TurnID, error) {
	s := a.s
	done, err := a.command(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	turn, head, wake, err := s.admit(ctx, a, p)
	s.wake(wake)
	if err != nil || turn == nil {
		return turn.ID(), err
	}
	err = s.durable(context.WithoutCancel(ctx), head)
	if err != nil {
		turn.cancel(err)
	} else if errors.Is(context.Cause(ctx), ErrCanceled) {
		turn.cancel(ErrCanceled)
	}
	s.work()
	return turn.id, err
}

// command is what every command begins with: the client may, and the session is
// ours until done is called.
func (a *Attachment) command(ctx context.Context) (done func(), err error) {
	if a.client.Role != Decide {
		return nil, ErrObserver
	}
	return a.s.own(context.WithoutCancel(ctx))
}

// Cancel stops a turn; the zero id stops what runs and what is queued now. A turn
// that has ended is no error. It does not wait for the end.
func (a *Attachment) Cancel(ctx context.Context, id TurnID, reason error) error {
	if a.client.Role != Decide {
		return ErrObserver
	}
	if reason == nil {
		reason = ErrCanceled
	}
	// The last one first: no turn may begin because the one before it has ended.
	for _, t := range slices.Backward(a.s.turns(id)) {
		t.cancel(reason)
	}
	a.s.dropQueued()
	return nil
}

// Steer says something to the turn that runs, as a prompt with BusySteer does, but
// never becomes a turn of its own: it reports whether there is a turn, and one that
// takes it.
func (a *Attachment) Steer(blocks []Block) bool {
	s := a.s
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn
	if a.client.Role != Decide || t == nil || !t.steer || s.crowdedLocked() != nil || s.refusalLocked() != nil {
		return false
	}
	origin := Origin{Client: a.client.Name, Principal: a.client.Principal, Caller: a.client.Caller}
	t.steers = append(t.steers, steering{a, Steered{Turn: t.id, Origin: origin, Prompt: blocks}})
	return true
}

// Unsteer takes back what the client said to the running turn (BusySteer) and the
// turn has not taken up. Nothing to take back is no error.
func (a *Attachment) Unsteer() {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if t := a.s.turn; t != nil {
		t.steers = slices.DeleteFunc(t.steers, func(s steering) bool { return s.by == a })
	}
}

// Decide settles an approval; ErrNotAsked when nothing of that id waits. It
// blocks until the decision is durable.
func (a *Attachment) Decide(ctx context.Context, id AskID, d Decision, note string) error {
	return a.Answer(ctx, id, Reply{Outcome: OutcomeDecided, Decision: d, Text: note})
}

// Answer settles an ask of either kind; ErrNotAsked when nothing of that id
// waits. It blocks until the answer is durable.
func (a *Attachment) Answer(ctx context.Context, id AskID, r Reply) error {
	if a.client.Role != Decide {
		return ErrObserver
	}
	r.By, r.Principal, r.Caller = a.client.Name, a.client.Principal, a.client.Caller
	if !a.s.settle(id, r) {
		return ErrNotAsked
	}
	return a.s.durable(ctx, a.Head())
}

// Set changes the session's settings. It blocks until that is durable.
func (a *Attachment) Set(ctx context.Context, set Settings) error {
	return a.change(ctx, func(st *State) Event {
		if st.Settings == set {
			return nil
		}
		return SettingsChanged{Settings: set, By: a.client.Name}
	})
}

// Rename gives the session a title of the user's. It blocks until that is durable.
func (a *Attachment) Rename(ctx context.Context, title string) error {
	return a.change(ctx, func(*State) Event { return TitleChanged{Title: title} })
}

// Say puts a message of the agent's into the log that no turn has produced: what a
// client brings along. It is refused while a turn runs, and blocks until it is
// durable.
func (a *Attachment) Say(ctx context.Context, text string) (MessageID, error) {
	var id MessageID
	var busy error
	err := a.change(ctx, func(st *State) Event {
		if st.Turn != "" {
			busy = &BusyError{st.Turn}
			return nil
		}
		id = MessageID(a.s.newIDLocked("m"))
		return TextDelta{Message: id, Text: text}
	})
	return id, cmp.Or(err, busy)
}

// Truncate hides what is behind a position. It is refused while a turn runs, and
// blocks until it is durable. Marks of messages that stay are kept.
func (a *Attachment) Truncate(ctx context.Context, after Pos) error {
	s := a.s
	s.mu.Lock()
	busy := s.state.Turn
	s.mu.Unlock()
	if busy != "" {
		return &BusyError{busy}
	}
	marks, err := a.flagsBefore(ctx, after)
	if err != nil {
		return err
	}
	var began error
	err = a.changes(ctx, func(st *State) []Event {
		if st.Turn != "" { // since we looked
			began = &BusyError{st.Turn}
			return nil
		}
		return append([]Event{Truncated{After: after, By: a.client.Name}}, marks...)
	})
	if err := cmp.Or(err, began); err != nil {
		return err
	}
	return s.refold(ctx)
}

// change is changes with one event, or nil.
func (a *Attachment) change(ctx context.Context, event func(*State) Event) error {
	return a.changes(ctx, func(st *State) []Event {
		if ev := event(st); ev != nil {
			return []Event{ev}
		}
		return nil
	})
}

// changes appends the events that a command makes of the state, and waits for them.
func (a *Attachment) changes(ctx context.Context, events func(*State) []Event) error {
	done, err := a.command(ctx)
	if err != nil {
		return err
	}
	defer done()
	s := a.s
	s.mu.Lock()
	if err := s.refusalLocked(); err != nil {
		s.mu.Unlock()
		return err
	}
	list := events(&s.state)
	if len(list) == 0 {
		s.mu.Unlock()
		return nil
	}
	wake := s.appendLocked(list...)
	head := s.log.head()
	s.mu.Unlock()
	s.wake(wake)
	return s.durable(ctx, head)
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

// admit puts a prompt into the log and the queue. turn is nil when the prompt
// needs nothing more; then its id, if any, comes with the error's absence.
func (s *Session) admit(ctx context.Context, a *Attachment, p Prompt) (turn *Turn, head Pos, wake []*Reader, err error) {
	canceled := errors.Is(context.Cause(ctx), ErrCanceled)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refusalLocked(); err != nil {
		return nil, Pos{}, nil, err
	}
	if s.closing != nil { // its turns have been ended: this one would be left over
		return nil, Pos{}, nil, ErrClosed
	}
	if id, ok := s.state.keys[p.Key]; ok && p.Key != "" {
		return &Turn{s: s, id: id, cancel: func(error) {}}, s.log.head(), nil, nil
	}
	var events []Event
	if p.Settings != nil && *p.Settings != s.state.Settings {
		events = append(events, SettingsChanged{Settings: *p.Settings, By: a.client.Name})
	}
	if s.turn != nil && s.turn.begun != nil { // nobody prompted it: it makes way
		events = append(events, s.endBegunLocked()...)
	}
	if s.turn != nil && p.Busy == BusyRefuse {
		return nil, Pos{}, nil, &BusyError{s.turn.id}
	}
	origin := Origin{Client: a.client.Name, Principal: a.client.Principal, Caller: a.client.Caller, Hops: p.Hops, Approvals: p.Approvals}
	if s.turn != nil && p.Busy == BusySteer && !canceled && s.turn.steer && s.crowdedLocked() == nil {
		s.turn.steers = append(s.turn.steers, steering{a, Steered{Turn: s.turn.id, Origin: origin, Prompt: p.Blocks}})
		wake = s.appendLocked(events...)
		return &Turn{s: s, id: s.turn.id, cancel: func(error) {}}, s.log.head(), wake, nil
	}
	if err := s.crowdedLocked(); err != nil {
		return nil, Pos{}, nil, err
	}
	t := s.newTurnLocked(a, origin, p)
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
	return t, s.log.head(), wake, nil
}
