// Package compose asks a model to write outside of any chat: to complete a text, or to rewrite
// one.
package compose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
)

const (
	completionTime   = 20 * time.Second
	completionTokens = 400
	rewriteTime      = 3 * time.Minute
	rewriteTokens    = 8192
	around           = 150 // lines of a file before a selection and after it
)

// MaxBytes limits a document, and an answer.
const MaxBytes = 1 << 20

// ErrTooLong is the error of a document or an answer of more than MaxBytes.
var ErrTooLong = fmt.Errorf("the text is longer than %d KiB", MaxBytes>>10)

// Complete returns the text that belongs at a place of a document; it may be blank. When ctx
// ends, the error is its cause.
func Complete(ctx context.Context, m inference.Model, doc string, at eca.Place) (string, error) {
	if len(doc) > MaxBytes {
		return "", ErrTooLong
	}
	r, line := completionRequest(doc, at)
	if efforts := m.Info().Efforts; len(efforts) > 0 {
		r.Effort = efforts[0] // a long thought would delay the user here
	}
	answer, err := write(ctx, m, r, completionTokens, completionTime, func(inference.Delta) {})
	return continuation(answer, line), err
}

// Rewrite asks for a replacement of the selected text, and passes on each piece as it arrives.
// file is the text around the selection; "": unknown. The whole answer is returned as the model
// gave it.
func Rewrite(
	ctx context.Context, m inference.Model, p eca.RewriteParams, file string, each func(inference.Delta),
) (string, error) {
	return write(ctx, m, rewriteRequest(p, display.Cut(file, 4*beforeCursor)), rewriteTokens, rewriteTime, each)
}

// Around returns the range of a file's lines that Rewrite needs for a selection: all of them, if
// the place of the selection is unknown.
func Around(s eca.Span) (lines [2]int) {
	if s.Start.Line > 0 {
		first := min(s.Start.Line, 1<<30)
		lines = [2]int{max(1, first-around), min(max(first, s.End.Line), 1<<30) + around}
	}
	return lines
}

// write asks a model and passes on its text. It returns all of the text. The request is limited
// in tokens and in time.
func write(
	ctx context.Context,
	m inference.Model,
	r inference.Request,
	tokens int,
	most time.Duration,
	each func(inference.Delta),
) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error in model %s: %v", m.Info().ID, p)
		}
	}()
	ctx, stop := context.WithTimeoutCause(ctx, most, fmt.Errorf("the model was not done within %s", most))
	defer stop()
	if r.MaxOut = tokens; m.Info().MaxOut > 0 {
		r.MaxOut = min(tokens, m.Info().MaxOut)
	}
	var b strings.Builder
	for d, err := range m.Stream(ctx, &r) {
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return b.String(), err
		}
		switch d.Kind {
		case inference.DeltaText:
			b.WriteString(d.Text)
		case inference.DeltaStop:
			if d.Stop == core.StopRefusal {
				return b.String(), errors.New("the model declined to answer")
			}
		case inference.DeltaThought, inference.DeltaSealed, inference.DeltaToolStart, inference.DeltaToolArgs,
			inference.DeltaToolEnd, inference.DeltaUsage, inference.DeltaRetry, inference.DeltaFellBack, inference.DeltaRefused:
		}
		if b.Len() > MaxBytes {
			return b.String(), ErrTooLong
		}
		each(d)
	}
	return b.String(), nil
}
