package bridge

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/core"
)

// AskFirst is the error of a check that requires a person to be asked before the call is made.
type AskFirst struct {
	Why string // the rule, in words
}

// Error returns the reason for the refusal if nobody can be asked.
func (e *AskFirst) Error() string {
	return e.Why + ", and this client cannot ask its user here: use a client with forms (elicitation), or have the agent call the tool (agent_prompt)"
}

// consent is a call at 2026-07-28 that waits until the client makes it again with its user's
// answer. The call is then made as it was shown.
type consent struct {
	part   *part
	own    string
	q      request
	expiry *time.Timer
}

// asksUser reports whether the client's user can be asked by a form.
func (s *side) asksUser() bool {
	e := s.offers.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// consult asks the client's user about a call, and makes it when they agree. It runs on
// the reading goroutine and does not block.
func (s *side) consult(p *part, call *wire.Call, q request, own string, kept *handed, ask *AskFirst) {
	refuse := func(err error) {
		kept.ends(OutcomeRefused, 0)
		p.log("warn", fmt.Sprintf("a call of %.100q was refused: %v", own, err))
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidRequest, "%v", err))
	}
	switch {
	case !s.asksUser():
		refuse(ask)
	case s.modern():
		s.consultModern(p, call, q, own, kept, ask)
	default:
		s.busy.Add(1)
		s.caller.owned.Go(func() {
			defer s.busy.Add(-1)
			reply, err := s.askClient(call.Context(), p, "elicitation/create", consentForm(p.server.Name, own, q.args, ask))
			switch {
			case call.Context().Err() != nil:
				kept.ends(OutcomeRefused, 0)
				call.Reply(nil, wire.ErrCanceled)
			case err != nil:
				refuse(fmt.Errorf("%s, and the client's user could not be asked: %w", ask.Why, err))
			case !agreed(reply):
				refuse(errors.New(ask.Why + ", and the client's user did not allow the call"))
			default:
				s.toPart(p, call, q, own, kept)
			}
		})
	}
}

// consultModern answers a call at 2026-07-28 with the question whether it may be made.
func (s *side) consultModern(p *part, call *wire.Call, q request, own string, kept *handed, ask *AskFirst) {
	handle := rand.Text()
	s.mu.Lock()
	full := len(s.consents) >= maxParked
	if !full {
		s.consents[handle] = &consent{p, own, q, time.AfterFunc(parkedFor, func() { s.takeConsent(handle) })}
	}
	s.mu.Unlock()
	if full {
		kept.ends(OutcomeRefused, 0)
		call.Reply(nil, jrpc2.Errorf(wire.CodeBusy, "%d calls wait for answers already", maxParked))
		return
	}
	kept.ends(OutcomeOK, 0) // the next call records the outcome
	question := edited(nil, member{"method", raw("elicitation/create")}, member{"params", consentForm(p.server.Name, own, q.args, ask)})
	call.Reply(edited(nil, member{"resultType", json.RawMessage(`"input_required"`)},
		member{"inputRequests", raw(map[string]json.RawMessage{"allow": question})}, member{"requestState", raw(handle)}), nil)
}

// takeConsent removes and returns the call that waits under a handle; nil: there is none.
func (s *side) takeConsent(handle string) *consent {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.consents[handle]
	if c != nil {
		delete(s.consents, handle)
		c.expiry.Stop()
	}
	return c
}

// resumeConsent continues a call that the client makes again with its user's answer; false: it
// is no such call.
func (s *side) resumeConsent(p *part, call *wire.Call, q request, own string, kept *handed) bool {
	if q.state == "" {
		return false
	}
	c := s.takeConsent(q.state)
	if c == nil {
		return false
	}
	var replies map[string]json.RawMessage
	_ = json.Unmarshal(q.answers, &replies) // anything else answers nothing
	if c.part != p || c.own != own || !agreed(replies["allow"]) {
		kept.ends(OutcomeRefused, 0)
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidRequest, "the client's user did not allow the call"))
		return true
	}
	c.q.token = q.token
	s.toPart(p, call, c.q, own, kept)
	return true
}

// isParked reports whether a call brings the state of a call that waits for answers to its
// server's questions. resumes checks that it is that call.
func (s *side) isParked(q request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return q.state != "" && s.parked[q.state] != nil
}

// consentForm returns the form that asks the question, with the tool and the server first.
func consentForm(server, tool string, args json.RawMessage, ask *AskFirst) json.RawMessage {
	shown := cmp.Or(core.ArgsText(args, maxShownArgs), "{}")
	text := fmt.Sprintf("May the tool %s of the MCP server %s be called? Its arguments: %s (%s.)", core.Visible(tool), core.Visible(server), shown, core.Visible(ask.Why))
	return raw(map[string]any{"message": text, "requestedSchema": json.RawMessage(
		`{"type":"object","properties":{"allow":{"type":"boolean","title":"Allow this call","description":"Once; the next call is asked about again"}},"required":["allow"]}`)})
}

// agreed reports whether an answer to the form is a yes.
func agreed(reply json.RawMessage) bool {
	var r struct {
		Action  string `json:"action"`
		Content struct {
			Allow bool `json:"allow"`
		} `json:"content"`
	}
	return wire.Unmarshal(reply, &r) == nil && r.Action == "accept" && r.Content.Allow
}
