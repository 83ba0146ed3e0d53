package upstream

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core/display"
	"dragoman/core/forms"
)

// AskFirst is the error of a check that requires a person to be asked before the call is made.
type AskFirst struct {
	Why string // names the rule
}

// Error returns the reason for the refusal if nobody can be asked.
func (e *AskFirst) Error() string {
	return e.Why + ", and this client cannot ask its user here: use a client with forms (elicitation), or have the agent call the tool (agent_prompt)"
}

// judged returns nil if the user allowed the call; reply is the user's answer to the form, and
// err the reason if there is none.
func (e *AskFirst) judged(reply json.RawMessage, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s, and the client's user could not be asked: %w", e.Why, err)
	case !agreed(reply):
		return errors.New(e.Why + ", and the client's user did not allow the call")
	}
	return nil
}

// ourMark begins the states of calls that wait for their users' answers, so that a returning
// state is recognized even if its call is gone. It belongs to this process, and no server can
// guess it.
var ourMark = sync.OnceValue(rand.Text)

const (
	// ParkedFor limits the time until a client of 2026-07-28 comes back with answers.
	ParkedFor = 15 * time.Minute
	// MaxParked limits the waiting calls of a client that await answers to the same question.
	MaxParked = 64
)

// Consents holds the calls of 2026-07-28 that wait until the client repeats them with its user's
// answer. Each is then made exactly as the user saw it. The zero value holds none.
type Consents struct {
	mu   sync.Mutex          // guards the field below
	open map[string]*consent // by state
}

// consent is a call that waits for its user's answer.
type consent struct {
	server, tool string
	params, args json.RawMessage
	expiry       *time.Timer
}

// park keeps a call for at most ParkedFor and returns the result that asks for the consent.
func (c *Consents) park(server string, call Call, ask *AskFirst) (json.RawMessage, error) {
	state := ourMark() + rand.Text()
	c.mu.Lock()
	full := len(c.open) >= MaxParked
	if !full {
		if c.open == nil {
			c.open = map[string]*consent{}
		}
		expiry := time.AfterFunc(ParkedFor, func() { c.take(state) })
		c.open[state] = &consent{server, call.Tool, call.Params, call.Args, expiry}
	}
	c.mu.Unlock()
	if full {
		return nil, jrpc2.Errorf(wire.CodeBusy, "%d calls wait for answers already", MaxParked)
	}
	return wire.JSON(proto.InputRequired{
		Type: proto.ResultInputRequired, State: wire.JSON(state),
		Requests: map[string]proto.InputRequest{
			"allow": {Method: proto.MethodElicit, Params: consentForm(server, call, ask)},
		},
	}), nil
}

// take removes the call of a state and returns it; nil: it does not exist.
func (c *Consents) take(state string) *consent {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.open[state]
	if kept != nil {
		delete(c.open, state)
		kept.expiry.Stop()
	}
	return kept
}

// answered returns the call of a state if it is for the server's tool and its user has allowed it
// according to the answers, and otherwise an error. nil without an error: it does not exist.
func (c *Consents) answered(server, tool, state string, answers json.RawMessage) (*consent, error) {
	kept := c.take(state)
	if kept == nil {
		return nil, nil
	}
	var replies struct {
		Allow json.RawMessage `json:"allow"`
	}
	err := wire.Unmarshal(answers, &replies) // other values are no answer
	if err != nil || kept.server != server || kept.tool != tool || !agreed(replies.Allow) {
		return nil, jrpc2.Errorf(jrpc2.InvalidRequest, "the client's user did not allow the call")
	}
	return kept, nil
}

// resumed returns the call that c repeats, with the _meta of c, if its user has allowed it; nil
// without an error: c is a new call.
func (v *View) resumed(c Call) (*consent, error) {
	var again struct {
		State   string          `json:"requestState"`
		Answers json.RawMessage `json:"inputResponses"`
		Meta    json.RawMessage `json:"_meta"`
	}
	if err := wire.Unmarshal(c.Params, &again); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%v", err)
	}
	kept, err := v.consents.answered(v.Server.Name, c.Tool, again.State, again.Answers)
	switch {
	case err != nil:
		return nil, v.refuse(c.Tool, err)
	case kept != nil:
		kept.params = wire.Edit(kept.params, wire.Set("_meta", again.Meta))
	case strings.HasPrefix(again.State, ourMark()):
		return nil, v.refuse(
			c.Tool,
			errors.New("requestState is not one that this gateway gave out for the call, or it is too old"),
		)
	}
	return kept, nil
}

// consentForm returns the form with the question, beginning with the tool and the server.
func consentForm(server string, c Call, ask *AskFirst) json.RawMessage {
	shown := cmp.Or(display.Args(c.Args, maxShownArgs), "{}")
	text := fmt.Sprintf("May the tool %s of the MCP server %s be called? Its arguments: %s (%s.)",
		display.Visible(c.Tool), display.Visible(server), shown, display.Visible(ask.Why))
	schema := forms.Consent("Allow this call", "Once; the next call is asked about again")
	return wire.JSON(map[string]any{"message": text, "requestedSchema": schema})
}

// agreed reports whether an answer to the form is a yes.
func agreed(reply json.RawMessage) bool {
	var r struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	return wire.Unmarshal(reply, &r) == nil && r.Action == proto.ActionAccept && forms.Consented(r.Content)
}
