package bridge

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
)

// Audit is what is kept of a tool's call that an MCP client has made through us.
// What the call said and what came of it are not.
type Audit struct {
	Time         time.Time // when it came
	Principal    core.Principal
	Client       string // the client's program and its version, as it says; "": it did not
	Server, Tool string
	Outcome      Outcome
	Took         time.Duration
	In, Out      int // bytes of the message that asked, and of the answer
}

// Outcome is how a call ended.
type Outcome string

// The ways in which a call ends.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeToolError Outcome = "tool_error" // a result that says it is an error
	OutcomeError     Outcome = "error"      // an error in place of a result, or no answer
	OutcomeRefused   Outcome = "refused"    // by us
	OutcomeCancelled Outcome = "cancelled"  // by the client
)

// handed is a call that is under way. A nil one is kept nowhere.
type handed struct {
	keep func(Audit)

	mu    sync.Mutex // guards the fields below
	a     Audit
	ended bool
}

// begins notes a call that has come.
func (f *filter) begins(p core.Principal, client, tool string, in int) *handed {
	if f.box.opts.Audit == nil {
		return nil
	}
	return &handed{keep: f.box.opts.Audit, a: Audit{
		Time: time.Now(), Principal: p, Client: client, Server: f.server.Name, Tool: short(tool), In: in,
	}}
}

// ends notes how it ended. What comes first counts.
func (h *handed) ends(o Outcome, out int) {
	if h == nil {
		return
	}
	h.mu.Lock()
	first := !h.ended
	h.ended = true
	h.a.Outcome, h.a.Out, h.a.Took = o, out, time.Since(h.a.Time)
	a := h.a
	h.mu.Unlock()
	if first {
		h.keep(a)
	}
}

// answered notes the answer.
func (h *handed) answered(m wire.Message, out int) {
	if h != nil {
		h.ends(outcomeOf(m), out)
	}
}

func outcomeOf(m wire.Message) Outcome {
	if m.Error != nil {
		return OutcomeError
	}
	var r struct {
		IsError bool `json:"isError"`
	}
	// Most results are no errors and some are large: those are not decoded.
	if at := bytes.Index(m.Result, []byte(`"isError"`)); at >= 0 && bytes.Contains(m.Result[at:], []byte("true")) &&
		json.Unmarshal(m.Result, &r) == nil && r.IsError {
		return OutcomeToolError
	}
	return OutcomeOK
}

// short is a name as it is kept.
func short(name string) string {
	return strings.ToValidUTF8(display.Plain(name)[:min(len(display.Plain(name)), maxName)], "")
}

// clientOf is who a request of a client's is from, as it says: initialize, or one of
// 2026-07-28. "": it does not.
func clientOf(m wire.Message) string {
	if !bytes.Contains(m.Params, []byte("clientInfo")) {
		return ""
	}
	var p struct {
		Client implementation `json:"clientInfo"`
		Meta   struct {
			Client implementation `json:"io.modelcontextprotocol/clientInfo"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p) // what is not there is not said
	if m.Method == "initialize" {
		return short(p.Client.String())
	}
	return short(p.Meta.Client.String())
}
