package acp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"go.uber.org/zap"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// A question is put to the user by elicitation/create where the client shows forms,
// else as a choice like that of a permission. A form has a field for a choice, a
// field for any text, or both. A page to open is put otherwise: see page.go.
const (
	fieldChoice = "choice"
	fieldText   = "text"
)

// settler takes a client's answer to a request of ours.
type settler = func(core.Ask, json.RawMessage, error)

// question is the request that puts a question to the client. Without forms one
// for any text cannot be put at all, and a secret never: params is nil then, and
// the question stays without an answer.
func (f *feed) question(a core.Ask) (method string, params any, settle settler) {
	switch {
	case a.URL != "":
		return f.page(a)
	case a.Secret: // a form must not ask for one
	case f.view.Shows.Forms:
		return "elicitation/create", Elicitation(f.view, a), f.sess.answerForm
	case len(a.Options) > 0:
		return "session/request_permission", Choice(f.view, a), f.sess.answerChoice
	}
	f.sess.queue.Go(func() {
		f.sess.reply(a, core.Reply{Outcome: core.OutcomeAlone, Text: "the client has no way to ask for that"})
	})
	return "", nil, nil
}

// Elicitation is the elicitation/create for a question that waits.
func Elicitation(v *View, a core.Ask) acp.ElicitationRequest {
	req := acp.ElicitationRequest{
		Mode: "form", SessionID: string(v.Session), Message: a.Text,
		RequestedSchema: acp.ElicitationSchema{Type: "object", Properties: acp.ElicitationProperty{}},
	}
	if v.calls[a.Call] != nil { // a call that the client has been told of
		req.ToolCallID = string(a.Call)
	}
	props := req.RequestedSchema.Properties
	if len(a.Options) > 0 {
		field := acp.StringField{Type: "string", Title: "Answer"}
		for _, o := range a.Options {
			field.OneOf = append(field.OneOf, acp.EnumOption{Const: o.ID, Title: o.Label, Description: o.Description})
		}
		props[fieldChoice] = field
	}
	switch {
	case len(a.Options) == 0:
		props[fieldText] = acp.StringField{Type: "string", Title: "Answer"}
		req.RequestedSchema.Required = acp.Strings{fieldText}
	case a.Freeform:
		props[fieldText] = acp.StringField{Type: "string", Title: "Another answer", Description: "In your own words"}
	default:
		req.RequestedSchema.Required = acp.Strings{fieldChoice}
	}
	return req
}

// answerForm takes the client's answer to a form. Whatever is no answer declines;
// to dismiss a question does not stop the turn.
func (s *session) answerForm(a core.Ask, result json.RawMessage, err error) {
	var res acp.ElicitationResponse
	if err == nil {
		err = wire.Unmarshal(result, &res)
	}
	r := core.Reply{Outcome: core.OutcomeDeclined}
	if err != nil {
		r = core.Reply{Outcome: core.OutcomeAlone, Text: "the client could not ask: " + err.Error()}
	} else if res.Action == "accept" {
		choice, text := texts(res.Content[fieldChoice]), texts(res.Content[fieldText])
		if text = strings.TrimSpace(text); optionOf(a, choice) || text != "" {
			r.Outcome, r.Text = core.OutcomeAnswered, text
			if optionOf(a, choice) {
				r.Option = choice
			}
		}
	}
	s.reply(a, r)
}

// texts reads a value that should be text.
func texts(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "" // absent, or no text
	}
	return s
}

func optionOf(a core.Ask, id string) bool {
	for _, o := range a.Options {
		if o.ID == id && id != "" {
			return true
		}
	}
	return false
}

// noAnswer is the option of a choice that answers nothing.
const noAnswer = "no-answer"

// asChoice reports whether a question is put as a choice.
func (v *View) asChoice(a core.Ask) bool {
	switch {
	case a.Kind != core.AskQuestion:
		return false
	case a.URL != "":
		return !v.Shows.Pages
	}
	return !v.Shows.Forms && !a.Secret && len(a.Options) > 0
}

// choiceCall is the call that a choice belongs to: one that the client has been told
// of, else one that is made up for it, since no permission can be asked for without.
func choiceCall(v *View, a core.Ask) acp.ToolCall {
	if t := v.calls[a.Call]; t != nil {
		return acp.ToolCall{ToolCallID: string(a.Call), Name: t.call.Tool, Title: a.Text, Kind: kind(t.call.Kind), Status: status(t.call.State)}
	}
	return acp.ToolCall{ToolCallID: string(a.ID), Title: a.Text, Kind: kind(core.KindOther), Status: acp.StatusPending}
}

// Choice is a question as a session/request_permission, for clients without forms.
func Choice(v *View, a core.Ask) acp.PermissionRequest {
	if a.URL != "" {
		a = visit(a)
	}
	req := acp.PermissionRequest{SessionID: string(v.Session), ToolCall: choiceCall(v, a)}
	for _, o := range a.Options {
		name := o.Label
		if o.Description != "" {
			name += ": " + o.Description
		}
		req.Options = append(req.Options, acp.PermissionOption{OptionID: o.ID, Name: name, Kind: acp.AllowOnce})
	}
	req.Options = append(req.Options, acp.PermissionOption{OptionID: noAnswer, Name: "No answer", Kind: acp.RejectOnce})
	return req
}

// answerChoice takes the client's answer to a choice. Cancelled means what it means
// for a permission: the turn is stopped.
func (s *session) answerChoice(a core.Ask, result json.RawMessage, err error) {
	var res acp.PermissionResponse
	if err == nil {
		err = wire.Unmarshal(result, &res)
	}
	switch {
	case err != nil:
		s.reply(a, core.Reply{Outcome: core.OutcomeAlone, Text: "the client could not ask: " + err.Error()})
	case res.Outcome.Outcome == "cancelled":
		s.cancelTurn(a.Turn)
	case res.Outcome.Outcome == "selected" && a.URL != "" && res.Outcome.OptionID == opened:
		s.reply(a, core.Reply{Outcome: core.OutcomeAnswered})
	case res.Outcome.Outcome == "selected" && optionOf(a, res.Outcome.OptionID):
		s.reply(a, core.Reply{Outcome: core.OutcomeAnswered, Option: res.Outcome.OptionID})
	default:
		s.reply(a, core.Reply{Outcome: core.OutcomeDeclined})
	}
}

// reply settles a question; what no longer waits is none of our business.
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
