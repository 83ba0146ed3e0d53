package acp

import (
	"cmp"
	"encoding/json"
	"unicode/utf8"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/pump"
	"dragoman/core/jsonscan"
)

// maxWhole limits the text of a message in one update of a history, in bytes.
const maxWhole = 256 << 10

// history gathers the updates about the past of a session. A client that loads the session gets the
// end of each thing, at the place where the thing began: a call once, with its result, a message whole,
// the last plan and the last usage alone. The updates are those that a live client got, so both see the
// same in the end.
type history struct {
	pump.Backlog                          // of calls
	calls        map[string]*acp.ToolCall // all that the updates of open calls have said
	text         growing
	last         []kept
	buf          []byte
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

// remember begins the history of a view.
func (v *View) remember() {
	v.history = &history{calls: map[string]*acp.ToolCall{}}
	v.history.Now = func(key string) []byte { return v.history.told(v, key) }
}

// told returns what there is to be told of a call, until it is called again.
func (h *history) told(v *View, id string) []byte {
	c := h.calls[id]
	delete(h.calls, id)
	h.buf = appendUpdate(h.buf[:0], v, *c)
	return h.buf
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
	return h.Add(appendUpdate(dst, v, u), at)
}

// raw takes an update of an external agent.
func (h *history) raw(dst []byte, v *View, kind string, u json.RawMessage) []byte {
	if kind == acp.UpdateUsage {
		return h.keep(dst, kind, u)
	}
	dst = h.endText(dst, v)
	at := len(dst)
	return h.Add(appendRaw(dst, v, u), at)
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

// call takes an update of a call. One that follows after the call was told is an update of its own.
func (h *history) call(dst []byte, v *View, u acp.ToolCall) []byte {
	id := u.ToolCallID
	if h.Open(id) {
		patch(h.calls[id], u)
	} else {
		dst = h.endText(dst, v)
		h.calls[id] = &u
		h.Begin(id)
	}
	if u.Status != acp.StatusCompleted && u.Status != acp.StatusFailed {
		return dst
	}
	return h.End(dst, id, h.told(v, id))
}

// patch adds a later update of a call: a field that it has replaces the earlier one.
func patch(c *acp.ToolCall, u acp.ToolCall) {
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
	for text := string(g.text); text != ""; {
		n := jsonscan.Fit(text, maxInline)
		dst = appendChunk(dst, v, g.kind, g.id, text[:n])
		text = text[n:]
	}
	return h.Add(dst, at)
}

// settle ends the history: calls that have not ended are told as they are now, and what is kept of other
// things.
func (h *history) settle(dst []byte, v *View) []byte {
	dst = h.Settle(h.endText(dst, v))
	for _, k := range h.last {
		if raw, ok := k.update.(json.RawMessage); ok {
			dst = appendRaw(dst, v, raw)
			continue
		}
		dst = appendUpdate(dst, v, k.update)
	}
	return dst
}
