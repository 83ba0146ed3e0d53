package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
	"dragoman/core/toolsearch"
)

// answer is one answer while it streams. Its text is written to the log and not kept
// here.
type answer struct {
	t       *core.Turn
	request *inference.Request
	tools   *index
	isUsed  func(core.CallID) bool

	begun   bool // the model has sent something since the last wait
	spoken  bool // it has written a word or made a call
	block   int  // of the open stretch
	message core.MessageID
	thought core.ThoughtID
	since   time.Time // when the open thought began
	calls   []*modelCall
	usage   *core.Usage
	model   inference.ModelInfo // the model that answers
	fell    *[]core.FellBack    // announced in this turn
	stop    core.StopReason
	ended   bool // its terminal has arrived
}

// modelCall is a call that the model has made.
type modelCall struct {
	id      core.CallID
	block   int
	spec    core.Spec
	offered bool
	args    json.RawMessage
	bad     error
	found   string // the result of toolsearch.Search
	shown   bool   // with its arguments
}

// listen streams one answer into the log. Events before an error stay there.
func (c *conversation) listen(
	ctx context.Context, t *core.Turn, model inference.Model, req *inference.Request, tools *index,
) (*answer, error) {
	a := &answer{
		t:       t,
		request: req,
		tools:   tools,
		model:   model.Info(),
		fell:    &c.fell,
		isUsed:  func(id core.CallID) bool { return c.history.used[id] },
	}
	if err := t.Emit(ctx, core.Phase{Turn: t.ID(), Kind: core.PhaseWaiting}); err != nil {
		return nil, err
	}
	err := a.hear(ctx, model, req)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	events := a.closeStretch(nil)
	if a.usage != nil {
		events = append(events, core.UsageChanged{
			Turn: t.ID(), Last: *a.usage, Total: c.history.total.Add(*a.usage),
			Context: a.usage.In + a.usage.Out, Window: a.model.Window, Model: a.model.ID,
			Shares: c.shares(req, a.usage.In+a.usage.Out, a.usage.Out), CompactAt: c.compactPercent(),
		})
	}
	if err == nil && !a.spoken && a.stop == core.StopEnd {
		events = append(events, core.Notice{Severity: core.Warning, Text: fmt.Sprintf("%s ended its answer without a word. Ask again, or choose another model.", a.model.ID)})
	}
	if emitted := t.Emit(ctx, events...); err == nil {
		err = emitted
	}
	return a, err
}

func (a *answer) hear(ctx context.Context, model inference.Model, req *inference.Request) error {
	for d, err := range model.Stream(ctx, req) {
		if err != nil {
			return err
		}
		events, err := a.take(d)
		if err != nil {
			return fmt.Errorf("model %s: %w", model.Info().ID, err)
		}
		if err := a.t.Emit(ctx, events...); err != nil {
			return err
		}
		if a.ended {
			return nil
		}
	}
	return &inference.Error{
		Kind: inference.ErrTruncated, Model: model.Info().ID,
		Message: "the answer stopped without an end",
		Hint:    "Try again.",
	}
}

// take turns one delta into events. An error is a fault of the model's codec.
func (a *answer) take(d inference.Delta) ([]core.Event, error) {
	switch d.Kind {
	case inference.DeltaText:
		return a.text(d), nil
	case inference.DeltaThought:
		return a.think(d), nil
	case inference.DeltaSealed:
		return a.seal(d), nil
	case inference.DeltaToolStart:
		return a.start(d), nil
	case inference.DeltaToolArgs:
		h, err := a.call(d)
		if err != nil || h.isOwn(toolsearch.Call) {
			return nil, err
		}
		return []core.Event{core.CallArgs{Call: h.id, Text: d.Text}}, nil
	case inference.DeltaToolEnd:
		h, err := a.call(d)
		if err != nil {
			return nil, err
		}
		return a.whole(h, d), nil
	case inference.DeltaUsage:
		a.usage = &d.Usage
		return nil, nil
	case inference.DeltaRetry:
		a.begun = false
		return []core.Event{core.Phase{Turn: a.t.ID(), Kind: core.PhaseRetrying, After: d.After}}, nil
	case inference.DeltaFellBack:
		a.begun = false
		return fellBack(a.t.ID(), &a.model, a.fell, d), nil
	case inference.DeltaRefused:
		return []core.Event{a.leftOut(d)}, nil
	case inference.DeltaStop:
		a.ended, a.stop = true, d.Stop
		a.stop = cmp.Or(a.stop, core.StopEnd)
		return nil, nil
	}
	return nil, fmt.Errorf("a delta of the unknown kind %q came", d.Kind)
}

// fellBack announces, once in a turn, that another model is asked, and sets is to that
// one. announced has the changes that were already announced.
func fellBack(
	t core.TurnID, is *inference.ModelInfo, announced *[]core.FellBack, d inference.Delta,
) []core.Event {
	if d.Instead == nil {
		return nil
	}
	e := core.FellBack{Turn: t, Model: is.ID, Instead: d.Instead.ID, Reason: reasonOf(d.Bad)}
	*is = *d.Instead
	*announced = slices.DeleteFunc(*announced, func(was core.FellBack) bool { return was.Turn != t })
	if slices.ContainsFunc(
		*announced,
		func(was core.FellBack) bool { return was.Model == e.Model && was.Instead == e.Instead },
	) {
		return []core.Event{core.Phase{Turn: t, Kind: core.PhaseWaiting}}
	}
	*announced = append(*announced, e)
	return []core.Event{e, core.Phase{Turn: t, Kind: core.PhaseWaiting}}
}

// reasonOf returns the reason why a model could not answer, without advice for the user.
func reasonOf(err error) string {
	const most = 500 // characters
	var e *inference.Error
	if !errors.As(err, &e) {
		return "it did not say why"
	}
	short := *e
	short.Hint = ""
	return display.Clipped(strings.TrimPrefix(short.Error(), "model "+e.Model+": "), most)
}

// speaks adds, once, the phase in which the model answers.
func (a *answer) speaks(events []core.Event) []core.Event {
	if a.begun {
		return events
	}
	a.begun = true
	return append(events, core.Phase{Turn: a.t.ID(), Kind: core.PhaseGenerating})
}

func (a *answer) text(d inference.Delta) []core.Event {
	if d.Text == "" {
		return nil
	}
	a.spoken = true
	events := a.speaks(nil)
	if a.message == "" || a.block != d.Block {
		events = a.closeStretch(events)
		a.message, a.block = a.t.NewMessage(), d.Block
	}
	return append(events, core.TextDelta{Message: a.message, Text: d.Text})
}

func (a *answer) think(d inference.Delta) []core.Event {
	if d.Text == "" {
		return nil
	}
	events := a.speaks(nil)
	if a.thought == "" || a.block != d.Block {
		events = a.openThought(events, d.Block)
	}
	return append(events, core.ThoughtDelta{Thought: a.thought, Text: d.Text})
}

func (a *answer) openThought(events []core.Event, block int) []core.Event {
	events = a.closeStretch(events)
	a.thought, a.block, a.since = a.t.NewThought(), block, time.Now()
	return append(events, core.ThoughtStarted{Thought: a.thought})
}

// seal ends a thought with the data that its provider expects back. A seal for a
// thought that is not the open one gets a thought without text.
func (a *answer) seal(d inference.Delta) []core.Event {
	events := a.speaks(nil)
	if a.thought == "" || a.block != d.Block {
		events = a.openThought(events, d.Block)
	}
	return a.endThought(events, d.Sealed)
}

func (a *answer) endThought(events []core.Event, sealed json.RawMessage) []core.Event {
	ended := core.ThoughtEnded{Thought: a.thought, Took: time.Since(a.since), Sealed: sealed}
	a.thought = ""
	return append(events, ended)
}

// closeStretch ends the open text or thought.
func (a *answer) closeStretch(events []core.Event) []core.Event {
	if a.thought != "" {
		events = a.endThought(events, nil)
	}
	a.message = ""
	return events
}

func (a *answer) start(d inference.Delta) []core.Event {
	a.spoken = true
	events := a.closeStretch(a.speaks(nil))
	events = append(events, whileWaiting(a.t, a.calls)...)
	h := &modelCall{id: d.ToolID, block: d.Block, bad: errUnfinished}
	h.spec, h.offered = a.tools.find(d.ToolName)
	if !a.fresh(h.id) {
		h.id = a.t.NewCall()
	}
	a.calls = append(a.calls, h)
	if h.isOwn(toolsearch.Call) { // the arguments name the tool
		return events
	}
	return append(events, core.CallChanged{Call: h.proposed(a.t.ID())})
}

// whileWaiting shows calls whose arguments are complete and that have to wait: for the rest of the answer, or
// for calls before them.
func whileWaiting(t *core.Turn, calls []*modelCall) (events []core.Event) {
	for _, h := range calls {
		if h.bad != nil || h.shown || !h.offered || h.found != "" {
			continue
		}
		h.shown = true
		events = append(events, t.Proposal(h.call()))
	}
	return events
}

// whole adds a call's complete arguments.
func (a *answer) whole(h *modelCall, d inference.Delta) []core.Event {
	h.args, h.bad = arguments(d)
	switch {
	case h.isOwn(toolsearch.Call):
		h.throughCall(a.tools)
		return []core.Event{core.CallChanged{Call: h.proposed(a.t.ID())}}
	case h.isOwn(toolsearch.Search) && h.bad == nil:
		h.found = toolsearch.Answer(a.tools.hidden, h.args)
	}
	return nil
}

// fresh reports whether a call's id can be its id in the session: it must be new
// there, and of a reasonable form.
func (a *answer) fresh(id core.CallID) bool {
	const most = 256
	if id == "" || len(id) > most || !utf8.ValidString(string(id)) || a.isUsed(id) {
		return false
	}
	for _, r := range string(id) {
		if !unicode.IsGraphic(r) {
			return false
		}
	}
	for _, h := range a.calls {
		if h.id == id {
			return false
		}
	}
	return true
}

// call finds the call of a delta.
func (a *answer) call(d inference.Delta) (*modelCall, error) {
	for _, h := range a.calls {
		if h.block == d.Block {
			return h, nil
		}
	}
	return nil, fmt.Errorf("arguments came for a call that was not begun (part %d)", d.Block)
}

func (h *modelCall) proposed(turn core.TurnID) core.Call {
	kind := cmp.Or(h.spec.Kind, core.KindOther)
	return core.Call{
		ID:     h.id,
		Turn:   turn,
		Server: h.spec.Server,
		Tool:   h.spec.Name,
		Title:  h.spec.Title,
		Kind:   kind,
		State:  core.Proposed,
	}
}
