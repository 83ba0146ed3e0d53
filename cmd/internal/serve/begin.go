package serve

import (
	"context"
	"fmt"
	"os"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/sessions"
	"dragoman/cmd/internal/setup"
	"dragoman/core"
)

// beginning is the session of a command in which a person prompts: an existing one, or a new one
// that is created when it is needed.
type beginning struct {
	*connection
	cwd     string
	found   *core.Session  // nil: a new one is created
	profile *setup.Profile // of its folders
}

// begin finds the session to continue: resume is its id, the beginning of its id, or "latest" for
// the newest one of the working folder; empty: a new one. Settings that name no agent or no model
// are a mistake in the command line.
func (g *connection) begin(ctx context.Context, resume string, set core.Settings) (b beginning, err error) {
	b.connection = g
	if b.cwd, err = os.Getwd(); err != nil {
		return b, fmt.Errorf("find the working folder: %w", err)
	}
	roots := []string{b.cwd}
	switch resume {
	case "":
	case "latest":
		b.found, err = sessions.Latest(ctx, g.Gateway, b.cwd)
	default:
		b.found, err = sessions.Find(ctx, g.Gateway, resume)
	}
	if err != nil {
		return b, err
	}
	if b.found != nil && len(b.found.Meta().Roots) > 0 {
		roots = b.found.Meta().Roots
	}
	if b.profile, err = g.profiles.In(ctx, roots); err != nil {
		return b, program.ConfigError(err)
	}
	if err := b.profile.CheckAgent(set.Agent); err != nil {
		return b, program.UsageError{Err: err}
	}
	if err := b.profile.CheckModel(set.Model); err != nil {
		return b, program.UsageError{Err: fmt.Errorf("model %w; \"dragoman models list\" lists the models", err)}
	}
	return b, nil
}

// session returns the session, and creates it if there is none.
func (b beginning) session(ctx context.Context) (*core.Session, error) {
	if b.found != nil {
		return b.found, nil
	}
	s, err := b.Gateway.Create(ctx, core.Meta{Principal: b.principal, Cwd: b.cwd})
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, program.OtherData)
	}
	return s, nil
}

// end removes a new session that was not used: it is not worth keeping.
func (b beginning) end(ctx context.Context, s *core.Session) error {
	if b.found != nil || s.State().Messages > 0 {
		return nil
	}
	return b.Gateway.Delete(context.WithoutCancel(ctx), b.principal, s.Meta().ID, core.Deletion{All: true})
}
