package streamable

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// Refuse answers a request with an error.
func Refuse(w http.ResponseWriter, status int, id json.RawMessage, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(wire.AppendAnswer(nil, id, nil, err)) // the client has left
}

// RefuseGuest answers a client that cannot be served. If there is no place (wire.FullError), or the
// program is closing, the answer says when to try again.
func RefuseGuest(w http.ResponseWriter, id json.RawMessage, err error) {
	full, ok := errors.AsType[*wire.FullError](err)
	if ok {
		err = full
	}
	if ok || errors.Is(err, wire.ErrClosed) {
		w.Header().Set("Retry-After", "60")
		Refuse(w, http.StatusServiceUnavailable, id, jrpc2.Errorf(wire.CodeBusy, "%v", err))
		return
	}
	Refuse(w, http.StatusOK, id, jrpc2.Errorf(jrpc2.InternalError, "%v", err))
}

// RefuseSession answers a message that belongs to a session if it names none, or none that exists.
func RefuseSession(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
	if r.Header.Get(proto.HeaderSession) == "" {
		err := jrpc2.Errorf(jrpc2.InvalidRequest, "this needs a session; begin with initialize")
		Refuse(w, http.StatusBadRequest, id, err)
		return
	}
	Refuse(w, http.StatusNotFound, id, jrpc2.Errorf(jrpc2.InvalidRequest, "there is no such session"))
}

// AnswerSession answers a GET or DELETE for a session: by listen, which writes the session's stream,
// or by drop, which ends the session. exists reports whether the session exists.
func AnswerSession(w http.ResponseWriter, r *http.Request, exists bool, listen http.HandlerFunc, drop func()) {
	switch {
	case r.Header.Get(proto.HeaderSession) == "":
		http.Error(w, "this needs a session", http.StatusMethodNotAllowed)
	case !exists:
		http.Error(w, "there is no such session", http.StatusNotFound)
	case r.Method == http.MethodDelete:
		drop()
		w.WriteHeader(http.StatusNoContent)
	default:
		listen(w, r)
	}
}

// RefuseMethod answers a request with an HTTP method that MCP does not have.
func RefuseMethod(w http.ResponseWriter) {
	w.Header().Set("Allow", "GET, POST, DELETE")
	http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
}

// IsModern reports whether any part of a request belongs to 2026-07-28.
func IsModern(r *http.Request, method string, p Params) bool {
	return r.Header.Get(proto.HeaderVersion) >= proto.Modern || method == proto.MethodDiscover || p.Modern()
}

// Machine returns the address that a request comes from, without its port.
func Machine(r *http.Request) string {
	machine, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return machine
}

// Begin begins a stream of events.
func Begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
}

// EventOf returns the event that carries a message, which is one line.
func EventOf(line []byte) []byte {
	return append(append([]byte("event: message\ndata: "), line...), "\n\n"...)
}

// Mismatch returns an error if the headers of a request differ from its body (2026-07-28,
// Streamable HTTP), or if its body lacks the parameters that they repeat.
func Mismatch(r *http.Request, method string, p Params) error {
	got := r.Header.Get(proto.HeaderName)
	name, ok := p.named(method)
	if !ok {
		name = got
	}
	means, ok := HeaderMeans(got)
	switch version := p.Says(); {
	case version == "" && method != proto.MethodInitialize:
		return jrpc2.Errorf(jrpc2.InvalidParams, "_meta does not say %s", proto.MetaVersion)
	case p.Caps == nil && method != proto.MethodInitialize:
		return jrpc2.Errorf(jrpc2.InvalidParams, "_meta does not say %s", proto.MetaCapabilities)
	case version != "" && r.Header.Get(proto.HeaderVersion) != version:
		return jrpc2.Errorf(
			proto.CodeHeaderMismatch,
			"the header %s is not the version in _meta",
			proto.HeaderVersion,
		)
	case r.Header.Get(proto.HeaderMethod) != method:
		return jrpc2.Errorf(proto.CodeHeaderMismatch, "the header Mcp-Method is not the method")
	case got != name && (means != name || !ok):
		return jrpc2.Errorf(proto.CodeHeaderMismatch, "the header Mcp-Name is not the name")
	}
	return nil
}

// Status returns the status for an answer at 2026-07-28.
func Status(m wire.Message) int {
	if m.Error == nil {
		return http.StatusOK
	}
	var e struct {
		Code jrpc2.Code `json:"code"`
	}
	_ = json.Unmarshal(m.Error, &e) // any other code has no status of its own
	switch e.Code {
	case jrpc2.MethodNotFound:
		return http.StatusNotFound
	case proto.CodeHeaderMismatch, proto.CodeMissingCapability, proto.CodeUnsupportedVersion,
		jrpc2.InvalidRequest, jrpc2.InvalidParams, jrpc2.ParseError:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
