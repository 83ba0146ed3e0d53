package loop

import (
	"strings"

	"dragoman/core"
	"dragoman/core/inference"
)

// compacted replaces everything before it by a summary. The user's messages in the
// running turn stay; but a turn that was prompted only for the summary ends with it.
func (h *history) compacted(e core.Compacted) {
	var kept []*entry
	begun := false // the turn's work has begun
	if e.Auto && e.Turn == h.turn && h.turn != "" {
		for _, was := range h.entries[h.first:] {
			begun = begun || was.says()
			if len(was.user) > 0 {
				kept = append(kept, &entry{user: was.user, said: was.said})
			}
			if len(was.steered) > 0 {
				kept = append(kept, &entry{user: was.steered})
			}
		}
	}
	summary := core.Text{Text: summaryText(e.Summary, len(kept) > 0, begun)}
	h.settled = []inference.Message{{Role: inference.RoleUser, Blocks: []core.Block{summary}}}
	h.entries, h.first, h.cur, h.message, h.spoken = kept, 0, nil, "", false
	h.load = load{bytes: len(summary.Text)}
	h.given = nil
	h.forgetUsed()
	for _, k := range kept {
		h.load.bytes += weigh(k.user)
	}
	h.load.counted(e.After)
	h.mark = h.load
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
	h.hear([]core.Block{core.Text{Text: "(" + strings.Join(said, " ") + ")"}})
}

// past returns the messages that a summary has to cover: all except the user's
// messages in the running turn that the model has not seen.
func (h *history) past() []inference.Message {
	n := h.first
	for i := len(h.entries) - 1; i >= n; i-- {
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
func (h *history) kept() (n int) {
	for _, e := range h.entries[h.first:] {
		n += weigh(e.user) + weigh(e.steered)
	}
	return n
}
