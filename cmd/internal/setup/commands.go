package setup

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"dragoman/cmd/internal/doctor"
	"dragoman/cmd/internal/export"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/commands"
	"dragoman/core/guide"
)

// newCommands returns the commands at the beginning of a prompt.
func (p *edition) newCommands() *commands.Commands {
	return &commands.Commands{
		Guide: func(ctx context.Context, roots []string) commands.Guide {
			if have := p.guides.last(ctx, roots); have != nil {
				return have
			}
			return nil
		},
		ServerPrompt: func(
			ctx context.Context, m core.Meta, name, args string, waiting func(string),
		) (string, bool, error) {
			if box := p.servers.of(p); box != nil {
				return box.Expand(ctx, m, name, args, waiting)
			}
			return "", false, nil
		},
		Load:     p.forCommands,
		Accounts: func() commands.Accounts { return p.Accounts() },
		Agents:   func() commands.AgentLogins { return agentLogins{p} },
		Gateway:  func() *core.Gateway { return p.gateway },
		People:   func() bool { return p.layerNow().people },
		Doctor:   p.doctorText,
		Export:   p.export,
		Suggest:  configs.Suggest,
	}
}

// command implements core.Profile.Command.
func (p *edition) command(ctx context.Context, t *core.Turn, text string) (core.CommandResult, bool, error) {
	if err := p.reportFault(ctx, t); err != nil {
		return core.CommandResult{}, false, err
	}
	return p.slash.Run(ctx, t, text)
}

// builtIns lists the built-in commands in the form of a guide.
func builtIns() (list []guide.BuiltIn) {
	for _, b := range commands.Table() {
		list = append(list, guide.BuiltIn(b))
	}
	return list
}

// forCommands returns the configuration in use in the form of package commands.
func (p *edition) forCommands() (commands.Profile, error) {
	made, err := p.Last()
	if err != nil {
		return commands.Profile{}, err
	}
	c := commands.Profile{
		CheckKey: func(model string) error {
			if model == configs.OfflineProvider+"/"+configs.OfflineModel {
				return nil
			}
			provider, _, _ := strings.Cut(model, "/")
			return keyProblem(made.Config.CheckKey(provider, p.env.Lookup, p.logins))
		},
		CheckModel: made.CheckModel,
		Config:     func() string { return string(configs.Marshal(made.Config)) },
	}
	if made.Config.Source != "" {
		c.ConfigFiles = append(c.ConfigFiles, made.Config.Source)
	}
	for _, file := range []string{made.Config.ServersFile, made.Config.AgentsFile} {
		if file != "" {
			c.ConfigFiles = append(c.ConfigFiles, file)
		}
	}
	return c, nil
}

// keyProblem returns the reason why there is no key, without the position in the
// configuration.
func keyProblem(err error) error {
	if all := (*configs.Error)(nil); errors.As(err, &all) {
		return errors.New(all.Problems[0].Message)
	}
	return err
}

// doctorText returns the doctor's findings.
func (p *edition) doctorText(ctx context.Context, t *core.Turn) string {
	s := doctor.Session{
		Editor: p.layerNow().editor,
		Fault:  p.faultNow(),
		Guide:  p.guides.last(ctx, t.Meta().Roots),
	}
	if base, err := p.Last(); err == nil && s.Guide != nil {
		_, s.Agents = fileRoles(base.roles, s.Guide.Agents(), base.offers)
	}
	return doctor.New(p.env, p.secrets).Text(ctx, s)
}

// export writes a session into a file, if the user's rules allow it. If a program prompts, only a
// rule can allow it.
func (p *edition) export(ctx context.Context, s *core.Session, t *core.Turn, name string) (string, error) {
	return export.Session(ctx, s, t, name, func(a core.Access) string { return p.forbidden(t, a) })
}

// forbidden returns the reason why the policy forbids writing the file; "": it may be written.
// Writing has the effect of a tool call, so the rules are read first, as before a call.
func (p *edition) forbidden(t *core.Turn, access core.Access) string {
	made, err := p.Load()
	if err != nil {
		return err.Error()
	}
	v := made.Rights.Rules.Decide(core.Check{
		Call: core.Call{
			Server: core.Native,
			Tool:   "write_file",
			Kind:   core.KindEdit,
			Args:   json.RawMessage("{}"),
		},
		Spec:   core.Spec{Server: core.Native, Name: "write_file", Kind: core.KindEdit},
		Access: []core.Access{access},
		Meta:   t.Meta(),
		Origin: t.Origin(),
	})
	switch v.Effect {
	case core.Allow:
		return ""
	case core.MustAsk:
		if p.layerNow().people {
			return ""
		}
		return v.Why + ", and a program cannot give it"
	case core.Deny:
	}
	return v.Why
}
