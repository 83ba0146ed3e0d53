// Package remembered keeps the answers that count for a whole session, by who gave them.
package remembered

import (
	"maps"

	"dragoman/core/internal/decision"
)

// Person is the giver of answers that no program gave.
const Person = "person"

// Turn is one in which an answer was given, or in which it may count. Caller is the program C that
// prompted; empty: a person, by name of their client. In a Personal turn a person prompted, without
// approvals of their own.
type Turn[C ~string] struct {
	Client   string
	Caller   C
	Personal bool
}

// Answers holds decisions by giver and by key.
type Answers[C ~string] map[C]map[string]decision.Decision

func (a Answers[C]) set(by C, key string, d decision.Decision) {
	if a[by] == nil {
		a[by] = map[string]decision.Decision{}
	}
	a[by][key] = d
}

// Add keeps a decision that a client of a giver made in a turn. What a person decides about a
// program's turn counts in that program's turns as well. In a log older than the givers of answers
// there is no giver: its yes counts if the person who prompted gave it.
func (a Answers[C]) Add(by C, client, key string, d decision.Decision, turn Turn[C]) {
	if by == "" {
		if d.Allows() && !(turn.Personal && client == turn.Client) {
			return
		}
		by = Person
	}
	a.set(by, key, d)
	if by == Person && turn.Caller != "" {
		a.set(turn.Caller, key, d)
	}
}

// Of returns the decisions that count in a turn. What a person has rejected is rejected in every
// turn. Every other decision counts only in the turns of its giver.
func (a Answers[C]) Of(turn Turn[C]) map[string]decision.Decision {
	list := map[string]decision.Decision{}
	if turn.Caller != "" {
		maps.Copy(list, a[turn.Caller])
	}
	for key, d := range a[Person] {
		if turn.Personal || d == decision.RejectAlways {
			list[key] = d
		}
	}
	return list
}

// Merge adds all of another's.
func (a Answers[C]) Merge(from Answers[C]) {
	for by, list := range from {
		for key, d := range list {
			a.set(by, key, d)
		}
	}
}
