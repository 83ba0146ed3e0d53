package core

import (
	"maps"

	"dragoman/core/internal/ledger"
)

// person is the giver of answers that no Caller gave.
const person Caller = "person"

// Personal reports whether a person prompted, in an editor or a terminal, without approvals
// of their own. Only such a turn has the session's trust, and a person's approvals for the session.
func (o Origin) Personal() bool { return o.Caller == "" && o.Approvals == "" }

// answers holds the decisions for the session by giver and by key.
type answers struct {
	ledger.Ledger[Caller, Decision]
}

// signed returns a reply as it is logged: if it is remembered it names its giver, even a person.
func signed(r Reply) Reply {
	if r.Remember != "" && r.Caller == "" {
		r.Caller = person
	}
	return r
}

// add keeps a decision that was made in a turn. What a person decides about a program's turn
// counts in that program's turns as well.
func (a answers) add(r Reply, turn Origin) {
	if r.Remember == "" || r.Outcome != OutcomeDecided {
		return
	}
	by := r.Caller
	if by == "" { // from a log older than the givers of answers
		if r.Decision.Allows() && !(turn.Personal() && r.By == turn.Client) {
			return
		}
		by = person
	}
	a.Set(by, r.Remember, r.Decision)
	if by == person && turn.Caller != "" {
		a.Set(turn.Caller, r.Remember, r.Decision)
	}
}

// of returns the decisions that count in a turn. What a person has rejected is rejected in
// every turn. Every other decision counts only in the turns of its giver.
func (a answers) of(turn Origin) map[string]Decision {
	list := map[string]Decision{}
	if turn.Caller != "" {
		maps.Copy(list, a.Ledger[turn.Caller])
	}
	for key, d := range a.Ledger[person] {
		if turn.Personal() || d == RejectAlways {
			list[key] = d
		}
	}
	return list
}
