package core

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"slices"

	"dragoman/core/internal/stack"
)

// Role is the set of a client's rights in a session.
type Role string

const (
	Decide  Role = "decide"  // prompt, decide, answer, cancel; the default
	Observe Role = "observe" // only read
)

// Caller is the identity of a program that prompts and answers for its own user, as an
// MCP client does; empty: a person in an editor or a terminal. The adapter makes it up
// when the client connects, or takes it from the client's token. No client can choose
// it, unlike its name. Answers for the session apply only to turns of the same Caller.
type Caller string

// Client describes a client that attaches to a session.
type Client struct {
	ID        string // made up where it is empty
	Name      string // for people: "Zed 0.212", "agent over MCP"
	Principal Principal
	Caller    Caller // recorded in the Origin of its turns and in its Replies
	Role      Role
	// Remote describes the process, for people, of a client that another process attaches here (Sharing);
	// empty: it is one of this process.
	Remote    string
	Visible   bool // others are shown that it is there
	Asks      bool // approvals can be put to it
	Questions bool // questions and consents can be put to it
	// FixedAnswers says that approvals can be put to it with our own answers alone: an approval
	// with others (Ask.Fits) is put to it as a question.
	FixedAnswers bool
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
	// Folders returns folders of the client's workspace that count as the session's roots in
	// turns of its connection, as long as it is attached; nil: there are none. It is called
	// often, and must not block.
	Folders func() []string
	// System is a part of the system prompts of its turns; nil: none. It is not stored.
	System *SystemPrompt

	task bool // it is a session that hands a task over
}

// SystemPrompt is a client's text for the system prompt of its turns.
type SystemPrompt struct {
	Text     string
	Override bool // it takes the place of the agent's own text, but not of the workspace's
}

// ServerSpec is an MCP server: a program, or an address.
type ServerSpec struct {
	Name    string
	Command string // absolute, or found on the PATH; empty: URL is used
	Args    []string
	Env     []string // NAME=VALUE, in addition to a small safe set
	URL     string
	Headers map[string]string
	SSE     bool // the older transport over HTTP
}

// Attendee describes a client to the other clients of its session.
type Attendee struct {
	ID      string `json:"id"` // Client.ID
	Name    string `json:"name"`
	Observe bool   `json:"observe,omitempty"` // it only reads
	Node    string `json:"node"`              // its process
}

// origin returns the Origin of the client's messages.
func (c Client) origin() Origin {
	return Origin{Client: c.Name, Principal: c.Principal, Caller: c.Caller}
}

// Attachment is one client on one session. What it does is recorded under its
// client's name. All methods may be called by any goroutine.
type Attachment struct {
	owner  Owner
	client Client
}

// Attach adds a client. The session stays open while a client is attached. When it is not
// used for a while it rests: it gives up its claim and its memory until the next command,
// and another process can continue it.
func (s *Session) Attach(c Client) *Attachment { return attach(s.front, c) }

// Attach adds another client to the same session.
func (a *Attachment) Attach(c Client) *Attachment { return attach(a.owner, c) }

func attach(o Owner, c Client) *Attachment {
	c.Role = cmp.Or(c.Role, Decide)
	c.Principal = cmp.Or(c.Principal, o.Meta().Principal)
	if c.ID == "" {
		c.ID = rand.Text()[:12]
	}
	a := &Attachment{owner: o, client: c}
	o.Attach(a)
	return a
}

// To reports whether the attachment is one to s. A session that was opened again after it failed
// or was closed is another one.
func (a *Attachment) To(s *Session) bool { return a.owner == s.front }

// Meta returns the session's metadata.
func (a *Attachment) Meta() Meta { return a.owner.Meta() }

// Close detaches the client from the session. Asks that only this client could have
// answered are rejected; a turn continues.
func (a *Attachment) Close() { a.owner.Detach(a, false) }

// Leave is Close for a client that is done with the session. If nobody else is attached, the
// session is given back at once and not after a while: its jobs and servers end, and its
// claim is released. A running turn keeps the session until it ends. Leave blocks until the
// session is given back, unless a turn is running.
func (a *Attachment) Leave() { a.owner.Detach(a, true) }

// Read returns a reader of the session's log. Close it after use.
func (a *Attachment) Read(after Pos) *Reader { return a.owner.Read(after, nil) }

// Records yields the log behind a position up to head, a position that it has reached: what a
// truncation hides is left out, runs may come in pieces, and the last records may be after
// head. It waits for the store alone. An error is the last that it yields.
func (a *Attachment) Records(ctx context.Context, after, head Pos) iter.Seq2[Record, error] {
	return records(ctx, a.owner, after, head)
}

// Watch is Read for a goroutine that waits on many readers, with Reader.Take. signal says, now
// and whenever the reader has been to the end, that there may be something to read. Any goroutine
// calls it, and it must not block.
func (a *Attachment) Watch(after Pos, signal func(*Reader)) *Reader {
	return a.owner.Read(after, signal)
}

// Head is the position of a reader that has everything.
func (a *Attachment) Head() Pos { return a.owner.Head() }

// Follow reads what another process has added, and closes a turn that has ended with
// that process. In a session that is ours it does nothing; ErrClosed if it was closed. It blocks
// while the store reads the log.
func (a *Attachment) Follow(ctx context.Context) error { return a.owner.Follow(ctx) }

// State returns the current state of the session.
func (a *Attachment) State() (st State) {
	a.owner.View(func(s *State) { st = s.public() })
	return st
}

// Client returns the description of the client.
func (a *Attachment) Client() Client { return a.client }

// Editor returns the client's editor; nil: it has none.
func (a *Attachment) Editor() Editor { return a.client.Editor }

// Idle returns ErrObserver to a client that may only read, and a *BusyError while a turn runs.
func (a *Attachment) Idle() error {
	if a.client.Role != Decide {
		return ErrObserver
	}
	if turn := a.State().Turn; turn != "" {
		return &BusyError{turn}
	}
	return nil
}

// Prompted reports whether the client's Caller has prompted here, in this attachment or an
// earlier one. Without a Caller it is false.
func (a *Attachment) Prompted() (has bool) {
	a.owner.View(func(s *State) { has = s.callers[a.client.Caller] })
	return has
}

// Pending lists what waits for a person, oldest first.
func (a *Attachment) Pending() (asks []Ask) {
	a.owner.View(func(s *State) { asks = slices.Clone(s.Asks) })
	return asks
}

// Busy decides about a prompt that arrives while a turn runs.
type Busy string

const (
	BusyQueue  Busy = ""       // it runs when those before it have ended
	BusyRefuse Busy = "refuse" // it fails with a *BusyError
	// BusySteer: it joins the running turn if the back end supports that and the turn is of
	// the same connection, whose rules apply; else it is queued. It is logged when the turn
	// takes it up, and dropped if the turn ends before that.
	BusySteer Busy = "steer"
)

// Prompt is a message of the user.
type Prompt struct {
	Blocks    []Block
	Busy      Busy
	Key       string // of a prompt that may be sent twice: the second is answered with the first one's turn
	Hops      int    // gateways that it came through
	Approvals Approvals
	Settings  *Settings // set first; nil: as they are
	Context   *Context  // nil: as in the turn before
	// Unattended says that nobody watches the turn: what would be asked is refused at once, whoever is
	// attached, and the turn waits for the whole start of its MCP servers, for nobody prompts again. It
	// fails if NeedsServers is set and one has not started.
	Unattended, NeedsServers bool
	// Last says that the client's process ends when the turn has ended. If it owns the session then, and
	// clients of other processes are attached, no other turn begins there: the next owner goes on with the
	// prompts that wait.
	Last bool
}

// all returns the blocks that the turn may have in its message.
func (p Prompt) all() []Block {
	if p.Context == nil {
		return p.Blocks
	}
	return slices.Concat(p.Blocks, p.Context.Passing)
}

// Prompt begins a turn, or queues one. It blocks until that is durable, not
// until the turn ends. ctx belongs to the prompt for as long as its turn lasts:
// when it ends with the cause ErrCanceled, at any time, the turn ends as cancelled, even
// if it is queued or has not begun (the log shows it anyway, and the error is nil).
// ErrClientGone stops it too. Any other end of ctx is ignored.
func (a *Attachment) Prompt(ctx context.Context, p Prompt) (TurnID, error) {
	if a.client.Role != Decide {
		return "", ErrObserver
	}
	stack.Grow16()
	return a.owner.Admit(ctx, a, p)
}

// Cancel stops a turn; the zero id stops the running and all queued turns. It is not an
// error if the turn has ended. It does not wait for the end.
func (a *Attachment) Cancel(ctx context.Context, id TurnID, reason error) error {
	if a.client.Role != Decide {
		return ErrObserver
	}
	a.owner.Cancel(a, id, cmp.Or(reason, ErrCanceled))
	return nil
}

// Steer says something to the turn that runs, as a prompt with BusySteer does, but
// never becomes a turn of its own: it reports whether there is a turn, and one that
// takes it.
func (a *Attachment) Steer(blocks []Block) bool {
	return a.client.Role == Decide && a.owner.Steer(a, blocks)
}

// Unsteer withdraws the client's messages to the running turn (BusySteer) that the turn has
// not taken up. It is not an error if there are none.
func (a *Attachment) Unsteer() { a.owner.Unsteer(a) }

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
	return a.owner.Settle(ctx, a, id, r)
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

// Archive hides the session from lists, or shows it there again. It blocks until that is durable.
func (a *Attachment) Archive(ctx context.Context, archived bool) error {
	_, err := a.append(ctx, false, Archived{Archived: archived, By: a.client.Name})
	return err
}

// Say adds a message of the agent to the log that comes from a client and not from a turn.
// It is refused while a turn runs, and blocks until it is durable.
func (a *Attachment) Say(ctx context.Context, text string) (MessageID, error) {
	return a.append(ctx, true, TextDelta{Text: text})
}

// append is the owner's, for a client that may.
func (a *Attachment) append(ctx context.Context, idle bool, ev Event) (MessageID, error) {
	if a.client.Role != Decide {
		return "", ErrObserver
	}
	return a.owner.Append(ctx, a, idle, ev)
}
