package loop

import (
	"cmp"
	"fmt"
	"slices"

	"dragoman/core"
	"dragoman/core/inference"
)

// end records the result of a call.
func (u *use) end(c core.Call) {
	u.ended, u.failed, u.spill = true, c.State != core.Succeeded, c.Spill
	var list []core.Block
	switch c.State {
	case core.Succeeded:
		list = forModel(c.Content)
	case core.Errored:
		// The content of a tool that ran and failed has the reason, and Why still has
		// the decision's. For a call that ended in another way, Why has the reason,
		// and its content shows its intended effect.
		if c.Why != "" && c.Why != u.why {
			list = []core.Block{core.Text{Text: c.Why}}
		} else if list = forModel(c.Content); len(list) == 0 {
			list = []core.Block{core.Text{Text: "The call failed and gave no reason."}}
		}
	case core.Rejected:
		list = []core.Block{
			core.Text{Text: "This call did not run: " + cmp.Or(c.Why, "it was rejected by the user") + "."},
		}
	case core.Canceled:
		list = nil
		if !c.Start.IsZero() {
			list = printed(c.Content)
		}
		list = append(
			list,
			core.Text{
				Text: "This call was stopped before it ended: " + cmp.Or(c.Why, "the user cancelled the turn") + ".",
			},
		)
	case core.Proposed, core.Awaiting, core.Running:
	}
	u.result = capped(list)
}

// printed returns the output of a call that was stopped while it ran.
func printed(content []core.Block) (list []core.Block) {
	for _, b := range content {
		if b, ok := b.(core.Text); ok {
			list = append(list, b)
		}
	}
	return list
}

// capped returns blocks with each text cut to maxText.
func capped(all []core.Block) portion {
	list := all
	for i, b := range all {
		text, is := textOf(b)
		if !is || len(text) <= maxText {
			continue
		}
		if &list[0] == &all[0] {
			list = slices.Clone(all)
		}
		list[i] = withText(b, shorten(text, maxText))
	}
	if len(all) == 0 || &list[0] == &all[0] {
		return portion{blocks: all}
	}
	return portion{blocks: list, whole: all}
}

// message returns the result in its form for the model.
func (u *use) message() inference.ToolReturn {
	r := inference.ToolReturn{
		ID:     u.id,
		Name:   inference.ToolName(u.server, u.tool),
		Blocks: u.result.blocks,
		Failed: u.failed,
	}
	switch {
	case !u.ended:
		r.Blocks, r.Failed = []core.Block{core.Text{Text: "(There is no result yet.)"}}, true
	case len(r.Blocks) == 0:
		r.Blocks = []core.Block{core.Text{Text: "(The call succeeded and returned nothing.)"}}
	}
	return r
}

// forModel returns the part of a call's content for a model. The model already knows its
// own diff, so a diff is included only if there is nothing else.
func forModel(content []core.Block) []core.Block {
	var list, diffs []core.Block
	for _, b := range content {
		switch b := b.(type) {
		case core.Diff:
			diffs = append(diffs, core.Text{Text: fmt.Sprintf("Changed %s: %d lines added, %d removed.",
				b.Path, b.Added, b.Removed)})
		case core.Text, core.Resource, core.Image, core.Audio, core.Link:
			list = append(list, b)
		case core.Terminal: // its output is in a text block of its own
		}
	}
	if len(list) == 0 {
		return diffs
	}
	return list
}
