package acp

import (
	"encoding/json"
	"errors"
	"slices"

	"go.uber.org/zap"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

func sessionField(id core.SessionID) zap.Field { return zap.String("session", string(id)) }

// ask compares the open questions with the requests to the client: it asks what is missing and
// withdraws requests that were settled elsewhere. It asks only about content that the client has
// been shown.
func (f *feed) ask() {
	if len(f.view.asks) == 0 && len(f.asked) == 0 && len(f.children) == 0 {
		return
	}
	waits := map[core.AskID]bool{}
	for _, a := range f.sess.att.Pending() {
		waits[a.ID] = true
		f.passOn(a)
		seen, ok := f.view.asks[a.ID]
		if !ok || f.asked[a.ID] != nil || f.view.Parent != "" && a.Kind != core.AskApproval {
			continue // the last: its parent asks
		}
		seen.About = a.About // which is not stored with its content
		f.request(seen)
	}
	f.withdraw(waits)
}

// withdraw withdraws the requests to the client, except those still open.
func (f *feed) withdraw(waits map[core.AskID]bool) {
	for id, r := range f.asked {
		if !waits[id] {
			r.Withdraw()
			delete(f.asked, id)
		}
	}
}

// request puts a question to the client. The answer is taken on the reading goroutine and
// processed in the session's queue.
func (f *feed) request(a core.Ask) {
	method, params, settle := "session/request_permission", any(nil), f.sess.decide
	switch a.Kind {
	case core.AskApproval:
		params = Permission(f.view, a)
	case core.AskConsent:
		if a.Person && f.view.Display.Forms { // some clients approve permissions without asking anybody
			method, params, settle = f.question(a)
			break
		}
		params, settle = Consent(f.view, a), f.sess.answerConsent
	case core.AskQuestion:
		method, params, settle = f.question(a)
	}
	if params == nil {
		return
	}
	sess := f.sess
	r, err := sess.srv.conn.Start(method, params, func(result json.RawMessage, err error) {
		if errors.Is(err, wire.ErrClosed) {
			return // the question is settled when the client leaves
		}
		sess.queue.Go(func() { settle(a, result, err) })
	})
	if err != nil {
		return // the connection has ended
	}
	f.asked[a.ID] = r
}

// Permission returns the session/request_permission for an open approval. It describes the whole
// call, because some clients show only the content of the request, and says what the answers cover. The
// answers are those that an external agent offers, or ours.
func Permission(v *View, a core.Ask) acp.PermissionRequest {
	req := acp.PermissionRequest{
		SessionID: string(v.Session),
		ToolCall: acp.ToolCall{
			ToolCallID: string(a.Call),
			Title:      a.Text,
			Kind:       kind(core.KindOther),
			Status:     acp.StatusPending,
		},
		Options: permissions(v.Known, a),
	}
	c, known := core.Call{}, false
	if t := v.calls[a.Call]; a.About != nil {
		c, known = *a.About, true
	} else if t != nil {
		c, known = t.call, true
	}
	if known {
		req.ToolCall.Name, req.ToolCall.Title, req.ToolCall.Kind = c.Tool, title(v, c), kind(c.Kind)
		req.ToolCall.Content, req.ToolCall.Locations, req.ToolCall.RawInput = shown(v, c, c.State), locations(v, c.Locations), rawOf(c.Args)
	}
	if text := scope(a, req.Options); text != "" && !v.Known.Gateway {
		block := acp.ContentBlock{Type: "text", Text: &text}
		req.ToolCall.Content = append(req.ToolCall.Content, acp.ToolContent{Type: "content", Content: &block})
		if t := v.calls[a.Call]; t != nil {
			t.scoped = true
		}
	}
	return req
}

// asked appends the call of a sub-session that a question is about, or one that is made up for a
// consent; the client knows the session's own calls already.
func asked(dst []byte, v *View, a core.Ask) []byte {
	if a.Kind == core.AskApproval && a.About != nil && v.children[a.About.Child] {
		return dst // it is asked there
	}
	put(&v.asks, a.ID, a)
	if a.About != nil {
		c := *a.About
		return update(dst, v, acp.ToolCall{
			SessionUpdate: acp.ToolCallNew,
			ToolCallID:    string(a.Call),
			Name:          c.Tool,
			Title:         title(v, c),
			Kind:          kind(c.Kind),
			Status:        acp.StatusPending,
			Locations:     locations(v, c.Locations),
			RawInput:      rawOf(c.Args),
		})
	}
	if a.Kind != core.AskConsent || v.calls[a.Call] != nil || v.Parent != "" {
		return dst
	}
	put(&v.consents, a.ID, struct{}{})
	u := consentCall(v, a)
	u.SessionUpdate = acp.ToolCallNew
	return update(dst, v, u)
}

// answered appends the answer; the call itself continues in its own session.
func answered(dst []byte, v *View, e core.Answered) []byte {
	opening(v, v.asks[e.Ask], e.Reply)
	a := v.asks[e.Ask]
	_, consent := v.consents[e.Ask]
	followed := v.followed[e.Ask]
	delete(v.followed, e.Ask)
	delete(v.asks, e.Ask)
	delete(v.consents, e.Ask)
	u := acp.ToolCall{
		SessionUpdate: acp.ToolCallMore,
		ToolCallID:    string(a.Call),
		Status:        acp.StatusFailed,
	}
	switch {
	case consent:
		if u.ToolCallID = string(e.Ask); consented(a, e.Reply) {
			u.Status = acp.StatusCompleted
		}
	case a.About == nil, followed:
		return dst
	case e.Reply.Outcome == core.OutcomeCanceled: // it was decided in the child, or the turn ends
		put(&v.withdrawn, a.About.Child, append(v.withdrawn[a.About.Child], a.Call))
		return dst
	case e.Reply.Decision.Allows():
		u.Status = acp.StatusCompleted
	}
	return update(dst, v, u)
}

// concluded appends the ends of the calls of a child of which nobody could see how they ended, when the
// call of its task has: they ended like that.
func concluded(dst []byte, v *View, task core.Call) []byte {
	for _, id := range v.withdrawn[task.Child] {
		dst = update(dst, v, acp.ToolCall{SessionUpdate: acp.ToolCallMore, ToolCallID: string(id), Status: status(task.State)})
	}
	delete(v.withdrawn, task.Child)
	return dst
}

// decide handles the client's answer. Anything but a clear answer is no decision, and leaves it to
// other clients. By the protocol cancelled comes with the end of the client's own turn: it never ends
// a turn that another client has prompted.
func (s *session) decide(a core.Ask, result json.RawMessage, err error) {
	res, err := decoded[acp.PermissionResponse](result, err)
	r := core.Reply{Outcome: core.OutcomeAlone, Text: "the client answered with something that was not offered"}
	switch {
	case err != nil:
		r.Text = err.Error()
	case res.Outcome.Outcome == "cancelled" && s.prompted(a.Turn):
		s.cancelTurn(a.Turn)
		return
	case res.Outcome.Outcome == "cancelled":
		r.Text = "the question was cancelled"
	case res.Outcome.Outcome != "selected" || !offers(permissions(s.srv.known(), a), res.Outcome.OptionID):
	case slices.ContainsFunc(a.Options, func(o core.Option) bool { return o.ID == res.Outcome.OptionID }): // core knows its decision
		r = core.Reply{Outcome: core.OutcomeDecided, Option: res.Outcome.OptionID}
	default:
		r = core.Reply{Outcome: core.OutcomeDecided, Decision: core.Decision(res.Outcome.OptionID)}
	}
	s.reply(a, r)
	s.passed(a, r)
}

// prompted reports whether a turn was prompted over this connection; that of a child, with the turn
// of its parent.
func (s *session) prompted(turn core.TurnID) bool {
	parent := s.parent()
	return s.prompts.Has(turn) || parent != nil && parent.prompts.Has(parent.att.State().Turn)
}
