package core

import "maps"

// person is the giver of answers that no Caller gave.
const person Caller = "person"

// Personal reports whether a person prompted, in an editor or a terminal, without approvals
// of their own. Only such a turn has the session's trust, and a person's approvals for the
// session.
func (o Origin) Personal() bool { return o.Caller == "" && o.Approvals == "" }

// answers holds the decisions for the session by giver and by key.
type answers map[Caller]map[string]Decision

// signed returns a reply as it is logged: if it is remembered it names its giver, even a
// person.
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
	a.set(by, r.Remember, r.Decision)
	if by == person && turn.Caller != "" {
		a.set(turn.Caller, r.Remember, r.Decision)
	}
}

func (a answers) set(by Caller, key string, d Decision) {
	if a[by] == nil {
		a[by] = map[string]Decision{}
	}
	a[by][key] = d
}

// merge adds the decisions that another fold of the log has kept.
func (a answers) merge(from answers) {
	for by, list := range from {
		for key, d := range list {
			a.set(by, key, d)
		}
	}
}

// of returns the decisions that count in a turn. What a person has rejected is rejected in
// every turn. Every other decision counts only in the turns of its giver.
func (a answers) of(turn Origin) map[string]Decision {
	list := map[string]Decision{}
	if turn.Caller != "" {
		maps.Copy(list, a[turn.Caller])
	}
	for key, d := range a[person] {
		if turn.Personal() || d == RejectAlways {
			list[key] = d
		}
	}
	return list
}
