package loop

import (
	"strings"

	"dragoman/core"
	"dragoman/core/inference"
)

// compacted replaces everything before it by a summary. The user's messages in the
// running turn stay; but a turn that was prompted only for the summary ends with it. The last
// calls and their results stay if the model has not seen them.
func (h *history) compacted(e core.Compacted) {
	var kept []*entry
	begun := false // the turn's work has begun
	upto := h.covered(e.Step)
	if e.Auto && e.Turn == h.turn && h.turn != "" {
		for _, was := range h.entries[min(h.first, upto):upto] {
			begun = begun || was.says()
			if was.user != nil {
				kept = append(kept, &entry{user: was.user})
			}
			for _, m := range was.steered {
				kept = append(kept, &entry{user: m})
			}
		}
	}
	begun = begun || h.first <= upto && upto < len(h.entries)
	summary := core.Text{Text: summaryText(e.Summary, len(kept) > 0, begun)}
	kept = append(kept, h.entries[upto:]...)
	h.settled = []inference.Message{{Role: inference.RoleUser, Blocks: []core.Block{summary}}}
	h.spoken, h.earlier = upto < len(h.entries), false
	if !h.spoken {
		h.last = nil
	}
	h.entries, h.first, h.cur, h.message = kept, max(0, h.first-upto), nil, ""
	h.load = load{bytes: len(summary.Text)}
	h.given = nil
	h.forgetUsed()
	for _, k := range kept {
		h.load.bytes += k.weight()
	}
	h.load.counted(e.After)
	h.mark = h.load
}

// covered returns the number of entries that a summary covers: all, or those before the step.
func (h *history) covered(step bool) int {
	if step && h.step() != nil {
		return h.place()
	}
	return len(h.entries)
}

// reverted adds a note for the model, at this point of the history, on which of its
// changes were reverted.
func (h *history) reverted(e core.Reverted) {
	var gone, left []string
	for _, f := range e.Files {
		if f.Why == "" {
			gone = append(gone, f.Path)
		} else {
			left = append(left, f.Path+" ("+f.Why+")")
		}
	}
	var said []string
	if len(gone) > 0 {
		said = append(said,
			"The user took back changes that were made here. These files are as they were before: "+
				strings.Join(gone, ", ")+".")
	}
	if len(left) > 0 {
		said = append(said,
			"The user wanted to take back the changes of these files, and they stayed as they are: "+
				strings.Join(left, ", ")+".")
	}
	if said == nil {
		return
	}
	said = append(said, "Read a file again before you rely on what is in it.")
	h.hear(noteFor("(" + strings.Join(said, " ") + ")"))
}

// past returns the messages that a summary has to cover: all except the user's
// messages in the running turn that the model has not seen, and the step, if that stays.
func (h *history) past(step bool) []inference.Message {
	upto := h.covered(step)
	n := min(h.first, upto)
	for i := upto - 1; i >= n; i-- {
		if h.entries[i].says() {
			n = i + 1
		}
	}
	list := append([]inference.Message(nil), h.settled...)
	for i, e := range h.entries[:n] {
		if i == n-1 && n > h.first {
			last := *e
			last.steered = nil
			e = &last
		}
		list = e.messages(list)
	}
	return list
}

// kept returns the number of bytes that a summary would not cover now.
func (h *history) kept(step bool) (n int) {
	upto := h.covered(step)
	for _, e := range h.entries[min(h.first, upto):upto] {
		n += e.said()
	}
	for _, e := range h.entries[upto:] {
		n += e.weight()
	}
	return n
}

// said returns the size of the user's messages in an entry.
func (e *entry) said() (n int) {
	if e.user != nil {
		n = weigh(e.user.blocks)
	}
	for _, m := range e.steered {
		n += weigh(m.blocks)
	}
	return n
}

// weight returns the size of an entry for the model.
func (e *entry) weight() int {
	n := e.said() + weigh(e.instructions) + min(e.text.size, maxText)
	for _, t := range e.thoughts {
		n += min(t.text.size, maxText)
	}
	for _, u := range e.uses {
		n += len(u.args) + weigh(u.result.blocks)
	}
	return n
}
