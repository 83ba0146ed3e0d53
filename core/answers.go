package core

import "dragoman/core/internal/remembered"

// Personal reports whether a person prompted, in an editor or a terminal, without approvals
// of their own. Only such a turn has the session's trust, and a person's approvals for the session.
func (o Origin) Personal() bool { return o.Caller == "" && o.Approvals == "" }

// turn returns what answers for the session depend on.
func (o Origin) turn() remembered.Turn[Caller] {
	return remembered.Turn[Caller]{Client: o.Client, Caller: o.Caller, Personal: o.Personal()}
}

// signed returns a reply as it is logged: if it is remembered it names its giver, even a person.
func signed(r Reply) Reply {
	if r.Remember != "" && r.Caller == "" {
		r.Caller = remembered.Person
	}
	return r
}
