package agents

import (
	"context"
	"errors"
	"os"

	"dragoman/bridge/agent"
	"dragoman/cmd/internal/integrity"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/child"
)

// Records returns the records of agents' programs.
func Records(env *program.Environment) *integrity.Store {
	data, err := env.DataDir()
	if err != nil {
		return integrity.In("", "") // nothing is stored anywhere
	}
	return integrity.In(data, env.AgentsDir())
}

// Checked returns options of an agent whose program is compared with its record before each start. A
// change is asked about in the session for which it is started, or by ask where there is none (nil:
// nobody is asked).
func Checked(s *integrity.Store, a configs.Agent, ask integrity.Ask, o agent.Options) agent.Options {
	find := o.Program
	o.Program = func(ctx context.Context, h core.Host) (agent.Program, error) {
		p, err := find(ctx, h)
		if err != nil {
			return p, err
		}
		c, err := commandOf(o, a, p)
		if err != nil {
			return p, nil // the start reports what is missing
		}
		ask := ask
		if h != nil {
			ask = hostAsks(h)
		}
		if err := s.Check(ctx, c, ask); err != nil {
			return agent.Program{}, err
		}
		return p, nil // its start finds the same file; the program sees the name that is configured
	}
	return o
}

// commandOf finds the program of an agent that is about to be started.
func commandOf(o agent.Options, a configs.Agent, p agent.Program) (integrity.Command, error) {
	environ := os.Environ
	if o.Environ != nil {
		environ = o.Environ
	}
	path, own := p.Env["PATH"]
	if !own {
		path = child.Lookup(environ(), "PATH")
	}
	found, err := child.Find(p.Path, []string{"PATH=" + path}, "")
	return integrity.Command{Agent: o.Name, Words: Words(a), Path: found, Args: p.Args}, err
}

// hostAsks asks the user of a session.
func hostAsks(h core.Host) integrity.Ask {
	const yes = "yes"
	return func(ctx context.Context, c integrity.Change) (bool, error) {
		r, err := h.Ask(ctx, core.Ask{
			Kind: core.AskConsent, Hard: true, Text: c.Text(),
			Options: []core.Option{
				{ID: yes, Label: "Use it from now on", Decision: core.AllowOnce},
				{ID: "no", Label: "Do not start it", Decision: core.RejectOnce},
			},
		})
		if err != nil {
			return false, err
		}
		if r.Outcome != core.OutcomeAnswered && r.Outcome != core.OutcomeDeclined {
			return false, errors.New("nobody has answered")
		}
		return r.Outcome == core.OutcomeAnswered && r.Option == yes, nil
	}
}

// asking asks a person at the terminal.
func asking(env *program.Environment) integrity.Ask {
	return func(_ context.Context, c integrity.Change) (bool, error) {
		if !terminal.Is(env.In) {
			return false, errors.New("there is no terminal to ask at")
		}
		return terminal.Confirm(env, c.Text())
	}
}

// compared compares the program of an agent with its record, without starting it.
func compared(ctx context.Context, env *program.Environment, name string, a configs.Agent, ask integrity.Ask) error {
	started, _ := a.Program()
	p, err := resolve(ctx, configs.AgentProgram{Command: started.Command}, env.Lookup, nil)
	if err != nil {
		return err
	}
	if p.Path, err = Find(ctx, a, env); err != nil {
		return err
	}
	return Records(env).Check(ctx, integrity.Command{Agent: name, Words: Words(a), Path: p.Path, Args: p.Args}, ask)
}
