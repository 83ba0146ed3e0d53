// Package slash has the commands that a user can begin a prompt with.
package slash

import (
	"slices"

	"dragoman/core/internal/capability"
)

// Kind says whose a command is.
type Kind string

const (
	Builtin Kind = "builtin"
	Custom  Kind = "custom"
	Skill   Kind = "skill"
	MCP     Kind = "mcp"
	Agent   Kind = "agent"
)

// Command is something that a user can begin a prompt with: "/NAME arguments".
type Command struct {
	Kind        Kind       `json:"kind,omitempty"`
	Name        string     `json:"name"` // without the slash
	Description string     `json:"description,omitempty"`
	Arguments   []Argument `json:"arguments,omitempty"`
	// Needs is the capability of the agent that it needs; empty: none.
	Needs  capability.Name `json:"needs,omitempty"`
	Yields bool            `json:"yields,omitempty"` // GivesWay, of a built-in command
	// Unlisted: it is listed only where there is something for it to act on.
	Unlisted bool `json:"unlisted,omitempty"`
}

// Argument is one argument of a command.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Result is the effect of a command: a text for the model that replaces the prompt (Prompt), or a
// summary that replaces the conversation (Compact). Without either the turn is over, with an
// answer that needs no model, or with the events that were emitted.
type Result struct {
	Prompt  string
	Answer  string
	Compact bool
	Focus   string // of Compact: the focus of the summary
}

// GivesWay reports whether a command of the same name that is the agent's own comes first. It
// does, unless ours is about the session.
func (c Command) GivesWay() bool { return c.Yields || c.Kind != Builtin }

// Own returns commands as an agent's own.
func Own(list []Command) []Command {
	own := slices.Clone(list)
	for i := range own {
		own[i].Kind = Agent
	}
	return own
}

// Has reports whether a list has a command of a name.
func Has(list []Command, name string) bool {
	return slices.ContainsFunc(list, func(c Command) bool { return c.Name == name })
}

// Merge adds an agent's own commands to ours, in place. Of two with the same name, the agent's wins
// if ours gives way. Commands that need a capability which the agent is known to lack are left out;
// nil: nothing is known.
func Merge(ours, own []Command, caps *capability.Caps) []Command {
	list := slices.DeleteFunc(ours, func(c Command) bool {
		return c.GivesWay() && Has(own, c.Name) || c.Needs != "" && caps != nil && !capability.Has(*caps, c.Needs)
	})
	for _, c := range own {
		if !Has(list, c.Name) {
			list = append(list, c)
		}
	}
	return list
}
