package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// caller is an agent that uses the binary over MCP, by hand, at 2025-11-25 and
// without elicitation: it polls and decides by tools.
type caller struct {
	*peer
	answers map[string]message
	asked   []message // what its user was asked, by elicitation
}

// result is a tool's result.
type result struct {
	IsError bool `json:"isError"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Structured struct {
		Session   string `json:"session_id"`
		Turn      string `json:"turn_id"`
		Status    string `json:"status"`
		Text      string `json:"text"`
		Approvals []struct {
			ID   string `json:"approval_id"`
			Tool string `json:"tool"`
		} `json:"pending_approvals"`
		Calls     []toldEvent `json:"tool_calls"`
		Events    []toldEvent `json:"events"`
		Entries   []toldEvent `json:"entries"`
		Cursor    string      `json:"cursor"`
		More      bool        `json:"more"`
		Cancelled bool        `json:"cancelled"`
	} `json:"structuredContent"`
}

// toldEvent is an event, an entry of a transcript, or a call.
type toldEvent struct {
	Type   string `json:"type"`
	Turn   string `json:"turn_id"`
	Text   string `json:"text"`
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
}

func (r result) text() string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// call starts the binary as an agent does and says hello.
func (p *place) call(t testing.TB, l launch, flags ...string) *caller {
	t.Helper()
	return p.callWith(t, l, object{}, flags...)
}

// callWith is call for an agent that has capabilities.
func (p *place) callWith(t testing.TB, l launch, caps object, flags ...string) *caller {
	t.Helper()
	c := &caller{
		peer:    p.start(t, l, false, append(flags, "mcp", "--root", p.work)...),
		answers: map[string]message{},
	}
	_, req := c.request("initialize", object{"protocolVersion": "2025-11-25", "capabilities": caps, "clientInfo": object{"name": "raw", "version": "1"}})
	c.send(req, notification("notifications/initialized", object{}))
	if m := c.await("1"); m.Error != nil {
		t.Fatalf("initialize: %v", m.Error)
	}
	return c
}

func (c *caller) take(m message) {
	switch m.Method {
	case "":
		c.answers[string(m.ID)] = m
	case "elicitation/create":
		c.asked = append(c.asked, m)
	}
}

func (c *caller) await(id string) message {
	c.t.Helper()
	c.until("the answer to request "+id, c.take, func() bool { _, ok := c.answers[id]; return ok })
	return c.answers[id]
}

// tool is a request that calls a tool, written but not sent.
func (c *caller) tool(name string, args object) (id string, req object) {
	return c.request("tools/call", object{"name": name, "arguments": args})
}

// use calls a tool and reads until it has answered.
func (c *caller) use(name string, args object) result {
	c.t.Helper()
	id, req := c.tool(name, args)
	c.send(req)
	return c.result(id)
}

// result reads until a tool has answered.
func (c *caller) result(id string) (r result) {
	c.t.Helper()
	m := c.await(id)
	if m.Error != nil {
		c.t.Fatalf("request %s: %v", id, m.Error)
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		c.t.Fatalf("%s: %v", m.raw, err)
	}
	return r
}

// prompt runs a turn of a session, or of a new one where id is "", as far as it
// comes.
func (c *caller) prompt(id, text string) result {
	c.t.Helper()
	return c.use("agent_prompt", promptArgs(id, text))
}

func promptArgs(id, text string) object {
	args := object{"prompt": text}
	if id != "" {
		args["session_id"] = id
	}
	return args
}

// begin begins a turn and does not wait for it.
func (c *caller) begin(id, text string) result {
	c.t.Helper()
	args := promptArgs(id, text)
	args["wait_seconds"] = 0
	r := c.use("agent_prompt", args)
	if r.IsError {
		c.t.Fatalf("%q: %s", text, r.text())
	}
	return r
}

// heard is what a caller has been told of one turn, event by event.
type heard struct {
	session, turn, cursor string

	*view
	status string
}

func hear(r result) *heard {
	return &heard{session: r.Structured.Session, turn: r.Structured.Turn, view: newView()}
}

// listen polls once.
func (c *caller) listen(h *heard, wait int) {
	c.t.Helper()
	args := object{"session_id": h.session, "turn_id": h.turn, "wait_seconds": wait}
	if h.cursor != "" {
		args["after"] = h.cursor
	}
	id, req := c.tool("agent_wait", args)
	c.send(req)
	h.learn(c.await(id).at, c.result(id))
}

// learn keeps what an answer tells.
func (h *heard) learn(at time.Time, r result) {
	h.cursor, h.status = r.Structured.Cursor, r.Structured.Status
	for _, e := range r.Structured.Events {
		switch e.Type {
		case "text":
			h.say(at, e.Text)
		case "thought":
			h.thoughts += e.Text
			h.show(elemThought, "", e.Text)
		case "ended":
			h.ends = append(h.ends, e.Status+" "+e.Text)
		case "tool":
			h.call(e.ID, e.Status)
			fallthrough
		default:
			h.facts = append(h.facts, fmt.Sprint(e))
			h.show(elemFact, "", fmt.Sprint(e))
		}
	}
}

// poll asks until a condition holds.
func (c *caller) poll(h *heard, what string, holds func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			c.t.Fatalf("waiting for %s: %d bytes, cursor %q, status %q\n%s", what, h.length, h.cursor, h.status, strings.Join(h.facts, "\n"))
		}
		c.listen(h, 1)
	}
}

func (h *heard) over() bool { return len(h.ends) > 0 }
