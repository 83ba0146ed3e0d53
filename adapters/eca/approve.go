package eca

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// approve handles chat/toolCallApprove.
func (s *Server) approve(ctx context.Context, _ *wire.Call, p eca.ApproveParams) error {
	d := core.AllowOnce
	if p.Save == eca.SaveSession {
		d = core.AllowSession
	}
	s.decide(ctx, p, d)
	return nil
}

// reject handles chat/toolCallReject.
func (s *Server) reject(ctx context.Context, _ *wire.Call, p eca.ApproveParams) error {
	s.decide(ctx, p, core.RejectOnce)
	return nil
}

// decide settles the question about a call. A call that does not wait is ignored: one client
// approves calls that need no approval, and another client may have decided.
func (s *Server) decide(ctx context.Context, p eca.ApproveParams, d core.Decision) {
	c := s.chat(p.ChatID)
	if c == nil {
		return
	}
	c.queue.Go(func() {
		att := c.att.Load()
		if att == nil {
			return
		}
		for _, ask := range att.Pending() {
			id := string(ask.Call)
			if c.child {
				id = within(c.id, id)
			}
			if ask.Kind != core.AskApproval || id != p.ToolCallID {
				continue
			}
			if d.Allows() && !ask.Fits() {
				return // only the question has the answer that would allow it
			}
			if err := att.Decide(ctx, ask.ID, d, ""); err != nil && !errors.Is(err, core.ErrNotAsked) {
				s.log.Warn("a decision was not stored", zap.String("session", p.ChatID), zap.Error(err))
			}
			return
		}
	})
}
