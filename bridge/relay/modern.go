package relay

import (
	"context"
	"encoding/json"
	"net/http"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
	"dragoman/core/access"
)

// postModern takes a request of 2026-07-28, which belongs to no session.
func (h *HTTP) postModern(
	w http.ResponseWriter, r *http.Request, line []byte, m wire.Message, p streamable.Params,
) {
	if m.Kind() != wire.Request {
		w.WriteHeader(http.StatusAccepted) // no request can be cancelled by a notification at this version
		return
	}
	if err := streamable.Mismatch(r, m.Method, p); err != nil {
		streamable.Refuse(w, http.StatusBadRequest, m.ID, err)
		return
	}
	of := h.holder(r)
	s, err := h.shared(r.Context(), of)
	if err != nil {
		streamable.RefuseGuest(w, m.ID, err)
		return
	}
	defer s.place.Done()
	call, v, err := s.permits(r.Context(), m, p, len(line))
	w, end := h.decide(w, r, s.view, &m, call, v, err)
	if w == nil {
		return
	}
	defer end()
	if v.Resumed {
		p = streamable.ReadParams(v.Params)
	}
	if m.Method == proto.MethodCallTool {
		if err := s.mismatch(r, p); err != nil {
			call.End(upstream.OutcomeRefused, 0)
			streamable.Refuse(w, http.StatusBadRequest, m.ID, err)
			return
		}
	}
	s.exchange(w, r, lineOf(v, line), m, tokenOf(p), call)
}

// shared returns the connection that a holder's requests share, with a request open:
// Done of its place must follow.
func (h *HTTP) shared(ctx context.Context, of access.Holder) (*httpSession, error) {
	for {
		h.mu.Lock()
		s, closed := h.modern[of], h.closed
		h.mu.Unlock()
		switch {
		case closed:
			return nil, wire.ErrClosed
		case s != nil && !s.hasEnded() && s.place.Begin():
			return s, nil
		case s != nil:
			h.drop(s)
		}
		started, err := h.start(ctx, of, "\x00"+of.Key(), "")
		if err != nil {
			return nil, err
		}
		h.mu.Lock()
		mine := h.modern[of] == nil && !h.closed
		if mine {
			h.modern[of] = started
		}
		h.mu.Unlock()
		if mine {
			return started, nil
		}
		h.drop(started) // another request has started one meanwhile
	}
}

// mismatch returns an error if a header differs from the argument that it repeats.
func (s *httpSession) mismatch(r *http.Request, p streamable.Params) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers.Mismatch(r.Header, p)
}

// withID replaces the id of a message. The rest stays as it was written.
func withID(line []byte, id json.RawMessage) []byte { return wire.Edit(line, wire.Set("id", id)) }

// withToken replaces the id of a request and its progress token by another one for both.
func withToken(line []byte, m wire.Message, token json.RawMessage) []byte {
	return wire.Edit(line, wire.Set("id", token),
		wire.Set("params", upstream.EditMeta(m.Params, wire.Set(proto.MetaToken, token))))
}

// tokenOf returns the token for the progress of a request; nil: it wants none.
func tokenOf(p streamable.Params) json.RawMessage {
	if string(p.Token) == "null" {
		return nil
	}
	return p.Token
}

// withParam replaces a member of a notification's parameters.
func withParam(line []byte, m wire.Message, name string, value json.RawMessage) []byte {
	return wire.Edit(line, wire.Set("params", wire.Edit(m.Params, wire.Set(name, value))))
}

// withSubscription adds the id of its subscription to a notification.
func withSubscription(line []byte, m wire.Message, id json.RawMessage) []byte {
	return wire.Edit(line, wire.Set("params", upstream.EditMeta(m.Params, wire.Set(proto.MetaSubscription, id))))
}
