package bridge

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/core/display"
)

// AskFirst is the error of a check that requires a person to be asked before the call is made.
type AskFirst struct {
	Why string // the rule, in words
}

// Error returns the reason for the refusal if nobody can be asked.
func (e *AskFirst) Error() string {
	return e.Why + ", and this client cannot ask its user here: use a client with forms (elicitation), or have the agent call the tool (agent_prompt)"
}

// judged returns nil if the user allowed the call, where reply is their answer to its
// form and err why there is none.
func (e *AskFirst) judged(reply json.RawMessage, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s, and the client's user could not be asked: %w", e.Why, err)
	case !agreed(reply):
		return errors.New(e.Why + ", and the client's user did not allow the call")
	}
	return nil
}

// asksUser reports whether the client's user can be asked by a form.
func (o clientCaps) asksUser() bool {
	e := o.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// ourMark begins the states and the ids that a question of our own has at clients, so
// that what comes back is known even if nobody waits for it any more. It is this
// process's, and no server can guess it.
var ourMark = sync.OnceValue(rand.Text)

// consents are the calls at 2026-07-28 that wait until the client makes them again with its
// user's answer. Each is then made as it was shown.
type consents struct {
	mu   sync.Mutex          // guards the field below
	open map[string]*consent // by state
}

// consent is a call that waits for its user's answer.
type consent struct {
	server, tool string
	q            request
	expiry       *time.Timer
}

// park keeps a call for at most parkedFor and returns the result that asks about it.
func (c *consents) park(server, tool string, q request, ask *AskFirst) (json.RawMessage, error) {
	state := ourMark() + rand.Text()
	c.mu.Lock()
	full := len(c.open) >= maxParked
	if !full {
		if c.open == nil {
			c.open = map[string]*consent{}
		}
		c.open[state] = &consent{server, tool, q, time.AfterFunc(parkedFor, func() { c.take(state) })}
	}
	c.mu.Unlock()
	if full {
		return nil, jrpc2.Errorf(wire.CodeBusy, "%d calls wait for answers already", maxParked)
	}
	question := wire.Edit(nil, wire.Set("method", wire.JSON("elicitation/create")), wire.Set("params", consentForm(server, tool, q.args, ask)))
	return wire.Edit(nil, wire.Set("resultType", json.RawMessage(`"input_required"`)),
		wire.Set("inputRequests", wire.JSON(map[string]json.RawMessage{"allow": question})), wire.Set("requestState", wire.JSON(state))), nil
}

// take removes the call of a state and returns it; nil: there is none.
func (c *consents) take(state string) *consent {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.open[state]
	if kept != nil {
		delete(c.open, state)
		kept.expiry.Stop()
	}
	return kept
}

// answered returns the call that q makes again, if its user allowed it, and an error if
// not. nil without an error: q is no such call.
func (c *consents) answered(server, tool string, q request) (*consent, error) {
	kept := c.take(q.state)
	if kept == nil {
		return nil, nil
	}
	var replies map[string]json.RawMessage
	_ = json.Unmarshal(q.answers, &replies) // anything else answers nothing
	if kept.server != server || kept.tool != tool || !agreed(replies["allow"]) {
		return nil, jrpc2.Errorf(jrpc2.InvalidRequest, "the client's user did not allow the call")
	}
	return kept, nil
}

// consentForm returns the form that asks the question, with the tool and the server first.
func consentForm(server, tool string, args json.RawMessage, ask *AskFirst) json.RawMessage {
	shown := cmp.Or(display.Args(args, maxShownArgs), "{}")
	text := fmt.Sprintf("May the tool %s of the MCP server %s be called? Its arguments: %s (%s.)", display.Visible(tool), display.Visible(server), shown, display.Visible(ask.Why))
	return wire.JSON(map[string]any{"message": text, "requestedSchema": json.RawMessage(
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
