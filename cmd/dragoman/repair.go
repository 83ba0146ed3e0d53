package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"dragoman/core"
	"dragoman/core/jsonl"
)

func (a *app) sessionsRepair() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "repair ID…",
		Short: "Repair sessions whose log is damaged",
		Long: `Repair sessions whose log is damaged: bytes of it have changed, or a part of it is lost. Such a
session can still be read, with a note where something is missing, but takes no prompts. Repairing
it writes a new log of everything that is intact, with these notes in place of what is missing,
and closes a turn whose end is lost. The damaged log is kept beside it until the session is
removed.

A session that another process has open is left alone, and so is one with nothing wrong. ID may
be cut short as long as only one session begins with it.`,
		Example:           "  dragoman sessions repair --dry-run 7xk2\n  dragoman sessions repair 7xk2",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeSessions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.withStore(func(store *jsonl.Store, g *core.Gateway) error {
				var errs []error
				for _, arg := range args {
					id, err := listedID(ctx, g, arg)
					if err == nil && dry {
						err = checkSession(ctx, a.Out, store, id)
					} else if err == nil {
						err = repairSession(ctx, a.Out, store, g, id)
					}
					if errors.Is(err, core.ErrNotFound) {
						err = noSession(arg)
					}
					errs = append(errs, err)
				}
				return errors.Join(errs...)
			})
		}),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what is wrong, and change nothing")
	return cmd
}

func checkSession(ctx context.Context, out io.Writer, store *jsonl.Store, id core.SessionID) error {
	damage, _, err := store.Check(ctx, core.Local, id)
	switch {
	case err != nil:
		return err
	case damage == "":
		fmt.Fprintf(out, "Nothing is wrong with session %s.\n", oneLine(string(id), 64))
	default:
		fmt.Fprintf(out, "Session %s is damaged: %s. Nothing was changed.\n", oneLine(string(id), 64), printable(damage))
	}
	return nil
}

func repairSession(ctx context.Context, out io.Writer, store *jsonl.Store, g *core.Gateway, id core.SessionID) error {
	done, err := store.Repair(ctx, core.Local, id)
	if err != nil {
		return err
	}
	if done.Kept == "" {
		fmt.Fprintf(out, "Nothing is wrong with session %s.\n", oneLine(string(id), 64))
		return nil
	}
	fmt.Fprintf(out, "Session %s is sound again. What was wrong: %s.\nThe damaged log is kept: %s\n", oneLine(string(id), 64), printable(done.Damage), printable(done.Kept))
	_, err = g.Open(ctx, core.Local, id) // it closes a turn whose end is lost
	return err
}

// listedID finds the id that begins with what was typed. Without one it returns what was typed,
// since a session that no list has may exist.
func listedID(ctx context.Context, g *core.Gateway, typed string) (core.SessionID, error) {
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
