package sessions

import (
	"context"
	"errors"
	"fmt"

	"dragoman/cmd/internal/program"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonl"
)

// Archive hides sessions from lists, or shows them there again.
func Archive(ctx context.Context, env *program.Environment, archived bool, ids ...string) error {
	return with(env, func(_ *jsonl.Store, g *core.Gateway) error {
		var errs []error
		for _, typed := range ids {
			s, err := Find(ctx, g, typed)
			if err == nil {
				err = archive(ctx, env, s, archived)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}

func archive(ctx context.Context, env *program.Environment, s *core.Session, archived bool) error {
	a := s.Attach(core.Client{Name: client, Principal: core.Local})
	defer a.Leave()
	id := display.Line(string(a.Meta().ID), 64)
	done, there := "is archived", "was archived already"
	if !archived {
		done, there = "is in the lists again", "is in the lists already"
	}
	if a.State().Archived == archived {
		fmt.Fprintf(env.Out, "Session %s %s.\n", id, there)
		return nil
	}
	if err := a.Archive(ctx, archived); err != nil {
		return fmt.Errorf("archive session %s: %w", id, err)
	}
	fmt.Fprintf(env.Out, "Session %s %s.\n", id, done)
	return nil
}
