package loop

import (
	"context"
	"errors"
	"fmt"

	"dragoman/core"
	"dragoman/core/inference"
)

// compactAuto is the automatic compact: a failure is reported to the user, and the turn
// continues.
func (c *conversation) compactAuto(
	ctx context.Context, t *core.Turn, model inference.Model, base, window int,
) error {
	s := summary{turn: t, model: model, base: base, window: window, auto: true, step: c.history.step() != nil}
	err := c.compact(ctx, s)
	var none *noSummaryError
	if !errors.As(err, &none) {
		c.pace.summaries++
		return err
	}
	c.gaveUp = t.ID()
	text := fmt.Sprintf(
		"The conversation nearly fills the model's window, and could not be summed up to make room: %v",
		none.err,
	)
	return t.Emit(ctx, core.Notice{Severity: core.Warning, Text: text})
}

// compactNow is the compact that the user requested. It reports the result.
func (c *conversation) compactNow(
	ctx context.Context,
	t *core.Turn,
	model inference.Model,
	focus string,
) error {
	if err := c.catchUp(ctx, t); err != nil {
		return err
	}
	specs, err := c.tools(ctx, t)
	if err != nil {
		return err
	}
	text := "There is nothing yet that could be summed up."
	if c.history.spoken {
		req, _ := c.request(t, model.Info(), specs)
		base := beside(req)
		before := c.history.load.total(base)
		err := c.compact(
			ctx,
			summary{turn: t, model: model, base: base, window: c.window(t, model.Info()), focus: focus},
		)
		if err != nil {
			return err
		}
		text = fmt.Sprintf(
			"The conversation so far was summed up. It filled about %d tokens; now it fills about %d.",
			before,
			c.history.load.total(base),
		)
	}
	return t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: text})
}

// leastSummary is what a summary may have in bytes, however small the window is; otherwise it may have
// a quarter of the window.
const leastSummary = 4 << 10

// summary is a request for a summary.
type summary struct {
	turn   *core.Turn
	model  inference.Model
	base   int // bytes of a request without its messages
	window int // maximum number of tokens of a request
	auto   bool
	step   bool // the last calls and their results stay
	focus  string
}

// noSummaryError is the reason for a missing summary.
type noSummaryError struct{ err error }

func (e *noSummaryError) Error() string {
	return "the conversation could not be summed up: " + e.err.Error()
}

func (e *noSummaryError) Unwrap() error { return e.err }

// compact asks the model for a summary and replaces the conversation by it. After a
// *noSummaryError everything is unchanged; any other error means that the turn must
// end.
func (c *conversation) compact(ctx context.Context, s summary) error {
	t := s.turn
	if err := t.Emit(ctx, core.Phase{Turn: t.ID(), Kind: core.PhaseCompacting}); err != nil {
		return err
	}
	text, used, by, failed := c.summarize(ctx, s)
	text = shorten(text, max(s.window/4*bytesPerToken, leastSummary))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	before := c.history.load.total(s.base)
	var events []core.Event
	if used != nil {
		events = append(events, core.UsageChanged{
			Turn: t.ID(), Last: *used, Total: c.history.total.Add(*used),
			Context: before, Window: by.Window, Model: by.ID,
		})
	}
	if failed == nil {
		made := core.Compacted{Turn: t.ID(), Summary: text, Auto: s.auto, Step: s.step, Before: before}
		made.After = c.history.after(made, s.base)
		made.Shares = summarized(t.State().Shares, made.After)
		events = append(events, made)
	}
	if err := t.Emit(ctx, events...); err != nil {
		return err
	}
	if failed != nil {
		failed = &noSummaryError{failed}
	}
	return errors.Join(failed, c.catchUp(ctx, t))
}

// after estimates the tokens of a request after a summary.
func (h *history) after(e core.Compacted, base int) int {
	n := base + len(summaryText(e.Summary, e.Auto, e.Auto))
	if e.Auto {
		n += h.kept(e.Step)
	}
	return max(1, n/bytesPerToken)
}

// summarize makes the text of a summary. It returns the usage, and the model that made it, also
// with an error.
func (c *conversation) summarize(
	ctx context.Context,
	s summary,
) (text string, all *core.Usage, by inference.ModelInfo, err error) {
	past := c.history.past(s.step)
	if s.model.Info().Offline {
		return digest(past), nil, s.model.Info(), nil
	}
	const tries = 3
	room := s.window / 4 * 3 * (bytesPerToken - 1) // minus the answer, and a reserve for shorter tokens
	for n := 1; ; n++ {
		var used *core.Usage
		text, used, by, err = c.ask(ctx, s, script(past, room))
		if used != nil {
			if all != nil {
				*used = all.Add(*used)
			}
			all = used
		}
		if n == tries || !overflowed(err) {
			return text, all, by, err
		}
		room /= 2
	}
}

// ask asks the model for a summary of messages, which are only text.
func (c *conversation) ask(
	ctx context.Context, s summary, messages []inference.Message,
) (_ string, used *core.Usage, by inference.ModelInfo, _ error) {
	req := &inference.Request{
		Principal: s.turn.Meta().Principal, Session: s.turn.Meta().ID, System: summarySystem,
		Messages: addUser(messages, []core.Block{core.Text{Text: instructionFor(s.focus)}}),
	}
	var text cappedText
	by = s.model.Info()
	var stop core.StopReason
	for d, err := range s.model.Stream(ctx, req) {
		if err != nil {
			return "", used, by, err
		}
		switch d.Kind {
		case inference.DeltaText:
			text.write(d.Text)
		case inference.DeltaUsage:
			used = &d.Usage
		case inference.DeltaRetry:
			if err := s.turn.Emit(ctx, core.Phase{Turn: s.turn.ID(), Kind: core.PhaseRetrying, After: d.After}); err != nil {
				return "", used, by, err
			}
		case inference.DeltaFellBack:
			if err := s.turn.Emit(ctx, fellBack(s.turn.ID(), &by, &c.fell, d)...); err != nil {
				return "", used, by, err
			}
		case inference.DeltaStop:
			if stop = d.Stop; stop == "" {
				stop = core.StopEnd
			}
		case inference.DeltaThought, inference.DeltaSealed, inference.DeltaToolStart, inference.DeltaToolArgs,
			inference.DeltaToolEnd, inference.DeltaRefused:
		}
		if stop != "" {
			break
		}
	}
	switch {
	case stop == "":
		return "", used, by, &inference.Error{
			Kind: inference.ErrTruncated, Model: by.ID,
			Message: "the summary stopped without an end",
		}
	case stop == core.StopRefusal || stop == core.StopError:
		return "", used, by, fmt.Errorf("the model %s refused to", by.ID)
	case text.size == 0:
		return "", used, by, fmt.Errorf("the model %s answered without a text", by.ID)
	}
	return text.String(), used, by, nil
}
