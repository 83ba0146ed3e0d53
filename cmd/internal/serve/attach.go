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
	"dragoman/cmd/internal/terminal/history"
	"dragoman/core"
)

// AttachOptions describe a client that joins a session.
type AttachOptions struct {
	Session  string // its id or the beginning of that; empty: the session of the folder that is in use, or was last
	ReadOnly bool
	Plain    bool
}

// Attach joins a session that others may use at the same time.
func Attach(ctx context.Context, o setup.Options, a AttachOptions) error {
	return run(ctx, o, setup.ClientOptions{People: true}, false, func(ctx context.Context, c *connection) error {
		return c.attach(ctx, o.Env, a)
	})
}

func (g *connection) attach(ctx context.Context, env *program.Environment, a AttachOptions) error {
	session, err := g.joined(ctx, a.Session)
	if err != nil {
		return err
	}
	folder, err := env.DataDir()
	if err != nil {
		return err
	}
	return terminal.Chat(ctx, terminal.ChatOptions{
		Program:   env,
		Gateway:   g.Gateway,
		Principal: g.principal,
		Profiles:  g.profiles,
		Session:   session,
		History:   history.In(folder),
		Present:   g.present,
		Changes:   g.presentChanges,
		Plain:     a.Plain,
		Attach:    true,
		ReadOnly:  a.ReadOnly,
		Hosts:     g.hosts,
		Gone:      g.gone,
	})
}

// gone reports whether a session was deleted.
func (g *connection) gone(ctx context.Context, id core.SessionID) bool {
	j, err := g.store.Open(ctx, g.principal, id)
	if err != nil {
		return errors.Is(err, core.ErrNotFound)
	}
	_ = j.Close() // it was only opened
	return false
}

// joined opens the session to attach to.
func (g *connection) joined(ctx context.Context, id string) (*core.Session, error) {
	if id != "" {
		return sessions.Find(ctx, g.Gateway, id)
	}
	folder, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working folder: %w", err)
	}
	return sessions.InUse(ctx, g.Gateway, g.store, folder)
}
