package sessions

import (
	"context"
	"time"

	"dragoman/core"
	"dragoman/core/company"
	"dragoman/core/display"
	"dragoman/core/jsonl"
	"dragoman/core/share"
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
		owner := store.Owner(core.Local, id)
		if owner.Node == "" {
			return Live{}, false
		}
		l := Live{Owner: owner.Node}
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

// answerFor is the time for a process to say who uses its sessions.
const answerFor = time.Second

// asked finds what files tell, and asks the owner who is attached. An owner that does not answer says
// nothing.
func asked(store *jsonl.Store, g *core.Gateway, sharing *share.Sharing) liveness {
	known := stored(store, g)
	said := map[string][]share.Status{} // by address
	return func(ctx context.Context, id core.SessionID) (Live, bool) {
		l, ok := known(ctx, id)
		at := store.Owner(core.Local, id).Address
		if !ok || at == "" {
			return l, ok
		}
		list, was := said[at]
		if !was {
			brief, done := context.WithTimeout(ctx, answerFor)
			list, _ = sharing.Status(brief, at, core.Local)
			done()
			said[at] = list
		}
		for _, s := range list {
			if s.ID == id {
				l.Clients = company.Names(s.Clients, "")
			}
		}
		return l, ok
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
