package serve

import (
	"context"
	"errors"
	"fmt"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/setup"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/display"
)

// RunOptions describe a single turn.
type RunOptions struct {
	Prompt   string // the text on standard input is appended
	Session  string // see begin; empty: a new one
	Settings core.Settings
	Allow    []string // further allow rules; see setup.AllowRule
	JSON     bool     // print events instead of the answer
	// RequireMCP has the turn fail if an MCP server has not started.
	RequireMCP bool
}

// Run carries out one turn for a person who cannot be asked anything.
func Run(ctx context.Context, o setup.Options, r RunOptions) error {
	var allow []configs.Rule
	for _, text := range r.Allow {
		rule, err := setup.AllowRule(text, o.Env.Lookup)
		if err != nil {
			return program.UsageError{Err: err}
		}
		allow = append(allow, rule)
	}
	as := setup.ClientOptions{People: true, Allow: allow}
	return run(ctx, o, as, true, func(ctx context.Context, c *connection) error {
		return c.run(ctx, o.Env, r)
	})
}

func (g *connection) run(ctx context.Context, env *program.Environment, r RunOptions) error {
	begin, err := g.begin(ctx, r.Session, r.Settings)
	if err != nil {
		return err
	}
	prompt, err := terminal.ReadPrompt(ctx, env, r.Prompt)
	if err != nil {
		return err
	}
	session, err := begin.session(ctx)
	if err != nil {
		return err
	}
	if folder := session.Meta().Cwd; folder != begin.cwd {
		fmt.Fprintln(env.Err, "The session works in "+display.Line(folder, 200)+".")
	}
	err = terminal.Run(ctx, terminal.RunOptions{
		Program:      env,
		Principal:    g.principal,
		Profiles:     g.profiles,
		Session:      session,
		Settings:     r.Settings,
		Prompt:       prompt,
		JSON:         r.JSON,
		NeedsServers: r.RequireMCP,
		Hosts:        g.hosts,
	})
	return errors.Join(err, begin.end(ctx, session))
}
