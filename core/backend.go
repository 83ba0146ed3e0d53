package core

import (
	"context"
	"encoding/json"
	"iter"

	"dragoman/core/internal/capability"
)

// BackendCaps lists the capabilities of a back end, and whether it remembers the conversation itself
// (OwnsHistory).
type BackendCaps = capability.Caps

// Backend runs turns: the built-in loop, or an agent behind the gateway. There
// is one for each revision of a configured agent, and it may own one process for many
// sessions. Making it starts nothing; Caps and Open may.
type Backend interface {
	Caps(context.Context) (BackendCaps, error)
	Open(context.Context, Binding) (Conversation, error)
	// Close ends what Caps and Open have started. It is called once, behind the last
	// conversation's Close, and not at all if neither was called.
	Close(context.Context) error
}

// Binding connects a conversation to its session. State is that of the back end's last Bound, or nil,
// and Heard its Heard: where that is set, the agent has to be told what was said since.
type Binding struct {
	Meta     Meta
	Settings Settings
	State    json.RawMessage
	Heard    Pos
	// Fork is set for a new copy of a session: the state that the back end has published in
	// the original. The back end forks its side now, and publishes the state of the copy.
	// nil: this is not a copy.
	Fork json.RawMessage
	Host Host
	// Tools are those of the session, and Servers the MCP servers that its clients bring along,
	// as the conversation is opened.
	Tools   []Spec
	Servers []ServerSpec
	// Offer lists the slash commands of the back end's own. It may be called at any time and
	// does not block; the last list counts.
	Offer func([]Command)
}

// Conversation is a back end's side of one session.
type Conversation interface {
	// Run runs a turn and blocks until it is over. When ctx ends it ends
	// promptly; its results are ignored then.
	Run(context.Context, *Turn) (StopReason, error)
	Set(context.Context, Settings) error
	// Close ends the conversation, between two turns. If its back end does not own its
	// history, it is also closed when the session rests, and opened again for the next
	// turn. Close must not use the Host then.
	Close(context.Context) error
}

// Chooser is a Conversation with options that can be set at any time, also while a turn runs. An
// error says that the back end refuses the value.
type Chooser interface {
	Choose(ctx context.Context, id, value string) error
}

// Host has the actions of a conversation that are allowed at any time, in a turn or not.
type Host interface {
	// Publish appends events that belong to no turn: title, usage, notice, Bound.
	Publish(context.Context, ...Event) error
	// Begin starts a turn that no client here has prompted. It ends when it has been
	// idle for a second, or at the next prompt.
	Begin(context.Context, Origin) (*Turn, error)
	// Import fills an empty log with the agent's own history, and closes what it leaves open.
	Import(context.Context, iter.Seq2[Event, error]) error
	// Editor is the editor to turn to now for a file; empty: for the session's folder. nil: none.
	Editor(path string) Editor
	// Texts is what the session knows about the texts of files; nil: nothing.
	Texts() *Texts
	// Authorize is the gate for a back end that runs its own tools: policy,
	// then a person. It blocks until it is decided.
	Authorize(context.Context, Request) (Reply, error)
	// Sub makes a sub-session for a sub-agent of the back end's own. The attachment holds it.
	Sub(ctx context.Context, title string) (Host, *Attachment, error)
	// Ask puts a question to the user and blocks until it is settled.
	Ask(context.Context, Ask) (Reply, error)
}

// Editor is a client that provides services: files, terminals. Core only passes it on; package
// ide defines the requests.
type Editor interface {
	// Lend returns the editor for sessions that its client does not know: whatever they ask
	// is asked for the given one.
	Lend(SessionID) Editor
}
