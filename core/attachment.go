package core

import (
	"cmp"
	"context"
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
	// Profiles are those of the connection; nil: the gateway's. The client's turns run with them,
	// to their end even if it leaves.
	Profiles Profiles
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

// origin is that of what the client says.
func (c Client) origin() Origin {
	return Origin{Client: c.Name, Principal: c.Principal, Caller: c.Caller}
}

// Attachment is one client on one session. What it does is recorded under its
// client's name. All methods may be called by any goroutine.
type Attachment struct {
	owner  owner
	client Client
}

// Attach adds a client. The session stays open while anybody is attached; what is not
// used for a while rests: it gives its claim and its memory back until the next
// command, and another process can go on with it.
func (s *Session) Attach(c Client) *Attachment { return attach(s, c) }

// Attach adds another client to the same session.
func (a *Attachment) Attach(c Client) *Attachment { return attach(a.owner, c) }

func attach(o owner, c Client) *Attachment {
	c.Role = cmp.Or(c.Role, Decide)
	c.Principal = cmp.Or(c.Principal, o.Meta().Principal)
	a := &Attachment{owner: o, client: c}
	o.attach(a)
	return a
}

// To reports whether the attachment is one to s. A session that was opened again after it failed
// or was closed is another one.
func (a *Attachment) To(s *Session) bool { return a.owner == owner(s) }

// Meta says what the session was made with.
func (a *Attachment) Meta() Meta { return a.owner.Meta() }

// Close takes the client off the session. What only it could have decided is
// rejected; a turn goes on.
func (a *Attachment) Close() { a.owner.detach(a, false) }

// Leave is Close for a client that is done with the session. If nobody else is attached, the
// session is given back at once and not after a while: its jobs and servers end, and its
// claim is released. A running turn keeps the session until it ends. Leave blocks until the
// session is given back, unless a turn is running.
func (a *Attachment) Leave() { a.owner.detach(a, true) }

// Read returns a reader of the session's log. Close it after use.
func (a *Attachment) Read(after Pos) *Reader { return a.owner.read(after, nil) }

// Records yields the log behind a position up to head, a position that it has reached: what a
// truncation hides is left out, runs may come in pieces, and the last records may stand behind
// head. It waits for the store alone. An error is the last that it yields.
func (a *Attachment) Records(ctx context.Context, after, head Pos) iter.Seq2[Record, error] {
	return records(ctx, a.owner, after, head)
}

// Watch is Read for a goroutine that waits on many readers, with Reader.Take. signal says, now
// and whenever the reader has been to the end, that there may be something to read. Any goroutine
// calls it, and it must not block.
func (a *Attachment) Watch(after Pos, signal func(*Reader)) *Reader {
	return a.owner.read(after, signal)
}

// Head is the position of a reader that has everything.
func (a *Attachment) Head() Pos { return a.owner.Head() }

// Follow reads what another process has added, and closes a turn that has ended with
// that process. In a session that is ours it does nothing. It blocks while the store
// reads the log.
func (a *Attachment) Follow(ctx context.Context) error { return a.owner.follow(ctx) }

// State is what is true of the session now.
func (a *Attachment) State() (st State) {
	a.owner.view(func(s *State) { st = s.public() })
	return st
}

// Prompted reports whether the client's Caller has prompted here, in this attachment or an
// earlier one. Without a Caller it is false.
func (a *Attachment) Prompted() (has bool) {
	a.owner.view(func(s *State) { has = s.callers[a.client.Caller] })
	return has
}

// Pending lists what waits for a person, oldest first.
func (a *Attachment) Pending() (asks []Ask) {
	a.owner.view(func(s *State) { asks = slices.Clone(s.Asks) })
	return asks
}

// Busy says what becomes of a prompt while a turn runs.
type Busy string

const (
	BusyQueue  Busy = ""       // it runs when those before it have ended
	BusyRefuse Busy = "refuse" // it fails with a *BusyError
	// BusySteer: it joins the turn that runs, where the back end can and the turn is of the
	// same connection, whose rules it has; else it is queued. It stands in the log from when the turn takes it up; what a turn has
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
	if a.client.Role != Decide {
		return "", ErrObserver
	}
	return a.owner.admit(ctx, a, p)
}

// Cancel stops a turn; the zero id stops what runs and what is queued now. A turn
// that has ended is no error. It does not wait for the end.
func (a *Attachment) Cancel(ctx context.Context, id TurnID, reason error) error {
	if a.client.Role != Decide {
		return ErrObserver
	}
	a.owner.cancel(id, cmp.Or(reason, ErrCanceled))
	return nil
}

// Steer says something to the turn that runs, as a prompt with BusySteer does, but
// never becomes a turn of its own: it reports whether there is a turn, and one that
// takes it.
func (a *Attachment) Steer(blocks []Block) bool {
	return a.client.Role == Decide && a.owner.steer(a, blocks)
}

// Unsteer takes back what the client said to the running turn (BusySteer) and the
// turn has not taken up. Nothing to take back is no error.
func (a *Attachment) Unsteer() { a.owner.unsteer(a) }

// Decide settles an approval; ErrNotAsked when nothing of that id waits. It
// blocks until the decision is durable.
func (a *Attachment) Decide(ctx context.Context, id AskID, d Decision, note string) error {
	return a.Answer(ctx, id, Reply{Outcome: OutcomeDecided, Decision: d, Text: note})
}

// Answer settles an ask of either kind; ErrNotAsked when nothing of that id
// waits. It blocks until the answer is durable.
func (a *Attachment) Answer(ctx context.Context, id AskID, r Reply) error {
	r.By, r.Principal, r.Caller = a.client.Name, a.client.Principal, a.client.Caller
	return a.Relay(ctx, id, r)
}

// Relay settles an ask with the reply that a client of another session gave. It is that client's.
func (a *Attachment) Relay(ctx context.Context, id AskID, r Reply) error {
	if a.client.Role != Decide {
		return ErrObserver
	}
	return a.owner.settle(ctx, id, r)
}

// Set changes the session's settings. It blocks until that is durable.
func (a *Attachment) Set(ctx context.Context, set Settings) error {
	_, err := a.append(ctx, false, SettingsChanged{Settings: set, By: a.client.Name})
	return err
}

// Rename gives the session a title of the user's. It blocks until that is durable.
func (a *Attachment) Rename(ctx context.Context, title string) error {
	_, err := a.append(ctx, false, TitleChanged{Title: title})
	return err
}

// Say puts a message of the agent's into the log that no turn has produced: what a
// client brings along. It is refused while a turn runs, and blocks until it is
// durable.
func (a *Attachment) Say(ctx context.Context, text string) (MessageID, error) {
	return a.append(ctx, true, TextDelta{Text: text})
}

// append is the owner's, for a client that may.
func (a *Attachment) append(ctx context.Context, idle bool, ev Event) (MessageID, error) {
	if a.client.Role != Decide {
		return "", ErrObserver
	}
	return a.owner.append(ctx, idle, ev)
}
