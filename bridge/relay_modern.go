package bridge

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// postModern takes a request of 2026-07-28, which belongs to no session.
func (h *RelayHTTP) postModern(w http.ResponseWriter, r *http.Request, line []byte, m wire.Message) {
	if m.Kind() != wire.Request {
		w.WriteHeader(http.StatusAccepted) // there is nothing that one could be about
		return
	}
	if err := mismatch(r, m); err != nil {
		fail(w, http.StatusBadRequest, m.ID, err)
		return
	}
	p := h.principal(r)
	s, err := h.shared(r.Context(), p, h.relay.whose(p, m))
	if err != nil {
		refuse(w, m.ID, err)
		return
	}
	defer s.place.Done()
	call, v, err := s.permits(r.Context(), m, len(line))
	w, end := h.decided(w, r, s.view, &m, call, v, err)
	if w == nil {
		return
	}
	defer end()
	if m.Method == proto.MethodCallTool {
		if err := s.mismatch(r, m); err != nil {
			call.End(OutcomeRefused, 0)
			fail(w, http.StatusBadRequest, m.ID, err)
			return
		}
	}
	s.exchange(w, r, lineOf(v, line), m, call)
}

// shared returns the connection that a request shares with others, with a request open:
// Done of its place must follow.
func (h *RelayHTTP) shared(ctx context.Context, p core.Principal, whose string) (*httpSession, error) {
	for {
		h.mu.Lock()
		s, closed := h.modern[whose], h.closed
		h.mu.Unlock()
		switch {
		case closed:
			return nil, wire.ErrClosed
		case s != nil && !s.hasEnded() && s.place.Begin():
			return s, nil
		case s != nil:
			h.drop(s)
		}
		started, err := h.start(ctx, p, "\x00"+whose, "", whose)
		if err != nil {
			return nil, err
		}
		h.mu.Lock()
		mine := h.modern[whose] == nil && !h.closed
		if mine {
			h.modern[whose] = started
		}
		h.mu.Unlock()
		if mine {
			return started, nil
		}
		h.drop(started) // somebody was quicker
	}
}

// whose says which requests share a connection: those of a principal, and where we
// are the server ourselves also of one kind of client, for whom we speak to servers
// of older versions.
func (r *Relay) whose(p core.Principal, m wire.Message) string {
	if r.local == nil {
		return string(p)
	}
	meta := wire.Object(wire.Object(m.Params)["_meta"])
	return string(p) + "\x00" + string(meta[proto.MetaClient]) + "\x00" + string(meta[proto.MetaCapabilities])
}

// mismatch says where the headers of a request say something else than its body
// (2026-07-28, Streamable HTTP), or what its body lacks.
func mismatch(r *http.Request, m wire.Message) error {
	var p struct {
		Name string                     `json:"name"`
		URI  string                     `json:"uri"`
		Task string                     `json:"taskId"`
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p) // what is not there has no header
	got := r.Header.Get(proto.HeaderName)
	name := got
	switch m.Method {
	case proto.MethodCallTool, proto.MethodGetPrompt:
		name = p.Name
	case proto.MethodReadResource:
		name = p.URI
	case proto.MethodGetTask, proto.MethodUpdateTask, proto.MethodCancelTask:
		name = p.Task
	}
	means, ok := HeaderMeans(got)
	switch version := VersionOf(m); {
	case version == "" && m.Method != proto.MethodInitialize:
		return jrpc2.Errorf(jrpc2.InvalidParams, "_meta does not say %s", proto.MetaVersion)
	case p.Meta[proto.MetaCapabilities] == nil && m.Method != proto.MethodInitialize:
		return jrpc2.Errorf(jrpc2.InvalidParams, "_meta does not say %s", proto.MetaCapabilities)
	case version != "" && r.Header.Get(proto.HeaderVersion) != version:
		return jrpc2.Errorf(proto.CodeHeaderMismatch, "the header %s is not the version in _meta", proto.HeaderVersion)
	case r.Header.Get(proto.HeaderMethod) != m.Method:
		return jrpc2.Errorf(proto.CodeHeaderMismatch, "the header Mcp-Method is not the method")
	case got != name && (means != name || !ok):
		return jrpc2.Errorf(proto.CodeHeaderMismatch, "the header Mcp-Name is not the name")
	}
	return nil
}

// mismatch says where an argument's header says something else than the argument.
func (s *httpSession) mismatch(r *http.Request, m wire.Message) error {
	var p struct {
		Name string                     `json:"name"`
		Args map[string]json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return nil // the server says so
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers.Mismatch(r.Header, p.Name, p.Args)
}

// statusOf is the status that goes with an answer at 2026-07-28.
func statusOf(m wire.Message) int {
	if m.Error == nil {
		return http.StatusOK
	}
	var e struct {
		Code jrpc2.Code `json:"code"`
	}
	_ = json.Unmarshal(m.Error, &e) // no number is none of these
	switch e.Code {
	case jrpc2.MethodNotFound:
		return http.StatusNotFound
	case proto.CodeHeaderMismatch, proto.CodeMissingCapability, proto.CodeUnsupportedVersion, jrpc2.InvalidRequest, jrpc2.InvalidParams, jrpc2.ParseError:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// readdressed gives a message another id. All else in it stays as it was written.
func readdressed(line []byte, id json.RawMessage) []byte { return wire.Edit(line, wire.Set("id", id)) }

// retokened gives a request another progress token.
func retokened(line []byte, m wire.Message, token json.RawMessage) []byte {
	meta := wire.Edit(wire.Object(m.Params)["_meta"], wire.Set(proto.MetaToken, token))
	return wire.Edit(line, wire.Set("params", wire.Edit(m.Params, wire.Set("_meta", meta))))
}

// renamed replaces a member of a notification's parameters.
func renamed(line []byte, m wire.Message, name string, value json.RawMessage) []byte {
	return wire.Edit(line, wire.Set("params", wire.Edit(m.Params, wire.Set(name, value))))
}

// labelled puts into a notification which subscription it belongs to.
func labelled(line []byte, m wire.Message, id json.RawMessage) []byte {
	meta := wire.Edit(wire.Object(m.Params)["_meta"], wire.Set(proto.MetaSubscription, id))
	return wire.Edit(line, wire.Set("params", wire.Edit(m.Params, wire.Set("_meta", meta))))
}
