package agent

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/bridge/agent/signin"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/forms"
)

// elicitMethod is the request by which an agent asks the user.
const elicitMethod = "elicitation/create"

// The actions with which a question of an agent is answered.
const (
	accept  = "accept"
	decline = "decline"
	cancel  = "cancel"
)

// maxTries limits how often a field is asked for after answers that do not fit.
const maxTries = 3

// elicitation answers elicitation/create.
type elicitation struct {
	Action  string                     `json:"action"`
	Content map[string]json.RawMessage `json:"content,omitempty"`
}

// elicit answers elicitation/create: a form is asked field by field, because every client can show
// that, and a page is offered to be opened. Only a person's answer accepts.
func (c *conversation) elicit(ctx context.Context, p *peer, params json.RawMessage) (any, error) {
	var q struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		URL     string          `json:"url"`
		ID      string          `json:"elicitationId"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := wire.Unmarshal(params, &q); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %v", elicitMethod, err)
	}
	text := "Agent " + c.b.o.Name + " asks: " + display.Seen(q.Message)
	switch q.Mode {
	case "url":
		ctx, done := p.offers(ctx, q.ID)
		defer done()
		return c.page(ctx, text, q.URL)
	case "", "form":
	default:
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: there is no mode %.40q", elicitMethod, q.Mode)
	}
	fields, err := forms.Fields(q.Schema)
	if err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: the form: %v", elicitMethod, err)
	}
	if len(fields) == 0 {
		return c.confirm(ctx, text)
	}
	is := elicitation{Action: accept, Content: map[string]json.RawMessage{}}
	for _, field := range fields {
		value, action, err := c.field(ctx, text, field)
		if err != nil || action != accept {
			return elicitation{Action: action}, err
		}
		if value != nil {
			is.Content[field.Name] = value
		}
	}
	return is, nil
}

// field asks for one field of a form.
func (c *conversation) field(ctx context.Context, text string, field forms.Field) (value json.RawMessage, action string, err error) {
	for range maxTries {
		a := field.Ask()
		a.Text = text + "\n" + a.Text
		r, action, err := c.put(ctx, a)
		if err != nil {
			return nil, cancel, err
		}
		if action == decline && !field.Required {
			return nil, accept, nil
		}
		if action != accept {
			return nil, action, nil
		}
		value, err := field.Value(r)
		if err == nil {
			return value, accept, nil
		}
		text = err.Error()
	}
	return nil, cancel, nil
}

// confirm asks a question without fields.
func (c *conversation) confirm(ctx context.Context, text string) (any, error) {
	r, action, err := c.put(ctx, core.Ask{Text: text, Options: []core.Option{{ID: accept, Label: "Accept"}, {ID: decline, Label: "Decline"}}})
	if action == accept && r.Option != accept {
		action = decline
	}
	return elicitation{Action: action}, err
}

// page offers to open an address. We do not open it: the user sees it and decides.
func (c *conversation) page(ctx context.Context, text, url string) (any, error) {
	r, action, err := c.put(ctx, core.Ask{
		Text: text, URL: url, Options: []core.Option{{ID: accept, Label: "I have opened it"}, {ID: decline, Label: "Decline"}},
	})
	if errors.Is(context.Cause(ctx), errSeen) {
		return elicitation{Action: accept}, nil
	}
	if action == accept && r.Option == decline {
		action = decline
	}
	return elicitation{Action: action}, err
}

// put asks the user.
func (c *conversation) put(ctx context.Context, a core.Ask) (core.Reply, string, error) {
	a.Kind = core.AskQuestion
	r, err := c.bind.Host.Ask(ctx, a)
	switch {
	case err != nil:
		return r, cancel, err
	case r.Outcome == core.OutcomeAnswered:
		return r, accept, nil
	case r.Outcome == core.OutcomeDeclined:
		return r, decline, nil
	}
	return r, cancel, nil
}

// page answers an elicitation/create that is about no session. Only a page is possible, because a
// login asks for nothing that we should see.
func page(ctx context.Context, e *signin.Ear, params json.RawMessage) (any, error) {
	var q struct {
		Mode    string `json:"mode"`
		Message string `json:"message"`
		URL     string `json:"url"`
	}
	if err := wire.Unmarshal(params, &q); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %v", elicitMethod, err)
	}
	if q.Mode != "url" || !signin.IsPage(q.URL) || !e.Hear(ctx, signin.Saying{Text: display.Seen(q.Message), URL: q.URL}) {
		return elicitation{Action: decline}, nil
	}
	return elicitation{Action: accept}, nil
}
