package core

import (
	"context"
	"time"
)

// Settings are a user's choices for a session. Empty fields mean the
// profile's default.
type Settings struct {
	Agent  string `json:"agent,omitempty"`
	Model  string `json:"model,omitempty"` // PROVIDER/MODEL
	Effort string `json:"effort,omitempty"`
	Trust  bool   `json:"trust,omitempty"` // what would be asked is allowed
}

// Agent is something that runs turns, by name. Agents of one Name and Rev have the same
// Backend. A change of its settings makes another Rev. A Rev is never used again after
// Gateway.Retire.
type Agent struct {
	Name        string
	Rev         string
	Description string
	Backend     Backend
}

// Profile is the effective configuration of a workspace. It is immutable: a reload makes a new
// one. Sessions use it from their next turn on, and its policy from their next call on.
type Profile struct {
	Agents       []Agent // the first is the default
	Models       []ModelInfo
	DefaultModel string
	Toolboxes    []Toolbox
	Policy       Policy
	AskTimeout   time.Duration // until an Ask expires; 0: one hour
	// Commands lists the slash commands of a session, or, without an ID, of a workspace.
	// nil: none.
	Commands func(ctx context.Context, m Meta) []Command
	// Command carries out a prompt that begins with a slash, before any back end is asked. ok is
	// false where it is no command, or one of the agent's own: the agent is given the prompt as
	// it is. nil: there are none.
	Command func(ctx context.Context, t *Turn, text string) (c CommandResult, ok bool, err error)
	// Expand returns the text of a command; ok is false for a command that the gateway itself
	// answers or carries out. nil: there are none.
	Expand func(ctx context.Context, roots []string, name, args string) (text string, ok bool, err error)
	// Fault describes, for people, a mistake in the configuration since this profile was
	// made, because of which it is still in use. Empty: there is none.
	Fault string
	// Subagents can be handed tasks by other agents, and not be chosen by people.
	Subagents []Agent
	// Files is the workspace, as prompts refer to it; nil: they cannot.
	Files Files
	// Model finds a model by PROVIDER/MODEL, the empty id the default one, for what
	// no agent asks: an editor, an MCP server; nil: there is none. Its error is for the user.
	Model func(ctx context.Context, id string) (Model, error)
	// Resources are those of MCP servers; nil: there are none.
	Resources Resources
	// Accounts are the providers' keys; nil: they are not to be seen here.
	Accounts Accounts
	// Servers are the configured MCP servers. Core only passes them on (see package
	// control). nil: they cannot be controlled here.
	Servers Servers
}

// Profiles makes the profiles of one connection: of the configuration, and of what its client lays
// over it. Values are compared with ==: one is one connection.
type Profiles interface {
	// Profile returns the profile of a workspace. It is called at the beginning of each turn
	// and must be quick; the same value means that nothing has changed. Its error is for the
	// user: the mistake in the configuration, and its place.
	Profile(ctx context.Context, roots []string) (*Profile, error)
	// Rules is called at the beginning of each call of a tool, and returns the profile whose
	// policy judges the call: a rule that is written while a turn runs counts from the next
	// call on. It needs to look only at what rules come from.
	Rules(ctx context.Context, roots []string) (*Profile, error)
	// Before is called before each turn is prepared, and may ask the user for a consent that
	// the profile waits for. It returns when ctx ends.
	Before(ctx context.Context, meta Meta, h Host)
}

// Servers is implemented by control.Servers alone. Configured does nothing.
type Servers interface{ Configured() }

// Files is the workspace, as prompts refer to it. Methods block on the disk, and
// Read on the network. What a rule forbids to read is neither found nor listed.
type Files interface {
	// Find lists at most most paths below the roots that match the query, the best first; an
	// empty query matches all. Ignored files are left out. A query that begins with ~, ./,
	// ../ or / lists that folder.
	Find(ctx context.Context, roots []string, query string, most int) []FileName
	// List lists at most most names in an absolute folder that start with begin: folders
	// first. Names that start with a dot are left out unless begin does too. Nothing outside
	// of the roots is listed, not even through a link.
	List(ctx context.Context, roots []string, folder, begin string, most int) []FileName
	// Read returns the content of a reference, as a part of a prompt. It never fails: the
	// block of an unreadable file says so.
	Read(ctx context.Context, roots []string, r Reference) Block
	// Undo reverts changes, the last one first: a file that is as a change left it gets its
	// old content or its old name back. editor may be nil.
	Undo(ctx context.Context, m Meta, e Editor, changes []Diff) []RevertedFile
}

// Resources are the resources of MCP servers. Methods may block on the servers.
type Resources interface {
	// List lists at most most resources that match the query.
	List(ctx context.Context, roots []string, query string, most int) []Link
	// Read returns the content of one, as a part of a prompt. It never fails: the block of
	// an unreadable resource says so.
	Read(ctx context.Context, roots []string, uri string) Block
}

// FileName is a file or a folder.
type FileName struct {
	Path   string // absolute
	Folder bool
}

// Reference is something that a user attached to a prompt. Exactly one of Path
// and URL is used. Lines, 1-based and inclusive, is a part of a file; zero: all.
type Reference struct {
	Path  string // absolute; a folder means the text of its files
	Lines [2]int
	URL   string
}

// Command is something that a user can begin a prompt with: "/NAME arguments".
type Command struct {
	Kind        CommandKind
	Name        string // without the slash
	Description string
	Arguments   []Argument
	// Needs is the capability of the agent that it needs; empty: none.
	Needs  Capability
	Yields bool // GivesWay, of a built-in command
}

// GivesWay reports whether a command of the same name that is the agent's own comes first. It
// does, unless ours shows something or acts on the session.
func (c Command) GivesWay() bool { return c.Yields || c.Kind != CommandBuiltin }

// CommandResult is the effect of a command: a text for the model that replaces the prompt
// (Prompt), or a summary that replaces the conversation (Compact). Without either the turn is
// over, with an answer that needs no model, or with the events that were emitted.
type CommandResult struct {
	Prompt  string
	Answer  string
	Compact bool
	Focus   string // of Compact: the focus of the summary
}

// CommandKind says whose a command is.
type CommandKind string

const (
	CommandBuiltin CommandKind = "builtin"
	CommandCustom  CommandKind = "custom" // a text of the workspace's or the user's
	CommandSkill   CommandKind = "skill"
	CommandMCP     CommandKind = "mcp"   // a prompt of an MCP server
	CommandAgent   CommandKind = "agent" // the agent's own
)

// Argument is one argument of a command.
type Argument struct {
	Name        string
	Description string
	Required    bool
}

// Agent finds an agent; the empty name is the default one.
func (p *Profile) Agent(name string) (Agent, bool) {
	for _, a := range p.Agents {
		if name == "" || a.Name == name {
			return a, true
		}
	}
	for _, a := range p.Subagents {
		if a.Name == name {
			return a, true
		}
	}
	return Agent{}, false
}
