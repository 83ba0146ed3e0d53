package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
	"dragoman/core"
	"dragoman/core/jsonl"
	"dragoman/core/share"
)

// noTurns has no profiles, so that a gateway with it runs nothing.
type noTurns struct{}

var errNoTurns = errors.New("nothing is run here")

func (noTurns) Profile(context.Context, []string) (*core.Profile, error) { return nil, errNoTurns }
func (noTurns) Rules(context.Context, []string) (*core.Profile, error)   { return nil, errNoTurns }
func (noTurns) Before(context.Context, core.Meta, core.Host)             {}

// with opens the store for a command that runs no turn. What it changes in a session that another process
// owns is changed there.
func with(env *program.Environment, f func(*jsonl.Store, *core.Gateway) error) error {
	sharing := reaching(env)
	defer sharing.Close()
	dir, err := env.DataDir()
	if err != nil {
		return err
	}
	store := jsonl.New(dir)
	g := core.New(core.Config{
		Store: store, Profiles: noTurns{}, Node: program.Node(), Sharing: sharing,
	})
	err = f(store, g)
	last, done := context.WithTimeout(context.Background(), program.ShutdownFor)
	defer done()
	return errors.Join(err, g.Close(last), store.Close())
}

// reaching returns a Sharing that reaches other processes, and is not reached by them.
func reaching(env *program.Environment) *share.Sharing {
	return share.New(share.Options{Node: program.Node(), Config: env.ConfigPlace(), Dir: share.Dir(env.Getenv)})
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

// Remove removes sessions, whose ids must be complete; with force also those that clients are attached to.
func Remove(ctx context.Context, env *program.Environment, force bool, ids ...string) error {
	return with(env, func(_ *jsonl.Store, g *core.Gateway) error {
		var errs []error
		for _, id := range ids {
			errs = append(errs, remove(ctx, g, id, force))
		}
		return errors.Join(errs...)
	})
}

func remove(ctx context.Context, g *core.Gateway, typed string, force bool) error {
	id := core.SessionID(typed)
	if _, err := g.Open(ctx, core.Local, id); errors.Is(err, core.ErrNotFound) {
		if s, err := Find(ctx, g, typed); err == nil {
			return fmt.Errorf("remove session %s: only a whole ID is taken; this session's is %s", typed, s.Meta().ID)
		}
		return noSession(typed)
	}
	// A session that cannot be opened can still be removed.
	err := g.Delete(ctx, core.Local, id, core.Deletion{All: force})
	if used := (*core.AttendedError)(nil); errors.As(err, &used) {
		return fmt.Errorf("%w; --force removes it for all of them", err)
	}
	if err != nil {
		return fmt.Errorf("remove session %s: %w", id, err)
	}
	return nil
}

// Newest is the name of the session of the working folder that was used last, in every command.
const Newest = "latest"

// ErrUnnamed means that a session's name is empty.
var ErrUnnamed = program.UsageError{Err: errors.New("the name of the session is empty; give the beginning of an ID, or latest")}

// Find opens a session by its name: its id, the beginning of the id, or latest.
func Find(ctx context.Context, g *core.Gateway, id string) (*core.Session, error) {
	if id == "" {
		return nil, ErrUnnamed
	}
	if id == Newest {
		folder, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("find the working folder: %w", err)
		}
		return latest(ctx, g, folder)
	}
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

// latest opens the session of a folder that was used last. Those of delegated tasks do not count,
// nor those that are archived or only in an external agent.
func latest(ctx context.Context, g *core.Gateway, folder string) (*core.Session, error) {
	for sum, err := range g.List(ctx, core.Local) {
		if err == nil && sum.Parent == "" && !sum.Archived && !sum.Elsewhere && sum.Messages > 0 && sum.Cwd == folder {
			return g.Open(ctx, core.Local, sum.ID)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return nil, noneIn(folder)
}

// InUse opens the session of a folder that a living process owns, the one used last if there are
// several; if there is none, the session that was used last.
func InUse(ctx context.Context, g *core.Gateway, store *jsonl.Store, folder string) (*core.Session, error) {
	var latest core.SessionID
	for sum, err := range g.List(ctx, core.Local) {
		if err != nil || sum.Parent != "" || sum.Elsewhere || sum.Cwd != folder {
			continue
		}
		if store.Owner(core.Local, sum.ID).Node != "" {
			return g.Open(ctx, core.Local, sum.ID)
		}
		if latest == "" && sum.Messages > 0 {
			latest = sum.ID
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if latest == "" {
		return nil, noneIn(folder)
	}
	return g.Open(ctx, core.Local, latest)
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

func noneIn(folder string) error {
	return fmt.Errorf("there is no session in %s yet; \"dragoman chat\" begins one, and \"dragoman sessions list\" lists those of other folders", folder)
}

func noSession(typed string) error {
	return fmt.Errorf("there is no session %q; \"dragoman sessions list\" lists them all", typed)
}

func tooShort(n int, typed string) error {
	return fmt.Errorf("%d sessions begin with %q; write more of the id", n, typed)
}
