package main

import (
	"context"
	"errors"
	"strings"

	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/commands"
	"dragoman/core/guide"
)

// newCommands makes the commands that a prompt can begin with.
func (p *profiles) newCommands() *commands.Commands {
	return &commands.Commands{
		Guide: func(ctx context.Context, roots []string) commands.Guide {
			if have := p.guides.of(ctx, roots); have != nil {
				return have
			}
			return nil
		},
		ServerPrompt: func(ctx context.Context, m core.Meta, name, args string) (string, bool, error) {
			if box := p.servers.current(); box != nil {
				return box.Expand(ctx, m, name, args)
			}
			return "", false, nil
		},
		Load:     p.forCommands,
		Accounts: func() commands.Accounts { return p.accounts() },
		Gateway:  func() *core.Gateway { return p.gateway },
		People:   func() bool { return p.people },
		Doctor:   p.doctorText,
		Export:   p.export,
		Suggest:  configs.Suggest,
	}
}

// builtIns are the built-in commands, as a guide lists them.
func builtIns() (list []guide.BuiltIn) {
	for _, b := range commands.Table() {
		list = append(list, guide.BuiltIn(b))
	}
	return list
}

// forCommands returns the configuration in use, as commands need it.
func (p *profiles) forCommands() (commands.Profile, error) {
	made, err := p.load()
	if err != nil {
		return commands.Profile{}, err
	}
	c := commands.Profile{
		Profile: made.Profile,
		CheckKey: func(model string) error {
			if model == configs.OfflineProvider+"/"+configs.OfflineModel {
				return nil
			}
			provider, _, _ := strings.Cut(model, "/")
			return keyProblem(made.config.CheckKey(provider, p.app.Lookup, p.logins))
		},
		CheckModel: func(name string) error {
			if _, err := made.config.FindModel(name); err != nil {
				return errors.New(strings.TrimPrefix(err.Error(), "model "))
			}
			return nil
		},
		Config: func() string { return string(configs.Marshal(made.config)) },
	}
	if made.config.Source != "" {
		c.ConfigFiles = []string{made.config.Source}
	}
	return c, nil
}

// keyProblem is why there is no key, without the place in the configuration, which
// need not name the provider.
func keyProblem(err error) error {
	var all *configs.Error
	if errors.As(err, &all) {
		return errors.New(all.Problems[0].Message + ".")
	}
	return err
}

// doctorText is what the doctor finds, and what is wrong with the files for the
// agent.
func (p *profiles) doctorText(ctx context.Context, t *core.Turn) string {
	p.mu.Lock()
	editor := p.editor
	p.mu.Unlock()
	r := p.app.examine(ctx, editor)
	r.sections = append(r.sections, p.examineGuide(ctx, t.Meta().Roots))
	if fault := p.faultNow(); fault != "" {
		r.sections = append(r.sections, section{"This process", []finding{{wrong, "a configuration that was read earlier goes on; the newest one is not in use:\n" + fault, ""}}})
	}
	var b strings.Builder
	for _, s := range r.sections {
		b.WriteString("**" + s.title + "**\n\n")
		for _, f := range s.findings {
			b.WriteString("- " + string(f.mark) + " " + strings.ReplaceAll(printable(f.text), "\n", "\n  ") + "\n")
			if f.hint != "" {
				b.WriteString("  → " + printable(f.hint) + "\n")
			}
		}
		b.WriteString("\n")
	}
	return b.String() + r.verdict() + "\n"
}

// examineGuide looks at what files tell the agent.
func (p *profiles) examineGuide(ctx context.Context, roots []string) section {
	s := section{title: "Files for the agent"}
	have := p.guides.of(ctx, roots)
	if have == nil {
		s.add(look, "the workspace's folders cannot be read")
		return s
	}
	s.add(plain, "instructions: %d, rules: %d, skills: %d, agents: %d", len(have.Instructions()), len(have.Rules()), len(have.Skills()), len(have.Agents()))
	for _, w := range have.Warnings() {
		s.add(look, "%s", w)
	}
	if base, err := p.load(); err == nil {
		_, warnings := fileRoles(base.roles, have.Agents(), base.offers)
		for _, w := range warnings {
			s.add(look, "%s", w)
		}
	}
	return s
}
