package core

import (
	"context"
	"encoding/json"

	"dragoman/core/internal/bench"
)

// Spec describes a tool to a model and to policy.
type Spec struct {
	Server      string // Native, or the name of an upstream server
	Name        string // unique within Server
	Title       string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments: an object
	Kind        CallKind
	ReadOnly    bool // has no effect
	Idempotent  bool // may be repeated after a failure
	// Offset and Limit are the arguments that choose the lines of its text: the number of the first
	// one, from 1, and how many. Empty: it has none.
	Offset, Limit string
}

func (s Spec) name() bench.Name { return bench.Name{Server: s.Server, Tool: s.Name} }

func (s Spec) equal(o Spec) bool {
	return s.Server == o.Server && s.Name == o.Name && s.Title == o.Title && s.Description == o.Description &&
		string(s.Schema) == string(o.Schema) && s.Kind == o.Kind && s.ReadOnly == o.ReadOnly && s.Idempotent == o.Idempotent &&
		s.Offset == o.Offset && s.Limit == o.Limit
}

// Toolbox offers tools. Every session opens its own Toolset.
type Toolbox interface {
	Open(context.Context, ToolHost) (Toolset, error)
}

// Toolset is one session's instance of a Toolbox.
type Toolset interface {
	// Tools lists them in an order that stays the same within a session.
	Tools(context.Context) ([]Tool, error)
	// Changed yields after the list has changed; nil: it never does.
	Changed() <-chan struct{}
	Close() error
}

// Starter is a Toolset of servers that take time to start. Back ends may wait for them.
type Starter interface {
	// Starting names the servers that are starting and whose tools are not known yet.
	Starting() []string
	// Await blocks until there are none, a limit of the toolset's own has passed, or ctx ends. If
	// their tools are known then, Changed has yielded. whole: the limit is that of each server's start.
	Await(ctx context.Context, whole bool)
	// Require blocks until each server has started or has failed to. It returns an error for the user
	// that names those that have not started, and why.
	Require(context.Context) error
}

// Rester is a Toolset or a Conversation with resources between two turns. Rest is called while no call runs, and
// releases resources that the next turn can get again. It reports whether the session may rest,
// which it may not while a job or the like runs. A Conversation is closed then.
type Rester interface{ Rest() bool }

// ToolHost is a session's interface for its toolsets.
type ToolHost interface {
	// Meta returns the session's metadata, with its id and roots.
	Meta() Meta
	// Spills keeps the session's output that was cut; nil: nothing keeps it.
	Spills() Spills
	// Texts is what the session knows about the texts of files; nil: nothing.
	Texts() *Texts
	// Editor is the editor to turn to now for a file; empty: for the session's folder. nil: none.
	Editor(path string) Editor
	// Changed says that a call has changed a file. Of the other clients that could show it, unsaved
	// reports whether their editors have changes of their own in it; these are named to all.
	Changed(ctx context.Context, path string, unsaved func(Editor) bool)
	// Connection is that of the client that has prompted last (Client.Profiles); nil: it has none.
	Connection() Profiles
	// Servers lists the MCP servers that the clients of that connection bring along, by name.
	Servers() []ServerSpec
	// Sub makes a session whose parent this one is, and attaches to it on behalf of this one and
	// of a caller. It also returns the settings of this session. A sub-session makes none.
	Delegate(context.Context, Caller) (*Attachment, Settings, error)
	// Profile returns the profile of the running turn, or else of the last one.
	Profile(context.Context) (*Profile, error)
	// Settings returns the current settings of the session.
	Settings() Settings
	// Ask puts a question to the user, or asks for a consent (AskConsent); it blocks
	// until it is settled, the deadline passes or ctx ends. Without anybody to ask it
	// returns at once with OutcomeAlone or OutcomeLater.
	Ask(context.Context, Ask) (Reply, error)
}

// Tool is one tool. Run is called only after policy and, if required, a person have allowed
// the same Invocation that Preview described.
type Tool interface {
	Spec() Spec
	// Preview describes what Run would do, without any effect. Its error is the model's
	// mistake (bad arguments, no such file): the call ends with it, and no person is asked.
	Preview(context.Context, Invocation) (Preview, error)
	// Run runs the tool. A failure for the model is a Result with Failed set; an error
	// means that the tool could not be reached at all. When ctx ends it returns that
	// error, and as a Result any output that was not passed to Output.
	Run(context.Context, Invocation) (Result, error)
}

// Describer is a Tool that can say from a call's arguments alone what the call is about. Its title, place
// and content are shown until Preview returns, and stay where it does not get to that.
type Describer interface {
	Tool
	Describe(args json.RawMessage) Preview
}

// Invocation is one run of a tool.
type Invocation struct {
	Call CallID
	Turn TurnID
	Args json.RawMessage // a JSON object
	// Access is the approved access that Preview returned; Run touches nothing else
	// outside of the roots. Empty while Preview runs.
	Access []Access
	// Output streams the output of a long call. It may block while every client
	// is far behind; nil while Preview runs.
	Output func(text string)
	// Plan replaces the session's plan; nil while Preview runs.
	Plan func([]PlanEntry)
	// Show changes how the running call is shown; nil while Preview runs.
	Show func(Showing)
	// Origin describes who prompted the turn.
	Origin Origin
}

// Preview describes a call before it runs.
type Preview struct {
	Title     string // one line
	Kind      CallKind
	Locations []Location
	Content   []Block // shown with the request for approval: a diff
	Access    []Access
}

// Showing changes how a running call is shown; zero fields stay unchanged.
type Showing struct {
	Title   string
	Content []Block
	Child   SessionID // where its work is done
	Spent   Expense   // there so far
	Meta    json.RawMessage
}

// Result is the result of a call.
type Result struct {
	Blocks     []Block
	Locations  []Location
	Failed     bool
	Spill      string // the file with the whole of it, if Blocks have only a part: see Spills
	Structured json.RawMessage
	Raw        json.RawMessage // as an upstream sent it: relayed, never encoded again
	Meta       json.RawMessage
}
