package launch

import (
	"context"
	"fmt"
	"os"
	"time"

	"dragoman/core"
)

// Begin starts a program for a session of an agent, or finds one, and opens the session in it. A failure delays
// the next attempt of the session, or of all sessions if it was the program's. The error has the command that
// finds out why.
func Begin[P any](ctx context.Context, a *Attempts, agent string, m core.Meta, waits Waiting, start func() (P, error), open func(P) error) (p P, err error) {
	var none P
	end, err := a.Await(ctx, m.ID, waits)
	if err != nil {
		return none, err
	}
	o := Unknown
	defer func() { end(o) }()
	if _, err := os.Stat(m.Cwd); err != nil { // which is no fault of the program's
		o = Failed
		return none, fmt.Errorf("the session's folder: %w", err)
	}
	if p, err = started(ctx, a, waits, start); err != nil {
		return none, advised(ctx, agent, err)
	}
	err = open(p)
	if o = OutcomeOf(ctx, err); err != nil {
		return none, advised(ctx, agent, err)
	}
	return p, nil
}

// started starts a program, unless it has just failed for another session.
func started[P any](ctx context.Context, a *Attempts, waits Waiting, start func() (P, error)) (p P, err error) {
	end, err := a.Await(ctx, Starts, waits)
	if err != nil {
		return p, err
	}
	defer func() { end(OutcomeOf(ctx, err)) }()
	return start()
}

// advised adds to a failure the command that finds out why.
func advised(ctx context.Context, agent string, err error) error {
	if OutcomeOf(ctx, err) != Failed {
		return err
	}
	return fmt.Errorf("%w (dragoman agents doctor %s)", err, agent)
}

// Shown shows in a turn why its program cannot start yet, and waits for as long as that takes.
func Shown(ctx context.Context, t *core.Turn) Waiting {
	return func(text string, wait time.Duration) <-chan time.Time {
		switch { // a stopped turn shows in ctx
		case text != "":
			_ = t.Emit(ctx, core.Notice{Severity: core.Info, Text: text})
		case wait > 0:
			_ = t.Emit(ctx, core.Phase{Turn: t.ID(), Kind: core.PhaseRetrying, After: wait})
		}
		return nil
	}
}
