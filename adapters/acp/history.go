package acp

import (
	"cmp"
	"encoding/json"
	"unicode/utf8"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/jsonscan"
)

const (
	// maxWhole limits the text of a message in one update of a history, in bytes.
	maxWhole = 256 << 10
	// maxHeld limits what a history holds back behind a call that has not ended, in bytes.
	maxHeld = 2 << 20
)

// history gathers the updates about the past of a session. A client that loads the session gets the
// end of each thing, at the place where the thing began: a call once, with its result, a message whole,
// the last plan and the last usage alone. What follows a call is held back until the call ends, as far
// as maxHeld allows. The updates are those that a live client got, so both see the same in the end.
type history struct {
	queue []*past // from the oldest call that has not ended
	open  map[string]*past
	held  int // bytes in the queue
	text  growing
	last  []kept
	// sent is called behind a call: its task, if it has one, is shown there.
	sent func(dst []byte, call core.CallID, ended bool) []byte
}

// past is a part of a history: a call, or whole lines.
type past struct {
	call  acp.ToolCall // all that the updates of a call have said
	lines []byte       // nil: the call has not ended
}

// growing is a message that may go on.
type growing struct {
	kind, id string
	text     []byte
}

// kept is the newest update of a kind of which each one replaces the last.
type kept struct {
	kind   string
	update any // or an agent's own, as a json.RawMessage
}

// update takes an update of the session.
func (h *history) update(dst []byte, v *View, u any) []byte {
	switch u := u.(type) {
	case acp.ToolCall:
		return h.call(dst, v, u)
	case acp.UsageUpdate:
		return h.keep(dst, u.SessionUpdate, u)
	case acp.Plan:
		return h.keep(dst, u.SessionUpdate, u)
	case acp.InfoUpdate:
		return h.keep(dst, u.SessionUpdate, u)
	}
	dst = h.endText(dst, v)
	at := len(dst)
	return h.add(appendUpdate(dst, v, u), at, v)
}

// raw takes an update of an external agent.
func (h *history) raw(dst []byte, v *View, kind string, u json.RawMessage) []byte {
	if kind == acp.UpdateUsage {
		return h.keep(dst, kind, u)
	}
	dst = h.endText(dst, v)
	at := len(dst)
	return h.add(appendRaw(dst, v, u), at, v)
}

// keep takes an update that replaces the last one of its kind.
func (h *history) keep(dst []byte, kind string, u any) []byte {
	for i := range h.last {
		if h.last[i].kind == kind {
			h.last[i].update = u
			return dst
		}
	}
	h.last = append(h.last, kept{kind, u})
	return dst
}

// call takes an update of a call.
func (h *history) call(dst []byte, v *View, u acp.ToolCall) []byte {
	p := h.open[u.ToolCallID]
	if p == nil {
		dst = h.endText(dst, v)
		p = &past{call: u}
		put(&h.open, u.ToolCallID, p)
		h.queue = append(h.queue, p)
	} else {
		p.take(u)
	}
	if u.Status != acp.StatusCompleted && u.Status != acp.StatusFailed {
		return dst
	}
	h.end(p, v)
	return h.flush(dst, v)
}

// take adds a later update of the call: a field that it has replaces the earlier one.
func (p *past) take(u acp.ToolCall) {
	c := &p.call
	c.Name, c.Title = cmp.Or(u.Name, c.Name), cmp.Or(u.Title, c.Title)
	c.Kind, c.Status = cmp.Or(u.Kind, c.Kind), cmp.Or(u.Status, c.Status)
	if len(u.Content) > 0 {
		c.Content = u.Content
	}
	if len(u.Locations) > 0 {
		c.Locations = u.Locations
	}
	if len(u.RawInput) > 0 {
		c.RawInput = u.RawInput
	}
	if len(u.RawOutput) > 0 {
		c.RawOutput = u.RawOutput
	}
	if u.Meta != nil {
		c.Meta = u.Meta
	}
}

// end ends a call of the queue: with its result, or as it is now.
func (h *history) end(p *past, v *View) {
	delete(h.open, p.call.ToolCallID)
	p.lines = appendUpdate([]byte{}, v, p.call)
	h.held += len(p.lines)
}

// add takes the lines of dst from at on.
func (h *history) add(dst []byte, at int, v *View) []byte {
	n := len(h.queue)
	if n == 0 || at == len(dst) {
		return dst
	}
	lines := dst[at:]
	if last := h.queue[n-1]; last.lines != nil && last.call.ToolCallID == "" {
		last.lines = append(last.lines, lines...)
	} else {
		h.queue = append(h.queue, &past{lines: append([]byte{}, lines...)})
	}
	h.held += len(lines)
	return h.flush(dst[:at], v)
}

// flush appends what follows no open call. A call that holds back too much is shown as it is now: what
// follows of it is an update of its own.
func (h *history) flush(dst []byte, v *View) []byte {
	for len(h.queue) > 0 {
		p, ended := h.queue[0], true
		if p.lines == nil {
			if h.held <= maxHeld {
				return dst
			}
			ended = false
			h.end(p, v)
		}
		dst = h.pop(dst, ended)
	}
	return dst
}

// pop appends the first part of the queue.
func (h *history) pop(dst []byte, ended bool) []byte {
	p := h.queue[0]
	h.queue[0] = nil
	h.queue = h.queue[1:]
	h.held -= len(p.lines)
	dst = append(dst, p.lines...)
	if p.call.ToolCallID != "" && h.sent != nil {
		dst = h.sent(dst, core.CallID(p.call.ToolCallID), ended)
	}
	return dst
}

// say takes a piece of a message of the agent. Pieces that follow each other become one text.
func (h *history) say(dst []byte, v *View, kind, id, text string) []byte {
	if g := &h.text; g.kind != kind || g.id != id || id == "" {
		dst = h.endText(dst, v)
		g.kind, g.id = kind, id
	}
	for len(h.text.text)+len(text) > maxWhole {
		n := maxWhole - len(h.text.text)
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		h.text.text = append(h.text.text, text[:n]...)
		dst = h.endText(dst, v)
		h.text.kind, h.text.id = kind, id
		text = text[n:]
	}
	h.text.text = append(h.text.text, text...)
	if kind != acp.AgentChunk && kind != acp.ThoughtChunk { // a block of a prompt
		return h.endText(dst, v)
	}
	return dst
}

// endText takes the message that was growing: something else follows it.
func (h *history) endText(dst []byte, v *View) []byte {
	g := h.text
	h.text = growing{text: g.text[:0]}
	at := len(dst)
	for text := g.text; len(text) > 0; {
		n := jsonscan.Fit(string(text), maxInline)
		dst = appendChunk(dst, v, g.kind, g.id, string(text[:n]))
		text = text[n:]
	}
	return h.add(dst, at, v)
}

// settle ends the history: calls that have not ended are shown as they are now, and what is kept of
// other things.
func (h *history) settle(dst []byte, v *View) []byte {
	dst = h.endText(dst, v)
	for len(h.queue) > 0 {
		p := h.queue[0]
		ended := p.lines != nil
		if !ended {
			h.end(p, v)
		}
		dst = h.pop(dst, ended)
	}
	for _, k := range h.last {
		if raw, ok := k.update.(json.RawMessage); ok {
			dst = appendRaw(dst, v, raw)
			continue
		}
		dst = appendUpdate(dst, v, k.update)
	}
	return dst
}
