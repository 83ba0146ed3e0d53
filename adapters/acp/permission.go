package acp

import (
	"context"
	"encoding/json"
	"errors"

	"go.uber.org/zap"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

func sessionField(id core.SessionID) zap.Field { return zap.String("session", string(id)) }
func errorField(err error) zap.Field           { return zap.Error(err) }

// ask compares what waits for a person with what the client has been asked: it
// asks what is missing and withdraws what has been settled elsewhere. Only what
// the client has been shown is asked.
func (f *feed) ask() {
	if len(f.view.asks) == 0 && len(f.asked) == 0 {
		return
	}
	waits := map[core.AskID]bool{}
	for _, a := range f.sess.att.Pending() {
		waits[a.ID] = true
		seen, ok := f.view.asks[a.ID]
		if ok && a.Kind == core.AskApproval && f.asked[a.ID] == nil {
			f.request(seen)
		}
	}
	for id, r := range f.asked {
		if !waits[id] {
			r.Withdraw()
			delete(f.asked, id)
		}
	}
}

func (f *feed) withdrawAll() {
	for id, r := range f.asked {
		r.Withdraw()
		delete(f.asked, id)
	}
}

// request sends session/request_permission. The answer is taken on the reading
// goroutine and decided in the session's queue.
func (f *feed) request(a core.Ask) {
	sess := f.sess
	req := Permission(f.view, a)
	r, err := sess.srv.conn.Start("session/request_permission", req, func(result json.RawMessage, err error) {
		if errors.Is(err, wire.ErrClosed) {
			return // the client's leaving settles it
		}
		sess.queue.Go(func() { sess.decide(a, result, err) })
	})
	if err != nil {
		return // the connection has ended
	}
	f.asked[a.ID] = r
}

// Permission is the session/request_permission for an approval that waits. It
// describes the call whole, since some clients show only what the request says.
func Permission(v *View, a core.Ask) acp.PermissionRequest {
	req := acp.PermissionRequest{
		SessionID: string(v.Session),
		ToolCall:  acp.ToolCall{ToolCallID: string(a.Call), Title: a.Text, Kind: acp.ToolKind(core.KindOther), Status: acp.StatusPending},
		Options:   []acp.PermissionOption{{OptionID: string(core.AllowOnce), Name: "Allow once", Kind: acp.AllowOnce}},
	}
	if t := v.calls[a.Call]; t != nil {
		c := t.call
		req.ToolCall.Name, req.ToolCall.Title, req.ToolCall.Kind = c.Tool, title(c), acp.ToolKind(c.Kind)
		req.ToolCall.Content, req.ToolCall.Locations, req.ToolCall.RawInput = shown(c), locations(c.Locations), rawOf(c.Args)
	}
	if a.Remember != "" {
		req.Options = append(req.Options, acp.PermissionOption{
			OptionID: string(core.AllowSession), Name: "Allow for this session: " + a.Remember, Kind: acp.AllowAlways,
		})
	}
	req.Options = append(req.Options, acp.PermissionOption{OptionID: string(core.RejectOnce), Name: "Reject", Kind: acp.RejectOnce})
	if a.Remember != "" {
		req.Options = append(req.Options, acp.PermissionOption{
			OptionID: string(core.RejectAlways), Name: "Reject for this session: " + a.Remember, Kind: acp.RejectAlways,
		})
	}
	return req
}

// decide takes the client's answer. Whatever is not a clear yes is a no; cancelled
// ends the turn, as the protocol has it.
func (s *session) decide(a core.Ask, result json.RawMessage, err error) {
	var res acp.PermissionResponse
	if err == nil {
		err = wire.Unmarshal(result, &res)
	}
	ctx := context.Background()
	d, note := core.RejectOnce, ""
	switch {
	case err != nil:
		note = "the client could not ask: " + err.Error()
	case res.Outcome.Outcome == "cancelled":
		if err := s.att.Cancel(ctx, a.Turn, core.ErrCanceled); err != nil {
			s.srv.log.Warn("cancel", zap.Error(err))
		}
		return
	case res.Outcome.Outcome == "selected" && offered(a, core.Decision(res.Outcome.OptionID)):
		d = core.Decision(res.Outcome.OptionID)
	default:
		note = "the client answered with something that was not offered"
	}
	if err := s.att.Decide(ctx, a.ID, d, note); err != nil && !errors.Is(err, core.ErrNotAsked) {
		s.srv.log.Warn("decide", zap.Error(err))
	}
}

func offered(a core.Ask, d core.Decision) bool {
	switch d {
	case core.AllowOnce, core.RejectOnce:
		return true
	case core.AllowSession, core.RejectAlways:
		return a.Remember != ""
	}
	return false
}
