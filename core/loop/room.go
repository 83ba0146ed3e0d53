package loop

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"dragoman/core"
	"dragoman/core/inference"
)

const (
	// answerShare is the least part of a window that is left to the answer: one over this.
	answerShare = 10
	// leastPart is what each result or message gets at least, in bytes, while there is any room.
	leastPart = 1 << 10
)

// makeRoom makes the next request fit the model's window. If it would fill too much of it, the
// conversation is replaced by a summary, but for what the model has not seen; what has no room
// then is cut. A failed summary is reported to the user, and not tried again in this turn. An
// error means that the turn must end.
func (c *conversation) makeRoom(
	ctx context.Context, t *core.Turn, model inference.Model, specs []core.Spec, base int,
) error {
	window := c.window(t, model.Info())
	if c.full(model.Info(), window, base) && c.gaveUp != t.ID() {
		if err := c.mayRepeat(ctx, t, window); err != nil {
			return err
		}
		if err := c.compactAuto(ctx, t, model, base, window); err != nil {
			return err
		}
	}
	return c.fit(ctx, t, specs, base, window)
}

// full reports whether the conversation should be summarized: it fills more than its
// share, the model has seen an answer that no summary covers, the new part is large enough to
// make room, and what the model has not seen would otherwise be cut too much.
func (c *conversation) full(info inference.ModelInfo, window, base int) bool {
	const least = 10 // a summary must save at least a tenth of the window
	h, step := c.history, c.history.step() != nil
	fills := h.load.total(base)
	if info.Offline || float64(fills) <= c.b.o.CompactAt*float64(window) {
		return false
	}
	if !step {
		return h.spoken && fills-(base+h.kept(false))/bytesPerToken > window/least
	}
	results := 0
	for _, u := range h.last.uses {
		results += weigh(u.result.blocks) / bytesPerToken
	}
	return h.earlier && fills-(base+h.kept(true))/bytesPerToken > window/least &&
		c.top(window)-(fills-results) < min(results, window/4)
}

// top returns the number of tokens that a request may have with results that the model has not
// seen: at most the share at which the conversation is summarized, so that they are not summarized at once.
func (c *conversation) top(window int) int {
	return min(int(c.b.o.CompactAt*float64(window)), window-window/answerShare)
}

func windowOf(info inference.ModelInfo) int {
	if info.Window > 0 {
		return info.Window
	}
	return unknownWindow
}

// fit cuts what the model has not seen, so that the next request fits the window. What was cut is
// recorded, and every later request has it in that form.
func (c *conversation) fit(ctx context.Context, t *core.Turn, specs []core.Spec, base, window int) error {
	h := c.history
	total, most := h.load.total(base), window-window/answerShare
	top := most
	if h.step() != nil {
		top = c.top(window)
	}
	if total <= top {
		return nil
	}
	list := slices.Collect(h.unseen())
	sizes, now := make([]int, len(list)), 0
	for i, u := range list {
		sizes[i] = weigh(u.all())
		now += weigh(u.blocks)
	}
	others := total*bytesPerToken - now
	room := max(top*bytesPerToken-others, min(len(list)*leastPart, most*bytesPerToken-others), 0)
	e := core.Shortened{Turn: t.ID()}
	var events []core.Event
	for i, size := range divide(sizes, room) {
		if u := list[i]; size < weigh(u.blocks) {
			x, missing := u.excerpt(specOf(specs, u), size)
			if weigh(excerpt(u.all(), x)) >= weigh(u.blocks) {
				continue
			}
			e.Excerpts = append(e.Excerpts, x)
			if u.message != nil {
				text := "The model's window has no room for the whole message. The model does not get " + missing + "."
				events = append(events, core.Notice{Severity: core.Warning, Text: text})
			}
		}
	}
	if e.Excerpts == nil {
		return nil
	}
	if err := t.Emit(ctx, append(events, e)...); err != nil {
		return err
	}
	return c.catchUp(ctx, t)
}

// divide divides room among parts of these sizes, the oldest first. A part that is smaller than
// its share leaves the rest to the others; the newest get up to twice as much as the oldest.
func divide(sizes []int, room int) []int {
	n := len(sizes)
	weight := func(i int) int { return n + i }
	order, left := make([]int, n), 0
	for i := range order {
		order[i] = i
		left += weight(i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[a]*weight(b), sizes[b]*weight(a)) })
	shares := make([]int, n)
	for _, i := range order {
		shares[i] = min(sizes[i], room*weight(i)/left)
		room, left = room-shares[i], left-weight(i)
	}
	return shares
}

func specOf(specs []core.Spec, u unseen) core.Spec {
	if u.call != nil {
		for _, s := range specs {
			if s.Server == u.call.server && s.Name == u.call.tool {
				return s
			}
		}
	}
	return core.Spec{}
}

// overflowed reports whether a model failed because the request was too long for it.
func overflowed(err error) bool {
	var e *inference.Error
	return errors.As(err, &e) && e.Kind == inference.ErrContextLength
}

// narrow is the window of a model that has refused a request as too long although it should have
// fitted, as it is taken for the rest of the turn.
type narrow struct {
	of    core.TurnID
	size  int // tokens
	times int // that it was made smaller
}

// window returns the size of the model's window in tokens.
func (c *conversation) window(t *core.Turn, info inference.ModelInfo) int {
	if c.narrow.of == t.ID() {
		return c.narrow.size
	}
	return windowOf(info)
}

// shrink makes room after a request that was too long. done means that the request may
// be repeated. An error means that the turn must end.
func (c *conversation) shrink(
	ctx context.Context, t *core.Turn, model inference.Model, specs []core.Spec, base int,
) (done bool, err error) {
	const most = 4 // times in a turn
	was := c.history.load
	tooMany := min(was.total(base), (base+was.bytes)/bytesPerToken)
	size := min(c.window(t, model.Info()), tooMany/2)
	if c.narrow.of != t.ID() {
		c.narrow = narrow{of: t.ID()}
	}
	c.narrow.size = size
	if c.narrow.times++; c.narrow.times > most {
		return false, nil
	}
	err = c.makeRoom(ctx, t, model, specs, base)
	return c.history.load != was, err
}

// progress tells whether a turn gets on: an answer that only repeats calls is no progress.
type progress struct {
	turn      core.TurnID
	made      map[[sha256.Size]byte]bool // its calls
	summaries int                        // since the last progress
}

// mayRepeat asks the user whether a turn goes on that was summarized twice without progress.
func (c *conversation) mayRepeat(ctx context.Context, t *core.Turn, window int) error {
	const most = 2
	c.pace.begin(t.ID())
	if c.pace.summaries < most {
		return nil
	}
	why := fmt.Sprintf("The conversation was summed up twice to make room in the model's window of %d tokens, "+
		"and since then the model has only repeated calls that it had made.", window)
	on, err := t.AskToContinue(ctx, why, "until it was summed up twice more")
	if err != nil {
		return err
	}
	if on != core.GoOn {
		return &core.LimitError{Text: why + " The turn ends here: ask for less at once, or choose a model with a larger window."}
	}
	c.pace.summaries = 0
	return nil
}

func (p *progress) begin(t core.TurnID) {
	if p.turn != t {
		*p = progress{turn: t, made: map[[sha256.Size]byte]bool{}}
	}
}

// answered notes the calls of an answer.
func (p *progress) answered(t core.TurnID, calls []*modelCall) {
	p.begin(t)
	for _, h := range calls {
		if key := h.key(); !p.made[key] {
			p.made[key], p.summaries = true, 0
		}
	}
}

// key is the same for calls of a tool with the same arguments.
func (h *modelCall) key() [sha256.Size]byte {
	args := []byte(h.args)
	var same any
	if json.Unmarshal(args, &same) == nil {
		if sorted, err := json.Marshal(same); err == nil {
			args = sorted
		}
	}
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %s", h.spec.Server, h.spec.Name, args))
}
