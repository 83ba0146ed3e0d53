package loop

import (
	"context"
	"slices"
	"strings"

	"dragoman/core"
)

// leave ends a turn with the questions that the user's next message answers. They are
// the last text of the turn, in the order of their calls.
func leave(ctx context.Context, t *core.Turn, asked []core.Ask, calls []*modelCall) error {
	place := func(a core.Ask) int {
		return slices.IndexFunc(calls, func(h *modelCall) bool { return h.id == a.Call })
	}
	slices.SortStableFunc(asked, func(a, b core.Ask) int { return place(a) - place(b) })
	texts := make([]string, len(asked))
	for i, a := range asked {
		texts[i] = a.InWords()
	}
	t.Steered() // the log has them now, and the next turn gets the answer
	return t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: strings.Join(texts, "\n\n")})
}

const postponed = "the call did not run: the user has not answered the question before it; make it again after the answer, if it is still right"

// postpone ends a call that the model made after a question that is not answered yet.
// It asks no one for an approval.
func (h *modelCall) postpone(ctx context.Context, t *core.Turn) error {
	return h.refuse(ctx, t, postponed)
}
