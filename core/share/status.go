package share

import (
	"context"

	"dragoman/core"
)

// Status lists the clients of a session in the process that owns it.
type Status struct {
	ID      core.SessionID  `json:"id"`
	Clients []core.Attendee `json:"clients,omitempty"`
}

type statusParams struct {
	Principal core.Principal `json:"principal"`
}

// Status asks the process at an address (core.Journal.Owner) for the sessions of a principal that it owns.
// It blocks until the process answers or ctx ends.
func (s *Sharing) Status(ctx context.Context, address string, p core.Principal) (list []Status, err error) {
	l, err := s.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	defer l.close()
	if err := l.call(ctx, methodStatus, statusParams{p}, &list); err != nil {
		if fault, ok := faultOf(err); ok {
			err = fault
		}
		return nil, err
	}
	return list, nil
}

func (g *guest) status(_ context.Context, p statusParams) ([]Status, error) {
	g.mu.Lock()
	known := g.known
	g.mu.Unlock()
	if !known {
		return nil, withFault(errStranger)
	}
	g.of.mu.Lock()
	var open []*session
	for k, s := range g.of.sessions {
		if k.principal == p.Principal {
			open = append(open, s)
		}
	}
	g.of.mu.Unlock()
	list := []Status{}
	for _, s := range open {
		if s.Owned() {
			list = append(list, Status{s.key.id, s.Attendees()})
		}
	}
	return list, nil
}
