package serve

import (
	"context"
	"errors"
	"fmt"
	"os"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/sessions"
	"dragoman/cmd/internal/setup"
	"dragoman/cmd/internal/terminal"
	"dragoman/core"
	"dragoman/core/inference"
)

// Chat talks to a person at a terminal. resume is the id of the session to continue, or the
// beginning of the id; empty: a new one.
func Chat(ctx context.Context, o setup.Options, resume string, set core.Settings) error {
	return run(
		ctx,
		o,
		false,
		func(ctx context.Context, g *gateway) error {
			c := g.connect(setup.ClientOptions{People: true})
			defer c.profiles.Close()
			return c.chat(ctx, o.Env, resume, set)
		},
	)
}

func (g *connection) chat(
	ctx context.Context,
	env *program.Environment,
	resume string,
	set core.Settings,
) error {
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	profile, err := g.profiles.In(ctx, []string{cwd})
	if err != nil {
		return program.ConfigError(err)
	}
	if _, ok := profile.Agent(set.Agent); !ok {
		return fmt.Errorf("there is no agent %q; there are %s", set.Agent, setup.AgentNames(profile.Agents))
	}
	session, err := g.chatSession(ctx, resume, cwd)
	if err != nil {
		return err
	}
	err = terminal.Chat(ctx, terminal.ChatOptions{
		Program:   env,
		Gateway:   g.Gateway,
		Principal: g.principal,
		Profiles:  g.profiles,
		Session:   session,
		Settings:  set,
		Model:     inference.ModelsOf(&profile.Profile).Default,
		Offline:   profile.Finder.Choice.Offline(),
	})
	if resume == "" && session.State().Messages == 0 { // an unused session is not worth keeping
		err = errors.Join(err, g.Gateway.Delete(context.WithoutCancel(ctx), g.principal, session.Meta().ID))
	}
	return err
}

// chatSession opens a session by its id, or creates one for the working folder.
func (g *connection) chatSession(ctx context.Context, id, cwd string) (*core.Session, error) {
	if id != "" {
		return sessions.Find(ctx, g.Gateway, id)
	}
	s, err := g.Gateway.Create(ctx, core.Meta{Principal: g.principal, Cwd: cwd})
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, program.OtherData)
	}
	return s, nil
}
