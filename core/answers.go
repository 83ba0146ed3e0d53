package core

import (
	"context"

	"dragoman/core/internal/remembered"
)

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

// from returns the session that has handed the turn over as a task; nil: none has.
func (t *Turn) from() *Session {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.by == nil || t.by.client.task {
		return s.parent
	}
	return nil // a client has prompted in the session of a task
}

// heed has a task take over the trust of the delegating session where that was given or withdrawn
// since the task began, or since the last call.
func (t *Turn) heed(ctx context.Context) error {
	from := t.from()
	if from == nil {
		return nil
	}
	s, trust := t.s, from.State().Settings.Trust
	s.mu.Lock()
	set, changed := s.state.Settings, trust != s.heeded
	s.heeded = trust
	s.mu.Unlock()
	if !changed || set.Trust == trust {
		return nil
	}
	set.Trust = trust
	return s.publish(ctx, SettingsChanged{Settings: set, By: from.name()})
}

// standing returns the answers for the whole session that count for a call of a turn now, and the settings.
// For a task those of the delegating session count as well; of two answers a rejection counts.
func (t *Turn) standing(o Origin) (answers map[string]Decision, set Settings) {
	t.s.view(func(st *State) { answers, set = st.answers.Of(o.turn()), st.Settings })
	from := t.from()
	if from == nil {
		return answers, set
	}
	var above map[string]Decision
	from.view(func(st *State) { above = st.answers.Of(o.turn()) })
	for key, d := range above {
		if own, has := answers[key]; !has || own.Allows() {
			answers[key] = d
		}
	}
	return answers, set
}
