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

// begin finds the session to continue, by its name (sessions.Find); resume "" is a new one. Settings that name no agent or no model
// are a mistake in the command line.
func (g *connection) begin(ctx context.Context, resume string, set core.Settings) (b beginning, err error) {
	b.connection = g
	if b.cwd, err = os.Getwd(); err != nil {
		return b, fmt.Errorf("find the working folder: %w", err)
	}
	roots := []string{b.cwd}
	if resume != "" {
		if b.found, err = sessions.Find(ctx, g.Gateway, resume); err != nil {
			return b, fmt.Errorf("%w; leave out --session to begin a new one", err)
		}
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

// end removes a new session in which no agent was asked: it is not worth keeping.
func (b beginning) end(ctx context.Context, s *core.Session) error {
	if st := s.State(); b.found != nil || st.Title != "" || st.Usage != (core.Usage{}) {
		return nil
	}
	return b.Gateway.Delete(context.WithoutCancel(ctx), b.principal, s.Meta().ID, core.Deletion{All: true})
}
