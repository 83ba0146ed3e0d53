package upstream

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/display"
)

// Audit describes one call of a tool that an MCP client has made through us. It contains neither
// the arguments of the call nor its result.
type Audit struct {
	Time         time.Time // the beginning of the call
	Principal    core.Principal
	Client       string // the name of its token, or else its program with its version, as reported; "": unknown
	Token        string // the id of the client's own token; "": it has none
	Server, Tool string
	Outcome      Outcome
	Took         time.Duration
	In, Out      int // bytes of the request and of the response
}

// Outcome is the outcome of a call.
type Outcome string

// The ways in which a call ends.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeToolError Outcome = "tool_error" // a result that is marked as an error
	OutcomeError     Outcome = "error"      // an error in place of a result, or no answer
	OutcomeRefused   Outcome = "refused"    // by us
	OutcomeCancelled Outcome = "cancelled"  // by the client
)

// Record is the audit of a running call. A nil one is stored nowhere.
type Record struct {
	keep func(Audit)

	mu    sync.Mutex // guards the fields below
	a     Audit
	ended bool
}

// Record begins the record of a call, whose message has in bytes; nil: there is no audit. End or
// Answered must follow.
func (e *Export) Record(of access.Holder, client, tool string, in int) *Record {
	if e.box.opts.Audit == nil {
		return nil
	}
	return &Record{keep: e.box.opts.Audit, a: Audit{
		Time:      time.Now(),
		Principal: of.Principal,
		Client:    short(of.Says(client)),
		Token:     of.Token,
		Server:    e.Server.Name,
		Tool:      short(tool),
		In:        in,
	}}
}

// End records the outcome of the call, with an answer of out bytes. Only the first one counts.
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

// Answered records the answer, a message of out bytes.
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
	// Most results are not errors and some are large: those are not decoded.
	if at := bytes.Index(m.Result, []byte(`"isError"`)); at >= 0 && bytes.Contains(m.Result[at:], []byte("true")) &&
		json.Unmarshal(m.Result, &r) == nil &&
		r.IsError {
		return OutcomeToolError
	}
	return OutcomeOK
}

// short limits the length of a name for the record.
func short(name string) string {
	return display.Cut(display.Plain(name), MaxName)
}
