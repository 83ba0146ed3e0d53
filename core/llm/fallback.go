package llm

import (
	"context"
	"errors"
	"iter"

	"dragoman/core/inference"
)

// Fallback returns a model that asks the others, in their order, when one cannot
// answer: its service is down, overloaded or unreachable, or refuses the key. It never
// changes the model within an answer. With one model it returns that model.
func Fallback(first inference.Model, others ...inference.Model) inference.Model {
	if len(others) == 0 {
		return first
	}
	return &fallback{first, others}
}

type fallback struct {
	inference.Model
	others []inference.Model
}

// Stream asks one model after the other until one begins to answer, and announces each
// but the first. The error is that of the last model, followed by those of the others.
func (m *fallback) Stream(ctx context.Context, r *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		var failed []error
		for i, one := range append([]inference.Model{m.Model}, m.others...) {
			if info := one.Info(); i > 0 &&
				!yield(inference.Delta{Kind: inference.DeltaFellBack, Instead: &info, Bad: failed[i-1]}, nil) {
				return
			}
			err, over := relay(ctx, one, r, yield)
			if over {
				return
			}
			failed = append(failed, err)
		}
		last := failed[len(failed)-1]
		yield(inference.Delta{}, &unansweredError{last, errors.Join(failed...)})
	}
}

// unansweredError reports that no model could answer.
type unansweredError struct{ last, all error }

func (e *unansweredError) Error() string { return e.all.Error() }

func (e *unansweredError) Unwrap() error { return e.last }

// relay passes on a model's answer. over is false if the model failed before its first
// delta in a way that another model may not.
func relay(
	ctx context.Context, m inference.Model, r *inference.Request, yield func(inference.Delta, error) bool,
) (failed error, over bool) {
	begun := false
	for d, err := range m.Stream(ctx, r) {
		if err != nil && !begun && ctx.Err() == nil && passes(err) {
			return err, false
		}
		begun = begun || err == nil && d.Kind != inference.DeltaRetry
		if !yield(d, err) {
			return nil, true
		}
	}
	return nil, true
}

// passes reports whether another model may be able to answer after this error.
func passes(err error) bool {
	var e *inference.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case inference.ErrAuth,
		inference.ErrQuota,
		inference.ErrRateLimit,
		inference.ErrOverloaded,
		inference.ErrServer,
		inference.ErrNetwork:
		return true
	case inference.ErrContextLength, inference.ErrBadRequest, inference.ErrSafety, inference.ErrTruncated:
	}
	return false
}
