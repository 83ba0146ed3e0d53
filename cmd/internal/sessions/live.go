package sessions

import (
	"context"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonl"
)

// Live describes a session that a living process has open.
type Live struct {
	Owner   string   // the process and its host, for people
	Clients []string // attached to it, for people; nil: they are not known
	Running bool     // a turn runs
	Waiting []string // what waits for a person, in words
}

// liveness finds what is known about a session; ok is false if no process has it open.
type liveness func(context.Context, core.SessionID) (l Live, ok bool)

// state returns the state of a session in a word; empty: no process has it open.
func (l Live) state() string {
	switch {
	case len(l.Waiting) > 0:
		return "waiting"
	case l.Running:
		return "running"
	case l.Owner != "":
		return "idle"
	}
	return ""
}

// stored finds what files tell: the owner, and from the log of an owned session the rest. A log
// that cannot be read tells nothing.
func stored(store *jsonl.Store, g *core.Gateway) liveness {
	return func(ctx context.Context, id core.SessionID) (Live, bool) {
		node, _ := store.Owner(core.Local, id)
		if node == "" {
			return Live{}, false
		}
		l := Live{Owner: node}
		s, err := g.Open(ctx, core.Local, id)
		if err != nil {
			return l, true
		}
		st := s.State()
		l.Running = st.Turn != ""
		l.Waiting = waiting(ctx, s, st.Asks)
		return l, true
	}
}

// waiting describes questions: an approval by its call.
func waiting(ctx context.Context, s *core.Session, asks []core.Ask) (list []string) {
	if len(asks) == 0 {
		return nil
	}
	att := s.Attach(core.Client{Name: "dragoman sessions list", Role: core.Observe})
	defer att.Close()
	titles := map[core.CallID]string{}
	for r, err := range att.Records(ctx, core.Pos{}, att.Head()) {
		if err != nil {
			break
		}
		if e, ok := r.Event.(core.CallChanged); ok && e.Call.State == core.Awaiting {
			titles[e.Call.ID] = e.Call.Title
		}
	}
	for _, a := range asks {
		text := a.Text
		if a.Kind == core.AskApproval {
			if text = titles[a.Call]; a.About != nil {
				text = a.About.Title
			}
			text = "approval: " + text
		}
		list = append(list, display.Line(text, 200))
	}
	return list
}
