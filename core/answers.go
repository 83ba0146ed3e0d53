package core

// person stands for everybody who is no Caller, where an answer says who gave it.
const person Caller = "person"

// Personal reports whether a person prompted: somebody in an editor or a terminal, who
// set no approvals of their own. Only such a turn has the session's trust, and what a
// person has allowed for the session.
func (o Origin) Personal() bool { return o.Caller == "" && o.Approvals == "" }

// answers are the decisions for the session, by who gave them and by their key.
type answers map[Caller]map[string]Decision

// signed is a reply as the log has it: one that will be found again says who gave it,
// also where that was a person.
func signed(r Reply) Reply {
	if r.Remember != "" && r.Caller == "" {
		r.Caller = person
	}
	return r
}

// add keeps what was answered in a turn. A person's answer about what a program's turn
// does counts in that program's turns as well.
func (a answers) add(r Reply, turn Origin) {
	if r.Remember == "" || r.Outcome != OutcomeDecided {
		return
	}
	by := r.Caller
	if by == "" { // from a log of before answers said who gave them
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

// merge takes over what another fold of the log has kept.
func (a answers) merge(from answers) {
	for by, list := range from {
		for key, d := range list {
			a.set(by, key, d)
		}
	}
}

// of are the decisions that count in a turn. What a person has rejected is rejected in
// every turn; what was allowed, or what a program has rejected, counts only in the turns
// of whoever answered.
func (a answers) of(turn Origin) map[string]Decision {
	list := map[string]Decision{}
	if turn.Caller != "" {
		for key, d := range a[turn.Caller] {
			list[key] = d
		}
	}
	for key, d := range a[person] {
		if turn.Personal() || d == RejectAlways {
			list[key] = d
		}
	}
	return list
}
