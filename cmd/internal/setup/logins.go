package setup

import (
	"context"
	"fmt"

	"dragoman/adapters/acp"
	"dragoman/bridge/agent"
)

// Logins returns the logins of external agents, for a client that shows them.
func (c *Client) Logins() acp.Logins { return logins{c} }

// logins implements acp.Logins.
type logins struct{ c *Client }

var _ acp.Logins = logins{}

// program returns the back end of an external agent; nil: there is none of that name.
func (l logins) program(ctx context.Context, name string) *agent.Backend {
	prof, err := l.c.Profile(ctx, nil)
	if err != nil {
		return nil // sessions report it
	}
	a, _ := prof.Agent(name)
	b := a.Backend
	if f, ok := b.(*faultBackend); ok {
		b = f.Backend
	}
	p, _ := b.(*agent.Backend)
	return p
}

// Methods implements acp.Logins.
func (l logins) Methods(name string) (list []acp.Login, wanted bool) {
	p := l.program(context.Background(), name)
	if p == nil {
		return nil, false
	}
	own, _ := p.SignIns()
	for _, m := range own {
		list = append(list, acp.Login{ID: m.ID, Name: m.Name, Description: m.Description, Terminal: m.Terminal})
	}
	return list, p.WantsSignIn()
}

// Authenticate implements acp.Logins.
func (l logins) Authenticate(ctx context.Context, name, method string) error {
	p := l.program(ctx, name)
	if p == nil {
		return noProgram(name)
	}
	return p.Authenticate(ctx, method)
}

// Logout implements acp.Logins.
func (l logins) Logout(ctx context.Context, name string) error {
	p := l.program(ctx, name)
	if p == nil {
		return noProgram(name)
	}
	return p.Logout(ctx)
}

// Status implements acp.Logins.
func (l logins) Status(ctx context.Context, name string) acp.AuthStatus {
	var is acp.AuthStatus
	if p := l.program(ctx, name); p != nil {
		is, _ = p.SignInStatus(ctx) // with an error it is unknown
	}
	return is
}

func noProgram(name string) error {
	return fmt.Errorf("there is no external agent %q any more", name)
}
