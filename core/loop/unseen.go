package loop

import (
	"iter"
	"slices"
	"strings"

	"dragoman/core"
)

// portion is what the model gets of a result or of a message.
type portion struct {
	blocks []core.Block
	whole  []core.Block // before it was cut; nil: it was not, or the model has seen the rest
}

// all returns the content before it was cut.
func (p *portion) all() []core.Block {
	if p.whole != nil {
		return p.whole
	}
	return p.blocks
}

// unseen is a result or a message that the model has not been shown.
type unseen struct {
	*portion
	call    *use     // whose result it is; nil: it is a message
	message *message // nil: it is a result
}

// unseen yields what the model has not been shown, the oldest first: the results of its last
// answer, and the messages since.
func (h *history) unseen() iter.Seq[unseen] {
	return func(yield func(unseen) bool) {
		for _, e := range h.entries[h.place():] {
			if e == h.last {
				for _, u := range e.uses {
					if u.ended && !yield(unseen{portion: &u.result, call: u}) {
						return
					}
				}
			} else if m := e.user; m != nil && !yield(unseen{portion: &m.portion, message: m}) {
				return
			}
			for _, m := range e.steered {
				if !yield(unseen{portion: &m.portion, message: m}) {
					return
				}
			}
		}
	}
}

// place returns the index of the last answer among the entries; 0: it is not there.
func (h *history) place() int {
	for i := len(h.entries) - 1; i > 0; i-- {
		if h.entries[i] == h.last {
			return i
		}
	}
	return 0
}

// step returns the last answer, if it has calls: the model has not seen their results. nil: it has
// seen everything but messages.
func (h *history) step() *entry {
	if h.last == nil || len(h.last.uses) == 0 {
		return nil
	}
	return h.last
}

// shortened cuts results and messages that the model has not seen.
func (h *history) shortened(e core.Shortened) {
	for u := range h.unseen() {
		for _, x := range e.Excerpts {
			if u.call != nil && u.call.id == x.Call || u.message != nil && x.Message != "" && u.message.id == x.Message {
				h.load.bytes -= weigh(u.blocks)
				u.whole = u.all()
				u.blocks = excerpt(u.whole, x)
				h.load.bytes += weigh(u.blocks)
			}
		}
	}
}

// excerpt returns the part of blocks that the model gets.
func excerpt(all []core.Block, x core.Excerpt) []core.Block {
	from, to := x.From, x.To
	if from[0] < 0 || from[0] > to[0] || to[0] > len(all) {
		return all
	}
	before, ok := upTo(all, from)
	after, fine := since(all, to)
	if !ok || !fine || from[0] == to[0] && from[1] > to[1] {
		return all
	}
	if from[0] == to[0] && from[0] < len(all) { // one text in which the middle is missing
		head, tail := onLines(before), after
		return slices.Concat(all[:from[0]], []core.Block{withText(all[from[0]], head+x.Note+"\n"+tail)}, all[from[0]+1:])
	}
	list := slices.Clone(all[:from[0]])
	if before != "" {
		list = append(list, withText(all[from[0]], onLines(before)+x.Note))
	} else {
		list = append(list, core.Text{Text: x.Note})
	}
	if after != "" {
		list = append(list, withText(all[to[0]], after))
		to[0]++
	}
	return append(list, all[to[0]:]...)
}

// upTo returns the text of a block up to a mark; ok is false if there is no such place.
func upTo(all []core.Block, m [2]int) (text string, ok bool) {
	if m[1] == 0 {
		return "", true
	}
	if m[0] < len(all) {
		text, ok = textOf(all[m[0]])
	}
	if !ok || m[1] < 0 || m[1] > len(text) {
		return "", false
	}
	return text[:m[1]], true
}

// since returns the text of a block from a mark within it; "" at the beginning of one.
func since(all []core.Block, m [2]int) (text string, ok bool) {
	before, ok := upTo(all, m)
	if !ok || before == "" {
		return "", ok
	}
	text, _ = textOf(all[m[0]])
	return text[len(before):], true
}

// onLines ends the last line of a text.
func onLines(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// textOf returns the text of a block; ok is false if it is no text.
func textOf(b core.Block) (text string, ok bool) {
	switch b := b.(type) {
	case core.Text:
		return b.Text, true
	case core.Resource:
		return b.Text, b.Text != ""
	case core.Image, core.Audio, core.Link, core.Diff, core.Terminal:
	}
	return "", false
}

// withText returns a block with another text.
func withText(b core.Block, text string) core.Block {
	if r, is := b.(core.Resource); is {
		r.Text = text
		return r
	}
	return core.Text{Text: text}
}
