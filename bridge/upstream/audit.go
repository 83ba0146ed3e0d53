package upstream

import (
	"bytes"
	"encoding/json"
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

// Record is the audit of a call that is under way. A nil one is kept nowhere.
type Record struct {
	keep func(Audit)

	mu    sync.Mutex // guards the fields below
	a     Audit
	ended bool
}

// Record begins the record of a call that has come, a message of in bytes; nil: nobody
// audits. End or Answered must follow.
func (e *Export) Record(p core.Principal, client, tool string, in int) *Record {
	if e.box.opts.Audit == nil {
		return nil
	}
	return &Record{keep: e.box.opts.Audit, a: Audit{
		Time: time.Now(), Principal: p, Client: short(client), Server: e.Server.Name, Tool: short(tool), In: in,
	}}
}

// End notes how the call ended, with an answer of out bytes. What comes first counts.
func (r *Record) End(o Outcome, out int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	first := !r.ended
	r.ended = true
	r.a.Outcome, r.a.Out, r.a.Took = o, out, time.Since(r.a.Time)
	a := r.a
	r.mu.Unlock()
	if first {
		r.keep(a)
	}
}

// Answered notes the answer, a message of out bytes.
func (r *Record) Answered(m wire.Message, out int) {
	if r != nil {
		r.End(outcomeOf(m), out)
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
		json.Unmarshal(m.Result, &r) == nil &&
		r.IsError {
		return OutcomeToolError
	}
	return OutcomeOK
}

// short is a name as it is kept.
func short(name string) string {
	return display.Cut(display.Plain(name), MaxName)
}
