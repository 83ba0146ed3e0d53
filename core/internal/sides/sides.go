// Package sides keeps where the agents of a session find their own sides of it again.
package sides

import (
	"encoding/json"
	"slices"
)

// Side is an agent's own side of a session. Heard is the end of the part of the log that the agent
// knows, because another one has answered since; the zero value: it takes part.
type Side[Pos comparable] struct {
	Agent string
	State json.RawMessage
	Heard Pos
}

// Set has a side for each agent. It is never changed in place.
type Set[Pos comparable] []Side[Pos]

func (s Side[Pos]) present() bool {
	var all Pos
	return s.Heard == all
}

// With returns the set with another side. One without a State, in the log of an earlier version, means
// that no agent has a side any more.
func (s Set[Pos]) With(side Side[Pos]) (set Set[Pos]) {
	if len(side.State) == 0 {
		return nil
	}
	for _, b := range s {
		if b.Agent != side.Agent {
			set = append(set, b)
		}
	}
	return append(set, side)
}

// Of returns the side of an agent; the zero value: it has none.
func (s Set[Pos]) Of(agent string) (side Side[Pos]) {
	return s.first(func(b Side[Pos]) bool { return b.Agent == agent })
}

// Present returns the side of the agent that takes part.
func (s Set[Pos]) Present() (side Side[Pos]) { return s.first(Side[Pos].present) }

func (s Set[Pos]) first(is func(Side[Pos]) bool) (side Side[Pos]) {
	if i := slices.IndexFunc(s, is); i >= 0 {
		side = s[i]
	}
	return side
}

// Left lists the sides that change because one agent answers from a position on: the others that take
// part have heard what is before it.
func (s Set[Pos]) Left(agent string, at Pos) (changed []Side[Pos]) {
	for _, b := range s {
		if b.Agent != agent && b.present() {
			b.Heard = at
			changed = append(changed, b)
		}
	}
	return changed
}

// Truncated returns the sides that a truncation leaves: those of agents that have heard nothing of what
// it hides, and that of the agent that answers now, which has agreed to it.
func (s Set[Pos]) Truncated(hides func(Pos) bool, agent string) (set Set[Pos]) {
	for _, b := range s {
		if b.present() && b.Agent == agent || !b.present() && !hides(b.Heard) {
			set = append(set, b)
		}
	}
	return set
}
