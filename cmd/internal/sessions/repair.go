package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"

	"dragoman/cmd/internal/program"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonl"
)

// Repair repairs sessions with damaged logs, or, if dry, only reports the damage.
func Repair(ctx context.Context, env *program.Environment, dry bool, ids ...string) error {
	return with(env, func(store *jsonl.Store, g *core.Gateway) error {
		var errs []error
		for _, arg := range ids {
			id, err := listedID(ctx, g, arg)
			if err == nil && dry {
				err = check(ctx, env.Out, store, id)
			} else if err == nil {
				err = repair(ctx, env.Out, store, g, id)
			}
			if errors.Is(err, core.ErrNotFound) {
				err = noSession(arg)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}

func check(ctx context.Context, out io.Writer, store *jsonl.Store, id core.SessionID) error {
	damage, _, err := store.Check(ctx, core.Local, id)
	switch {
	case err != nil:
		return err
	case damage == "":
		fmt.Fprintf(out, "Session %s is intact.\n", display.Line(string(id), 64))
	default:
		fmt.Fprintf(
			out,
			"Session %s is damaged: %s. Nothing was changed.\n",
			display.Line(string(id), 64),
			display.Printable(damage),
		)
	}
	return nil
}

func repair(ctx context.Context, out io.Writer, store *jsonl.Store, g *core.Gateway, id core.SessionID) error {
	done, err := store.Repair(ctx, core.Local, id)
	if err != nil {
		return err
	}
	if done.Kept == "" {
		fmt.Fprintf(out, "Session %s is intact.\n", display.Line(string(id), 64))
		return nil
	}
	fmt.Fprintf(
		out,
		"Session %s is repaired. Problem: %s.\nThe damaged log is kept in %s\n",
		display.Line(string(id), 64),
		display.Printable(done.Damage),
		display.Printable(done.Kept),
	)
	_, err = g.Open(ctx, core.Local, id) // it closes a turn whose end is missing
	return err
}

// listedID returns the id of a session by its name, as Find does. Without one it returns the typed text,
// because an unlisted session may exist.
func listedID(ctx context.Context, g *core.Gateway, typed string) (core.SessionID, error) {
	if typed == "" || typed == Newest {
		s, err := Find(ctx, g, typed)
		if err != nil {
			return "", err
		}
		return s.Meta().ID, nil
	}
	found, err := beginningWith(ctx, g, typed)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return core.SessionID(typed), nil
	case len(found) > 1:
		return "", tooShort(len(found), typed)
	}
	return found[0], nil
}
