package serve

import (
	"context"
	"errors"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/setup"
	"dragoman/cmd/internal/terminal"
	"dragoman/cmd/internal/terminal/history"
	"dragoman/core"
)

// Chat talks to a person at a terminal, without moving the cursor if plain is set. resume is the id of the session to continue, or the
// beginning of the id; empty: a new one.
func Chat(ctx context.Context, o setup.Options, resume string, set core.Settings, plain bool) error {
	return run(ctx, o, setup.ClientOptions{People: true}, false, func(ctx context.Context, c *connection) error {
		return c.chat(ctx, o.Env, resume, set, plain)
	})
}

func (g *connection) chat(
	ctx context.Context,
	env *program.Environment,
	resume string,
	set core.Settings,
	plain bool,
) error {
	begin, err := g.begin(ctx, resume, set)
	if err != nil {
		return err
	}
	folder, err := env.DataDir()
	if err != nil {
		return err
	}
	session, err := begin.session(ctx)
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
		Profile:   &begin.profile.Profile,
		History:   history.In(folder),
		Present:   g.present,
		Changes:   g.presentChanges,
		Plain:     plain,
		Hosts:     g.hosts,
	})
	return errors.Join(err, begin.end(ctx, session))
}

// hosts reports whether the turns of a session run in this process.
func (g *connection) hosts(id core.SessionID) bool {
	here := g.store.Owner(g.principal, id).Here
	return here
}
