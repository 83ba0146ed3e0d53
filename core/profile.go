package core

import (
	"context"
	"time"
)

// Settings are what a user chooses for a session. Empty fields mean the
// profile's default.
type Settings struct {
	Agent  string `json:"agent,omitempty"`
	Model  string `json:"model,omitempty"` // PROVIDER/MODEL
	Effort string `json:"effort,omitempty"`
	Trust  bool   `json:"trust,omitempty"` // what would be asked is allowed
}

// Agent is something that runs turns, by name.
type Agent struct {
	Name        string
	Description string
	Backend     Backend
}

// Profile is what the configuration offers in a workspace. It is immutable: a
// reload makes a new one, which sessions take up at their next turn.
type Profile struct {
	Agents       []Agent // the first is the default
	Models       []ModelInfo
	DefaultModel string
	Toolboxes    []Toolbox
	Policy       Policy
	AskTimeout   time.Duration // until an Ask expires; 0: one hour
	// Commands lists what a user can begin a prompt with, behind a slash; nil: none.
	Commands func(ctx context.Context, roots []string) []Command
}

// Command is something that a user can begin a prompt with: "/NAME arguments".
type Command struct {
	Kind        CommandKind
	Name        string // without the slash
	Description string
	Arguments   []Argument
}

// CommandKind says whose a command is.
type CommandKind string

const (
	CommandBuiltin CommandKind = "builtin"
	CommandCustom  CommandKind = "custom" // a text of the workspace's or the user's
	CommandSkill   CommandKind = "skill"
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
	return Agent{}, false
}
