package llm

import (
	"context"
	"errors"
	"iter"

	"dragoman/core"
)

// Fallback returns a model that asks the others, in their order, when one cannot
// answer: its service is down, overloaded or out of reach, or refuses the key. It
// never changes over within an answer. With one model it is that model.
func Fallback(first core.Model, others ...core.Model) core.Model {
	if len(others) == 0 {
		return first
	}
	return &fallback{first, others}
}

type fallback struct {
	core.Model
	others []core.Model
}

// Stream asks one model after the other until one begins to answer, and says so before
// each but the first. An error is that of the last one, with those of the others behind
// it.
func (m *fallback) Stream(ctx context.Context, r *core.Request) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		var failed []error
		for i, one := range append([]core.Model{m.Model}, m.others...) {
			if info := one.Info(); i > 0 && !yield(core.Delta{Kind: core.DeltaFellBack, Instead: &info, Bad: failed[i-1]}, nil) {
				return
			}
			err, over := relay(ctx, one, r, yield)
			if over {
				return
			}
			failed = append(failed, err)
		}
		last := failed[len(failed)-1]
		yield(core.Delta{}, &fallenError{last, errors.Join(failed...)})
	}
}

// fallenError is what none of the models could answer.
type fallenError struct{ last, all error }

func (e *fallenError) Error() string { return e.all.Error() }

func (e *fallenError) Unwrap() error { return e.last }

// relay passes on what a model says. over is false where it failed before it said
// anything, in a way that another model may not.
func relay(ctx context.Context, m core.Model, r *core.Request, yield func(core.Delta, error) bool) (failed error, over bool) {
	begun := false
	for d, err := range m.Stream(ctx, r) {
		if err != nil && !begun && ctx.Err() == nil && passes(err) {
			return err, false
		}
		begun = begun || err == nil && d.Kind != core.DeltaRetry
		if !yield(d, err) {
			return nil, true
		}
	}
	return nil, true
}

// passes reports whether another model may answer what one could not.
func passes(err error) bool {
	var e *core.ModelError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case core.ErrAuth, core.ErrRateLimit, core.ErrOverloaded, core.ErrServer, core.ErrNetwork:
		return true
	case core.ErrContextLength, core.ErrBadRequest, core.ErrSafety, core.ErrTruncated:
	}
	return false
}
