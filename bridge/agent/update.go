package agent

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
)

// maxForeign limits an update that is kept as it is, in bytes.
const maxForeign = 1 << 20

// update takes a session/update.
func (p *peer) update(params json.RawMessage) {
	var session, update []byte
	m := jsonscan.MembersOf(jsonscan.Trim(params), wire.MaxDepth)
	for m.Next() {
		switch string(m.Key) {
		case "sessionId":
			session = m.Val
		case "update":
			update = m.Val
		}
	}
	r := p.talk(jsonscan.Text(session))
	if r.c == nil || len(update) == 0 {
		return
	}
	if r.sub != nil {
		r.sub.update(update)
		return
	}
	r.c.flow.take(update)
}

// flow turns the updates of a session into events. It belongs to the goroutine that reads, and
// behind its end to the one that ends the program.
type flow struct {
	c       *conversation
	message core.MessageID       // the newest of the agent; "": the next piece begins one
	theirs  string               // its messageId
	thought core.ThoughtID       // the one that is open; "": none
	thinks  string               // its messageId
	since   time.Time            // when it began
	calls   map[string]*toolCall // by the agent's id
	summary string               // that the agent makes of its history, as far as it has come
	said    string               // the newest message, of a sub-agent
	letters struct {             // the newest message between sub-agents
		theirs string
		ours   core.MessageID
	}
	n int // of the ids that were made up for an import
}

// emit passes events on.
func (f *flow) emit(events ...core.Event) bool {
	if in := f.c.imports(); in != nil {
		in.add(events...)
		return true
	}
	return f.c.stage.Emit(events...)
}

// take handles one update.
func (f *flow) take(raw []byte) {
	if in := f.c.imports(); in != nil {
		in.Grow(len(raw))
	}
	var kind, content, message []byte
	meta := false
	m := jsonscan.MembersOf(raw, wire.MaxDepth)
	for m.Next() {
		switch string(m.Key) {
		case "sessionUpdate":
			kind = m.Val
		case "content":
			content = m.Val
		case "messageId":
			message = m.Val
		case "_meta":
			meta = string(m.Val) != "null"
		}
	}
	switch jsonscan.Text(kind) {
	case acp.AgentChunk:
		f.chunk(raw, content, meta, f.answering(message), f.say)
	case acp.ThoughtChunk:
		f.chunk(raw, content, meta, f.thinking(message), f.think)
	case acp.UserChunk:
		f.userChunk(content, message)
	case acp.ToolCallNew, acp.ToolCallMore:
		f.call(raw)
	default:
		f.rare(jsonscan.Text(kind), raw, meta)
	}
}

// chunk handles a piece of a text. A chunk with more than a text is also passed on as it is, with
// an empty text in the place of the text, and with our id of the message: another one is another message.
func (f *flow) chunk(raw, content []byte, meta bool, id string, text func(text string)) {
	kind, piece := "", []byte(nil)
	m := jsonscan.MembersOf(content, wire.MaxDepth)
	for m.Next() {
		switch string(m.Key) {
		case "type":
			kind = jsonscan.Text(m.Val)
		case "text":
			piece = m.Val
		}
	}
	if kind != "text" || meta { // not on the hot path
		raw = wire.Edit(raw, wire.Set("messageId", wire.JSON(id)))
	}
	if kind != "text" {
		f.content(raw, content)
		return
	}
	if meta {
		f.foreign(wire.Edit(raw, wire.Set("content", emptyText)), "")
	}
	text(jsonscan.Text(piece))
}

// content passes on a piece of a message that is no text, with what clients of other protocols can show.
func (f *flow) content(raw, content json.RawMessage) {
	var b acp.ContentBlock
	if wire.Unmarshal(content, &b) != nil {
		f.foreign(raw, "["+shown(content)+"]")
		return
	}
	if paths := f.c.b.paths; len(f.c.b.o.Paths) > 0 {
		content = paths.contentHere(content, b)
		raw = wire.Edit(raw, wire.Set("content", content))
	}
	kept := f.kept(raw, "["+shown(content)+"]")
	if e, ok := kept.(core.Foreign); ok {
		switch block := f.c.b.paths.blockOf(b).(type) {
		case core.Image, core.Audio, core.Link:
			e.Content = []core.Block{block}
			kept = e
		case core.Text, core.Resource, core.Diff, core.Terminal: // nobody has more of these than their text
		}
	}
	f.emit(kept)
}

var emptyText = json.RawMessage(`{"type":"text","text":""}`)

// answering returns the id of the message that the agent's answer goes on with. It goes on until something
// else comes, or the agent names another one.
func (f *flow) answering(theirs []byte) string {
	f.endThought()
	id := jsonscan.Text(theirs)
	if f.message == "" || id != f.theirs && id != "" {
		f.message, f.theirs, f.said = f.newMessage(), id, ""
	}
	return string(f.message)
}

// say adds to the agent's answer.
func (f *flow) say(text string) {
	if f.emit(core.TextDelta{Message: f.message, Text: text}) && f.c.parent != nil {
		f.said = display.Cut(f.said+text, maxSaid)
	}
}

// thinking returns the id of the thought that the agent's reasoning goes on with, until something else comes,
// or the agent names another one.
func (f *flow) thinking(theirs []byte) string {
	f.message = ""
	id := jsonscan.Text(theirs)
	if id != f.thinks && id != "" {
		f.endThought()
	}
	if f.thought == "" {
		f.thinks = id
		f.thought, f.since = core.ThoughtID(f.newID("h")), f.c.b.o.Time()
		f.emit(core.ThoughtStarted{Thought: f.thought})
	}
	return string(f.thought)
}

// think adds to the agent's reasoning.
func (f *flow) think(text string) { f.emit(core.ThoughtDelta{Thought: f.thought, Text: text}) }

func (f *flow) endThought() {
	if f.thought != "" {
		f.emit(core.ThoughtEnded{Thought: f.thought, Took: f.c.b.o.Time().Sub(f.since)})
		f.thought = ""
	}
}

// end ends what is open: a turn is over.
func (f *flow) end() {
	f.endThought()
	f.message = ""
	for id, tc := range f.calls {
		if !f.c.asking(tc) && tc.call.State.Ended() {
			delete(f.calls, id)
		}
	}
}

// pause ends the current text: something else comes.
func (f *flow) pause() {
	f.endThought()
	f.message = ""
}

func (f *flow) newMessage() core.MessageID { return core.MessageID(f.newID("m")) }

// newID makes an id that is unique in the session.
func (f *flow) newID(kind string) string {
	if t := f.c.stage.Current(); t != nil {
		switch kind {
		case "m":
			return string(t.NewMessage())
		case "h":
			return string(t.NewThought())
		}
		return string(t.NewCall())
	}
	if f.c.imports() == nil { // before the first turn
		return kind + "-" + strings.ToLower(rand.Text()[:12])
	}
	f.n++
	return fmt.Sprintf("%s%s-i%d", kind, f.c.b.o.Name, f.n)
}

// foreign passes an update on as it is. text is for clients of other protocols.
func (f *flow) foreign(raw json.RawMessage, text string) { f.emit(f.kept(raw, text)) }

// kept returns the event that keeps an update as it is, or says that it is too large for that.
func (f *flow) kept(raw json.RawMessage, text string) core.Event {
	if len(raw) > maxForeign {
		return core.Notice{
			Severity: core.Warning,
			Text:     fmt.Sprintf("An update of agent %s was dropped: it has %d bytes, and at most %d are kept.", f.c.b.o.Name, len(raw), maxForeign),
		}
	}
	return core.Foreign{Protocol: acp.Protocol, Raw: append(json.RawMessage{}, raw...), Text: text}
}

// shown describes content that is no text, for clients that cannot be shown it.
func shown(content []byte) string {
	var b struct {
		Type     string `json:"type"`
		MIMEType string `json:"mimeType"`
		URI      string `json:"uri"`
		Name     string `json:"name"`
		Resource struct {
			URI string `json:"uri"`
		} `json:"resource"`
	}
	if wire.Unmarshal(content, &b) != nil || b.Type == "" {
		return "content of an unknown kind"
	}
	text := b.Type
	for _, more := range []string{b.MIMEType, b.Name, b.URI, b.Resource.URI} {
		if more != "" {
			text += " " + more
		}
	}
	return text
}
