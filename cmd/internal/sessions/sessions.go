package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
	"dragoman/core"
	"dragoman/core/company"
	"dragoman/core/jsonl"
	"dragoman/core/share"
)

// noTurns has no profiles, so that a gateway with it runs nothing.
type noTurns struct{}

var errNoTurns = errors.New("nothing is run here")

func (noTurns) Profile(context.Context, []string) (*core.Profile, error) { return nil, errNoTurns }
func (noTurns) Rules(context.Context, []string) (*core.Profile, error)   { return nil, errNoTurns }
func (noTurns) Before(context.Context, core.Meta, core.Host)             {}

// with opens the store for a command that only reads, repairs or removes.
func with(env *program.Environment, f func(*jsonl.Store, *core.Gateway) error) error {
	dir, err := env.DataDir()
	if err != nil {
		return err
	}
	store := jsonl.New(dir)
	sharing := share.New(share.Options{Node: program.Node(), Config: env.SharedConfig(), Dir: share.Dir(env.Getenv)})
	g := core.New(core.Config{
		Store: store, Profiles: noTurns{}, Node: program.Node(), Sharing: sharing,
	})
	err = f(store, g)
	last, done := context.WithTimeout(context.Background(), program.ShutdownFor)
	defer done()
	err = errors.Join(err, g.Close(last), store.Close())
	sharing.Close()
	return err
}

// Show prints a session as text.
func Show(ctx context.Context, env *program.Environment, id string) error {
	return Read(ctx, env, id, func(s *core.Session) error { return terminal.PrintTranscript(ctx, env.Out, s) })
}

// Read opens a session for reading, by its id or the beginning of it.
func Read(ctx context.Context, env *program.Environment, id string, f func(*core.Session) error) error {
	return with(env, func(_ *jsonl.Store, g *core.Gateway) error {
		s, err := Find(ctx, g, id)
		if err != nil {
			return err
		}
		return f(s)
	})
}

// Remove removes sessions, whose ids must be complete. A session that clients of another process have open
// is removed only by force, by the process that owns it.
func Remove(ctx context.Context, env *program.Environment, force bool, ids ...string) error {
	return with(env, func(_ *jsonl.Store, g *core.Gateway) error {
		var errs []error
		for _, id := range ids {
			errs = append(errs, remove(ctx, g, core.SessionID(id), force))
		}
		return errors.Join(errs...)
	})
}

func remove(ctx context.Context, g *core.Gateway, id core.SessionID, force bool) error {
	if _, err := g.Open(ctx, core.Local, id); errors.Is(err, core.ErrNotFound) {
		return noSession(string(id))
	}
	// A session that cannot be opened can still be removed.
	err := g.Delete(ctx, core.Local, id, core.Deletion{All: force})
	if attended, ok := errors.AsType[*core.AttendedError](err); ok {
		return fmt.Errorf("remove session %s: %s Close it there first, or use --force", id, company.Attached(company.Names(attended.Clients, "")))
	}
	if err != nil {
		return fmt.Errorf("remove session %s: %w", id, err)
	}
	return nil
}

// Find opens a session by its id, or by the beginning of the id.
func Find(ctx context.Context, g *core.Gateway, id string) (*core.Session, error) {
	s, err := g.Open(ctx, core.Local, core.SessionID(id))
	if !errors.Is(err, core.ErrNotFound) {
		return s, err
	}
	found, err := beginningWith(ctx, g, id)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, noSession(id)
	case len(found) > 1:
		return nil, tooShort(len(found), id)
	}
	return g.Open(ctx, core.Local, found[0])
}

// Latest opens the session of a folder that was used last. Those of delegated tasks do not count,
// nor those that are only in an external agent.
func Latest(ctx context.Context, g *core.Gateway, folder string) (*core.Session, error) {
	for sum, err := range g.List(ctx, core.Local) {
		if err == nil && sum.Parent == "" && !sum.Elsewhere && sum.Messages > 0 && sum.Cwd == folder {
			return g.Open(ctx, core.Local, sum.ID)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("there is no session in %s yet; leave out --session to begin one", folder)
}

// beginningWith lists the sessions whose ids begin with the typed text. If that is a whole id,
// only its session is listed.
func beginningWith(ctx context.Context, g *core.Gateway, typed string) (found []core.SessionID, err error) {
	for sum, err := range g.List(ctx, core.Local) {
		if err == nil && string(sum.ID) == typed {
			return []core.SessionID{sum.ID}, nil
		}
		if err == nil && strings.HasPrefix(string(sum.ID), typed) {
			found = append(found, sum.ID)
		}
	}
	return found, context.Cause(ctx)
}

func noSession(typed string) error {
	return fmt.Errorf("there is no session %q; \"dragoman sessions list\" lists them all", typed)
}

func tooShort(n int, typed string) error {
	return fmt.Errorf("%d sessions begin with %q; write more of the id", n, typed)
}
