package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"dragoman/adapters/acp"
	"dragoman/bridge/agent"
	"dragoman/bridge/agent/signin"
	"dragoman/cmd/internal/agents"
	"dragoman/cmd/internal/program"
	"dragoman/core"
	"dragoman/core/commands"
)

// Logins returns the logins of external agents, for a client that shows them.
func (c *Client) Logins() acp.Logins { return logins{c} }

// logins implements acp.Logins.
type logins struct{ c *Client }

var _ acp.Logins = logins{}

// External implements acp.Logins.
func (l logins) External() (names []string, first string) {
	e := l.c.edition()
	c, err := e.configured()
	if err != nil {
		return nil, "" // sessions report it
	}
	roles, err := newRoles(c, e.env.Lookup)
	if err != nil {
		return nil, ""
	}
	for _, r := range roles {
		if r.program != nil && r.Primary {
			names = append(names, r.Name)
		}
	}
	if chosen := cmp.Or(e.chosen, c.DefaultAgent, codeAgent); slices.Contains(names, chosen) {
		first = chosen
	}
	return names, first
}

// program returns the back end of an external agent; nil: there is none of that name.
func (l logins) program(ctx context.Context, name string) agents.Backend {
	prof, err := l.c.Profile(ctx, nil)
	if err != nil {
		return nil // sessions report it
	}
	return programOf(prof, name)
}

// programOf returns the back end of an external agent of a profile; nil: there is none of that name.
func programOf(prof *core.Profile, name string) agents.Backend {
	a, _ := prof.Agent(name)
	b := a.Backend
	if f, ok := b.(*faultBackend); ok {
		b = f.Backend
	}
	p, _ := b.(agents.Backend)
	return p
}

// Methods implements acp.Logins.
func (l logins) Methods(name string) (list []acp.Login, wanted, known bool) {
	p := l.program(context.Background(), name)
	if p == nil {
		return nil, false, false
	}
	own, wanted, known := p.SignIns()
	for _, m := range own {
		if len(m.Vars) == 0 { // a variable is set where we are started
			list = append(list, acp.Login{ID: m.ID, Name: m.Name, Description: m.Description, Terminal: m.Terminal})
		}
	}
	return list, wanted, known
}

// Authenticate implements acp.Logins.
func (l logins) Authenticate(ctx context.Context, name, method string, show acp.ShowPage) error {
	p := l.program(ctx, name)
	if p == nil {
		return noProgram(name)
	}
	err := p.Authenticate(ctx, method, func(ctx context.Context, s signin.Saying) bool {
		switch {
		case s.URL == "": // editors have no other place for it outside of sessions
			l.c.process.log.Logger.Warn("the agent says about the login", zap.String("agent", name), zap.String("text", s.Text))
			return true
		case show != nil:
			return show(ctx, s.Text, s.URL)
		}
		return browse(l.c.process.env, s.URL)
	})
	if other := new(signin.NoMethodError); errors.As(err, &other) {
		return acp.ErrNoMethod
	}
	return err
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
	switch p := l.program(ctx, name).(type) {
	case nil:
	case *agent.Backend:
		is, _ = p.SignInStatus(ctx) // with an error it is unknown
	default:
		if is.State = "unknown"; wants(p) {
			is.State = "unauthenticated"
		}
	}
	return is
}

// wants reports whether an agent's last answer was that it wants a login.
func wants(p agents.Backend) bool {
	_, wanted, _ := p.SignIns()
	return wanted
}

// agentLogins implements commands.AgentLogins.
type agentLogins struct{ p *edition }

var _ commands.AgentLogins = agentLogins{}

func (l agentLogins) program(name string) (agents.Backend, error) {
	made, err := l.p.Last()
	if err != nil {
		return nil, err
	}
	if p := programOf(&made.Profile, name); p != nil {
		return p, nil
	}
	return nil, noProgram(name)
}

// Methods implements commands.AgentLogins.
func (l agentLogins) Methods(ctx context.Context, name string) (list []commands.AgentLogin, err error) {
	p, err := l.program(name)
	if err != nil {
		return nil, err
	}
	own, err := p.AskSignIns(ctx)
	for _, m := range own {
		list = append(list, commands.AgentLogin{ID: m.ID, Name: m.Name, Terminal: m.Terminal, Instead: p.Instead(m)})
	}
	return list, err
}

// Authenticate implements commands.AgentLogins.
func (l agentLogins) Authenticate(ctx context.Context, name, method string, show func(text, page string)) error {
	p, err := l.program(name)
	if err != nil {
		return err
	}
	return p.Authenticate(ctx, method, func(_ context.Context, s signin.Saying) bool {
		show(s.Text, s.URL)
		browse(l.p.env, s.URL) // else the user has seen the address
		return true
	})
}

// browse opens the page of a login that a person has asked for, and reports whether it has.
func browse(env *program.Environment, page string) bool {
	return page != "" && env.Browse != nil && env.Browse(page) == nil
}

func noProgram(name string) error {
	return fmt.Errorf("there is no external agent %q any more", name)
}
