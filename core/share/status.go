package share

import (
	"context"

	"dragoman/core"
)

// Status is the state of a session in the process that owns it.
type Status struct {
	ID      core.SessionID  `json:"id"`
	Clients []core.Attendee `json:"clients,omitempty"`
	Running bool            `json:"running,omitempty"` // a turn runs
	Queued  int             `json:"queued,omitempty"`  // prompts that wait
	Asks    []string        `json:"asks,omitempty"`    // what waits for a person, in words
}

type statusParams struct {
	Principal core.Principal `json:"principal"`
}

type statusResult struct {
	Node     string   `json:"node"`
	Sessions []Status `json:"sessions"`
}

// Status asks the process at an address (core.Journal.Owner) for the sessions of a principal that it owns.
// It also returns the description of the process. It blocks until the process answers or ctx ends.
func (s *Sharing) Status(ctx context.Context, address string, p core.Principal) (node string, list []Status, err error) {
	l, err := s.dial(ctx, address)
	if err != nil {
		return "", nil, err
	}
	defer l.close()
	var is statusResult
	if err := l.call(ctx, methodStatus, statusParams{p}, &is); err != nil {
		if fault, ok := faultOf(err); ok {
			err = fault
		}
		return "", nil, err
	}
	return is.Node, is.Sessions, nil
}

func (g *guest) status(_ context.Context, p statusParams) (is statusResult, err error) {
	g.mu.Lock()
	known := g.known
	g.mu.Unlock()
	if !known {
		return is, withFault(errStranger)
	}
	g.of.mu.Lock()
	var open []*session
	for k, s := range g.of.sessions {
		if k.principal == p.Principal {
			open = append(open, s)
		}
	}
	g.of.mu.Unlock()
	is.Node = g.of.o.Node
	for _, s := range open {
		if s.Owned() {
			is.Sessions = append(is.Sessions, s.status())
		}
	}
	return is, nil
}

// status returns the state of a session that this process owns.
func (s *session) status() Status {
	is := Status{ID: s.key.id, Clients: s.Attendees()}
	s.View(func(st *core.State) {
		is.Running, is.Queued = st.Turn != "", len(st.Queued)
		for _, a := range st.Asks {
			is.Asks = append(is.Asks, a.Text)
		}
	})
	return is
}
