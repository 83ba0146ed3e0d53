package loop

import (
	"context"
	"slices"

	"dragoman/core"
	"dragoman/core/inference"
)

// Instructions is the text of one file of instructions, in its form for the model.
type Instructions struct {
	File string // absolute
	Text string
}

// instruct adds the instructions of the folders that calls have used since the last request. A
// text is added once, again when it has changed, and again after a summary has replaced it. It may
// have a quarter of the window.
func (c *conversation) instruct(ctx context.Context, t *core.Turn, window int) error {
	most := window / 4 * bytesPerToken
	paths := c.history.takeUsed()
	if c.b.o.Instructions == nil || len(paths) == 0 {
		return nil
	}
	list, warnings := c.b.o.Instructions(ctx, t.Meta(), paths)
	list = slices.Clone(list)
	for i, x := range list {
		if list[i].Text = shorten(x.Text, most); list[i].Text != x.Text {
			warnings = append(warnings, x.File+" is longer than a quarter of the model's window: the model gets its beginning and its end")
		}
	}
	var events []core.Event
	for _, w := range warnings {
		if !slices.Contains(c.warned, w) {
			c.warned = append(c.warned, w)
			events = append(events, core.Notice{Severity: core.Warning, Text: w})
		}
	}
	for _, i := range list {
		if c.history.given[i.File] != i.Text {
			events = append(events, core.Instructed{Turn: t.ID(), File: i.File, Text: i.Text})
		}
	}
	if len(events) == 0 {
		return nil
	}
	if err := t.Emit(ctx, events...); err != nil {
		return err
	}
	return c.catchUp(ctx, t)
}

// instructed adds instructions after the results of the calls that led to them.
func (h *history) instructed(e core.Instructed) {
	if h.given == nil {
		h.given = map[string]string{}
	}
	h.given[e.File] = e.Text
	blocks := []core.Block{core.Text{Text: inference.FolderInstructions + e.Text}}
	h.load.bytes += weigh(blocks)
	if h.cur == nil {
		h.entries = append(h.entries, &entry{instructions: blocks})
		return
	}
	h.cur.instructions = append(h.cur.instructions, blocks...)
}

// uses records the files that a call has read or changed in the turn.
func (h *history) uses(c core.Call) {
	if c.State != core.Succeeded {
		return
	}
	switch c.Kind {
	case core.KindRead, core.KindEdit, core.KindDelete, core.KindMove:
	case core.KindSearch, core.KindExecute, core.KindThink, core.KindFetch, core.KindOther:
		return
	}
	for _, l := range c.Locations {
		if !slices.Contains(h.usedNow, l.Path) && !slices.Contains(h.usedBefore, l.Path) {
			h.usedNow = append(h.usedNow, l.Path)
		}
	}
}

// takeUsed returns the files that calls of the turn have used since its last call.
func (h *history) takeUsed() []string {
	paths := h.usedNow
	h.usedBefore, h.usedNow = append(h.usedBefore, paths...), nil
	return paths
}

// forgetUsed drops the files that calls have used: a new turn checks their folders
// again.
func (h *history) forgetUsed() { h.usedNow, h.usedBefore = nil, nil }
