package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/retention"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonl"
)

// Prune archives and deletes the sessions that are old by the configuration, and lists them; if dry, it
// only lists them.
func Prune(ctx context.Context, env *program.Environment, dry bool) error {
	config, err := env.LoadConfig(nil)
	if err != nil {
		return program.ConfigError(err)
	}
	if retention.None(config.Sessions) {
		fmt.Fprintln(env.Out, "Sessions stay until you remove them: neither sessions.archive_after nor sessions.delete_after is configured.")
		return nil
	}
	ctx, stop := program.UntilSignal(ctx, true)
	defer stop()
	return with(env, func(store *jsonl.Store, g *core.Gateway) error {
		now := time.Now()
		due, err := retention.Due(ctx, store, config.Sessions, now)
		if err != nil {
			return err
		}
		if len(due) == 0 {
			fmt.Fprintln(env.Out, "No session is old enough.")
		}
		var errs []error
		for _, old := range due {
			if err := context.Cause(ctx); err != nil {
				return errors.Join(append(errs, err)...)
			}
			why := old.Spared
			if why == "" && !dry {
				why, err = retention.Apply(ctx, g, store, old, time.Now())
				errs = append(errs, err)
			}
			if err == nil {
				fmt.Fprintln(env.Out, pruned(old, why, dry, now))
			}
			err = nil
		}
		return errors.Join(errs...)
	})
}

// pruned describes what has happened to a session, or would.
func pruned(old retention.Old, why string, dry bool, now time.Time) string {
	does := [...]string{"archived", "deleted"}
	if dry {
		does = [...]string{"would be archived", "would be deleted"}
	}
	what := does[0]
	if old.Delete {
		what = does[1]
	}
	if why != "" {
		what = "stays (" + display.Printable(why) + ")"
	}
	text := fmt.Sprintf("%s: %s, used %s", display.Line(string(old.ID), 64), what, display.Ago(old.Used, now))
	if n := len(old.Tasks); n > 0 {
		text += ", with " + counted(uint64(n), "task")
	}
	if old.Title != "" {
		text += ": " + display.Line(old.Title, 60)
	}
	return text
}
