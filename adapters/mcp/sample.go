package mcp

import (
	"context"
	"encoding/json"

	"dragoman/adapters/mcp/loan"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
)

// lendsOf derives from a request the way in which its client's model can be asked.
func lendsOf(req clientRequest) asker {
	caps := req.ClientCapabilities()
	switch {
	case caps == nil || caps.Sampling == nil: //nolint:staticcheck // deprecated from 2026-07-28 on, and clients have it
		return asksNobody
	case req.ProtocolVersion() >= proto.Modern:
		return asksAgain
	}
	return asksNow
}

// lend lends the client's model to the turn that its prompt is to begin; nil: it offers none.
func (c *client) lend(req clientRequest, h *heldSession) *loan.Loan {
	if lendsOf(req) == asksNobody {
		return nil
	}
	tools := req.ClientCapabilities().Sampling.Tools != nil && req.ProtocolVersion() >= proto.Titles //nolint:staticcheck // as above
	return c.server.loans.Lend(h.a, tools)
}

// Offers reports whether the client that prompted a session's turn lends its model, and whether
// the model takes tools.
func (s *Server) Offers(ctx context.Context, p core.Principal, session core.SessionID) (sampling, tools bool) {
	return s.loans.Offers(ctx, p, session)
}

// CreateMessage asks the model of the client that prompted a session's turn: see
// [loan.Ledger.CreateMessage].
func (s *Server) CreateMessage(
	ctx context.Context, p core.Principal, session core.SessionID, params json.RawMessage,
) (json.RawMessage, error) {
	return s.loans.CreateMessage(ctx, p, session, params)
}
