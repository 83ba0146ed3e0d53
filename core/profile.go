package core

import (
	"context"
	"time"

	"dragoman/core/internal/choices"
	"dragoman/core/internal/slash"
)

// Settings are a user's choices for a session. Empty fields mean the
// profile's default.
type Settings struct {
	Agent  string `json:"agent,omitempty"`
	Model  string `json:"model,omitempty"` // PROVIDER/MODEL
	Effort string `json:"effort,omitempty"`
	Trust  bool   `json:"trust,omitempty"` // what would be asked is allowed
	// Choices are the values of options that an agent behind the gateway offers.
	Choices Choices `json:"choices,omitempty"`
}

type (
	// Choices holds values of options by their ids. It can be compared; the zero value has none.
	Choices = choices.Choices
	// Choice is an option of an agent behind the gateway, and its current value.
	Choice = choices.Option
	// ChoiceValue is a value that can be chosen.
	ChoiceValue = choices.Value
)

// Agent is something that runs turns, by name. Agents of one Name and Rev have the same
// Backend. A change of its settings makes another Rev. A Rev is never used again after Gateway.Retire.
type Agent struct {
	Name        string
	Rev         string
	Description string
	Backend     Backend
	Model       string // its own, as PROVIDER/MODEL; empty: the default one, or models that only it knows
	External    bool   // a program behind the gateway, with options and commands of its own
}

// Profile is the effective configuration of a workspace. It is immutable: a reload makes a new
// one. Sessions use it from their next turn on, and its policy from their next call on.
type Profile struct {
	Agents     []Agent // the first is the default
	Toolboxes  []Toolbox
	Policy     Policy
	AskTimeout time.Duration // until an Ask expires; 0: one hour
	Limits     Limits        // nil: there are none
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
	// The others are for clients and tools; core only passes them on, and nil means that there are
	// none here. Models are the language models (see package inference). Workspace is what prompts can refer to (see package workspace). Accounts are the
	// keys of providers, and Servers the configured MCP servers (see package control).
	Models    Models
	Workspace Workspace
	Accounts  Accounts
	Servers   Servers
}

// Models is implemented by inference.Models, Workspace by workspace.Contents, Accounts by control.Accounts and Servers by
// control.Servers alone. Their methods do nothing.
type (
	Models    interface{ Models() }
	Workspace interface{ Workspace() }
	Accounts  interface{ Keys() }
	Servers   interface{ Configured() }
)

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

type (
	// Command is something that a user can begin a prompt with: "/NAME arguments". GivesWay says
	// whether an agent's own of the same name comes first.
	Command = slash.Command
	// Argument is one argument of a command.
	Argument = slash.Argument
	// CommandResult is the effect of a command: a text for the model that replaces the prompt
	// (Prompt), or a summary that replaces the conversation (Compact). Without either the turn is
	// over, with an Answer that needs no model, or with the events that were emitted.
	CommandResult = slash.Result
	// CommandKind says whose a command is.
	CommandKind = slash.Kind
)

const (
	CommandBuiltin = slash.Builtin
	CommandCustom  = slash.Custom // a text of the workspace's or the user's
	CommandSkill   = slash.Skill
	CommandMCP     = slash.MCP   // a prompt of an MCP server
	CommandAgent   = slash.Agent // the agent's own
)

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
