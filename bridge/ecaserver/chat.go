package ecaserver

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/replay"
	"dragoman/bridge/agent/stage"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
)

// protocol names the protocol in core.Foreign.
const protocol = "eca"

// chat is a chat of the server: the session's own, or that of a sub-agent. Its contents become events.
type chat struct {
	talk   *conversation
	id     string // the server's; set before the chat is joined
	host   core.Host
	meta   core.Meta
	parent *chat        // of a sub-agent's
	stage  *stage.Stage // has the turn that contents belong to

	// The goroutine that reads owns the fields below.
	message  core.MessageID // of the text that grows; "": none does
	thought  core.ThoughtID // that is open; "": none is
	theirs   string         // the server's id of it
	since    time.Time
	calls    map[string]*call
	lastText core.MessageID // the newest message
	said     string         // of a sub-agent: its last text
	busy     string         // the last progress
	repeated []string       // the server's ids of the user's messages that it has repeated, when it opened the chat
	steps    string         // the last plan
	n        int

	mu        sync.Mutex      // guards the fields below
	importing *replay.History // nil: none goes on
	subs      map[string]*subagent
}

func newChat(talk *conversation, id string, host core.Host, meta core.Meta) *chat {
	c := &chat{talk: talk, id: id, host: host, meta: meta, calls: map[string]*call{}, subs: map[string]*subagent{}}
	c.stage = stage.New(stage.Config{
		Host: host, Life: talk.life, Opens: talk.opens, Stopped: func(*core.Turn) { talk.stopChat(c) }, Strict: true,
	})
	return c
}

// received holds the params of chat/contentReceived.
type received struct {
	ChatID  string          `json:"chatId"`
	Role    eca.Role        `json:"role"`
	Content json.RawMessage `json:"content"`
}

// contentReceived handles chat/contentReceived. Contents of unknown chats are dropped.
func (p *peer) contentReceived(params json.RawMessage) {
	var r received
	if wire.Unmarshal(params, &r) != nil {
		return
	}
	c := p.chat(r.ChatID)
	if c == nil {
		return
	}
	c.take(r, params)
}

// take turns a content into events.
func (c *chat) take(r received, params json.RawMessage) {
	if in := c.imports(); in != nil {
		in.Grow(len(params))
	}
	kind := jsonscan.Text(wire.Object(r.Content)["type"])
	if c.parent == nil && kind != eca.TypeProgress {
		c.talk.moves() // before the event: an end may follow it at once
	}
	decode := decoders[kind]
	switch {
	case decode == nil && sound(kind, r):
		c.foreign(r, params, textOf(kind, r.Content))
	case decode == nil, !decode(c, r): // clients would fail on it
		c.talk.b.o.Say("warn", "a content was dropped, because it has another form than its type "+display.Line(kind, 60)+" has")
	}
}

// decoders turn contents into events, by type. One that reports false has another form.
var decoders = map[string]func(c *chat, r received) bool{
	eca.TypeText:             typed((*chat).text),
	eca.TypeURL:              typed((*chat).url),
	eca.TypeProgress:         typed((*chat).progress),
	eca.TypeReasonStarted:    typed((*chat).reason),
	eca.TypeReasonText:       typed((*chat).reason),
	eca.TypeReasonFinished:   typed((*chat).reason),
	eca.TypeUsage:            typed((*chat).usage),
	eca.TypeMetadata:         typed((*chat).metadata),
	eca.TypeFlag:             typed((*chat).flag),
	eca.TypeImage:            typed((*chat).image),
	eca.TypeToolCallPrepare:  typed((*chat).prepare),
	eca.TypeToolCallRun:      typed((*chat).runs),
	eca.TypeToolCallRunning:  typed((*chat).running),
	eca.TypeToolCalled:       typed((*chat).called),
	eca.TypeToolCallRejected: typed((*chat).rejected),
}

// typed decodes a content for a function.
func typed[T any](take func(*chat, received, T)) func(*chat, received) bool {
	return func(c *chat, r received) bool {
		var v T
		if wire.Unmarshal(r.Content, &v) != nil {
			return false
		}
		take(c, r, v)
		return true
	}
}

// emit adds events to the turn that runs, or to the history that is imported. It reports whether the log has
// them, or will have them.
func (c *chat) emit(events ...core.Event) bool {
	if in := c.imports(); in != nil {
		in.Add(events...)
		return true
	}
	return c.stage.Emit(events...)
}

// apart adds an event that needs no turn: in the one that runs, or without one.
func (c *chat) apart(ev core.Event) {
	if in := c.imports(); in != nil {
		if _, titled := ev.(core.TitleChanged); titled { // what else is told now is no history
			in.Apart(ev)
		}
		return
	}
	c.stage.Apart(ev)
}

// foreign passes a content on as it is. text is for clients of other protocols.
func (c *chat) foreign(r received, params json.RawMessage, text string) {
	if len(params) > maxForeign {
		c.apart(core.Notice{Severity: core.Warning, Text: fmt.Sprintf("A message of agent %s was dropped, because it has more than %d bytes.", c.talk.b.o.Name, maxForeign)})
		return
	}
	c.pause()
	c.emit(core.Foreign{Protocol: protocol, Raw: rawOf(r), Text: text})
}

// sound reports whether a content can be passed on: a client may fail on one without what its type must have.
func sound(kind string, r received) bool {
	m := wire.Object(r.Content)
	_, err := strconv.Atoi(string(m["status"]))
	return m != nil && r.Role != "" && (kind != "hookActionFinished" || err == nil)
}

// rawOf returns a content as it is kept: with its role, without its chat.
func rawOf(r received) json.RawMessage {
	return wire.JSON(struct {
		Role    eca.Role        `json:"role"`
		Content json.RawMessage `json:"content"`
	}{r.Role, r.Content})
}

// textOf returns the words of a content that has no event; "": it has none.
func textOf(kind string, content json.RawMessage) string {
	m := wire.Object(content)
	if kind == "hookActionFinished" {
		if said := strings.TrimSpace(jsonscan.Text(m["error"])); said != "" {
			return "Hook " + jsonscan.Text(m["name"]) + ": " + said
		}
		return ""
	}
	return strings.TrimSpace(jsonscan.Text(m["text"]))
}

// newID makes an id that is unique in the session.
func (c *chat) newID(kind string) string {
	if c.imports() != nil {
		c.n++
		return fmt.Sprintf("%s%s-i%d", kind, c.talk.b.o.Name, c.n)
	}
	t := c.stage.Current()
	switch {
	case t == nil: // before the first turn
		return kind + "-" + strings.ToLower(rand.Text()[:12])
	case kind == "m":
		return string(t.NewMessage())
	case kind == "h":
		return string(t.NewThought())
	}
	return string(t.NewCall())
}

// imports returns the import that goes on; nil: none.
func (c *chat) imports() *replay.History {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.importing
}

// pause ends the text and the thought that grow: something else comes.
func (c *chat) pause() {
	c.endThought(0)
	c.message = ""
}

// over ends what is open: a turn has ended.
func (c *chat) over() {
	c.pause()
	c.busy = ""
	for id, tc := range c.calls {
		if !c.asks(tc) && tc.is.State.Ended() {
			delete(c.calls, id)
		}
	}
}
