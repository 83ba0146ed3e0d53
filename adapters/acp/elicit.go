package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/forms"
)

// A question is put to the user by elicitation/create if the client shows forms (or pages: see
// page.go), and never as a permission, because some clients approve permissions without asking
// anybody. If the client has no form for a question, the core shows it in the chat. A consent is
// requested like the permission for a call: see consent.go.

// settler handles a client's answer to our request.
type settler = func(core.Ask, json.RawMessage, error)

// question builds the request that puts a question to the client; params is nil if the client has
// no form for it. A secret must not be asked for in a form, so such a question stays unanswered.
func (f *feed) question(a core.Ask) (method string, params any, settle settler) {
	switch {
	case a.URL != "" && f.view.Display.Pages:
		return "elicitation/create", Page(f.view, a), f.sess.answerQuestion
	case a.URL != "" || !f.view.Display.Forms:
		return "", nil, nil
	case a.Secret:
		f.sess.queue.Go(func() {
			f.sess.reply(a, core.Reply{Outcome: core.OutcomeAlone, Text: "the client has no way to ask for that"})
		})
		return "", nil, nil
	}
	return "elicitation/create", Elicitation(f.view, a), f.sess.answerQuestion
}

// Elicitation returns the elicitation/create for an open question.
func Elicitation(v *View, a core.Ask) acp.ElicitationRequest {
	req := acp.ElicitationRequest{
		Mode: "form", SessionID: string(v.Session), Message: a.Text,
		RequestedSchema: acp.ElicitationSchema{Type: "object", Properties: acp.ElicitationProperty{}},
	}
	if v.calls[a.Call] != nil { // a call that the client knows
		req.ToolCallID = string(a.Call)
	}
	props, form := req.RequestedSchema.Properties, forms.Of(a)
	if len(form.Options) > 0 {
		field := acp.StringField{Type: "string", Title: "Answer"}
		for _, o := range form.Options {
			field.OneOf = append(field.OneOf, acp.EnumOption{Const: o.ID, Title: o.Label, Description: o.Description})
		}
		props[forms.Choice] = field
	}
	switch {
	case len(form.Options) == 0:
		props[forms.Text] = acp.StringField{Type: "string", Title: "Answer"}
	case form.Freeform:
		props[forms.Text] = acp.StringField{
			Type:        "string",
			Title:       "Another answer",
			Description: "In your own words",
		}
	}
	if form.Required != "" {
		req.RequestedSchema.Required = acp.Strings{form.Required}
	}
	return req
}

// answerQuestion handles the client's answer to a form or a page. An invalid answer declines the
// question; dismissing it does not stop the turn.
func (s *session) answerQuestion(a core.Ask, result json.RawMessage, err error) {
	res, err := decoded[acp.ElicitationResponse](result, err)
	r := core.Reply{Outcome: core.OutcomeDeclined}
	switch {
	case err != nil:
		r = core.Reply{Outcome: core.OutcomeAlone, Text: err.Error()}
	case res.Action == "accept" && a.URL != "":
		r.Outcome = core.OutcomeAnswered
	case res.Action == "accept":
		r = forms.Of(a).ReplyTo(res.Content)
	}
	s.reply(a, r)
}

// decoded reads the answer to a request that asks the user. Its error says why nobody was asked.
func decoded[T any](result json.RawMessage, err error) (res T, _ error) {
	if err == nil {
		err = wire.Unmarshal(result, &res)
	}
	if err != nil {
		err = fmt.Errorf("the client could not ask: %w", err)
	}
	return res, err
}

// reply settles a question, unless it is no longer open.
func (s *session) reply(a core.Ask, r core.Reply) {
	if err := s.att.Answer(context.Background(), a.ID, r); err != nil && !errors.Is(err, core.ErrNotAsked) {
		s.srv.log.Warn("answer a question", sessionField(s.id), zap.Error(err))
	}
}

func (s *session) cancelTurn(id core.TurnID) {
	if err := s.att.Cancel(context.Background(), id, core.ErrCanceled); err != nil {
		s.srv.log.Warn("cancel", sessionField(s.id), zap.Error(err))
	}
}
