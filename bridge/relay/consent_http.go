package relay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
	"dragoman/core/access"
	"dragoman/core/display"
)

// decide carries out a ruling over HTTP, or refuses the call with err. It may block until the
// client's user has answered. It gives m the parameters to make the call with, and returns the
// writer for the call's answer; end must follow. A nil writer means that the client has its answer.
func (h *HTTP) decide(
	w http.ResponseWriter,
	r *http.Request,
	view *upstream.View,
	m *wire.Message,
	call *upstream.Record,
	v upstream.Ruling,
	err error,
) (to http.ResponseWriter, end func()) {
	switch {
	case streamable.Canceled(r.Context()):
		call.End(upstream.OutcomeCancelled, 0)
		streamable.Refuse(w, http.StatusOK, m.ID, wire.ErrCanceled)
		return nil, nil
	case err != nil:
		call.End(upstream.OutcomeRefused, 0)
		streamable.Refuse(w, http.StatusOK, m.ID, err)
		return nil, nil
	case v.Reply != nil:
		call.End(upstream.OutcomeOK, 0) // the next call records the outcome
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(wire.AppendAnswer(nil, m.ID, v.Reply, nil)) // the client has left
		return nil, nil
	}
	if v.Resumed {
		m.Params = v.Params
	}
	if v.Form == nil {
		return w, func() {}
	}
	d, err := h.dialogs.begin(h.callID(r, m.ID))
	if err != nil {
		return h.decide(w, r, view, m, call, upstream.Ruling{}, view.Decided(v, nil, err))
	}
	events := &eventWriter{ResponseWriter: w, header: http.Header{}}
	streamable.Begin(w)
	events.event(d.request(v.Form))
	var got reply
	select {
	case got = <-d.answer:
	case <-r.Context().Done():
		h.dialogs.withdraw(d.of, errClientLeft)
		got = <-d.answer // or it came first
	}
	if d.back {
		events.event(d.withdrawal())
	}
	if r.Context().Err() != nil || errors.Is(got.err, wire.ErrCanceled) {
		call.End(upstream.OutcomeCancelled, 0)
		return nil, nil
	}
	if err := view.Decided(v, got.res, got.err); err != nil {
		call.End(upstream.OutcomeRefused, 0)
		events.event(wire.AppendAnswer(nil, m.ID, nil, err))
		return nil, nil
	}
	return events, func() { events.end(m.ID) }
}

// callID names a call of the client that sends a request.
func (h *HTTP) callID(r *http.Request, id json.RawMessage) callID {
	return callID{sessionKey(h.holder(r), r.Header.Get(proto.HeaderSession)), string(id)}
}

// sessionKey names a session of a holder.
func sessionKey(of access.Holder, session string) string { return of.Key() + "\x00" + session }

// aboutDialogs handles a message about a form of ours: the answer, or the cancellation of a call
// that was not sent to the server. It reports whether the message was one.
func (h *HTTP) aboutDialogs(r *http.Request, m wire.Message) bool {
	if answersUs(m) {
		return h.dialogs.takes(h.callID(r, nil).session, m)
	}
	if m.Method != proto.NoteCancelled {
		return false
	}
	id := streamable.CancelledID(m.Params)
	return id != nil && h.dialogs.withdraw(h.callID(r, id), wire.ErrCanceled)
}

// maxFault limits how much of a body is shown that is no answer, in bytes.
const maxFault = 1000

// eventWriter is a response writer whose response has already begun as a stream of events. It
// passes events as they are, and sends a body as one event.
type eventWriter struct {
	http.ResponseWriter
	header http.Header
	body   []byte
}

func (e *eventWriter) Header() http.Header         { return e.header }
func (e *eventWriter) WriteHeader(int)             {}
func (e *eventWriter) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func (e *eventWriter) Write(b []byte) (int, error) {
	if isStream(e.header) {
		return e.ResponseWriter.Write(b)
	}
	if len(e.body)+len(b) > upstream.MaxMessage {
		e.body = []byte("the MCP server's answer is too long")
		return 0, errors.New(string(e.body))
	}
	e.body = append(e.body, b...)
	return len(b), nil
}

// event writes one message.
func (e *eventWriter) event(line []byte) {
	_, _ = e.ResponseWriter.Write(streamable.EventOf(line)) // the client may have left
	_ = http.NewResponseController(e.ResponseWriter).Flush()
}

// end writes the body, if there is one. A body that is no answer becomes an error for the request id.
func (e *eventWriter) end(id json.RawMessage) {
	if isStream(e.header) {
		return
	}
	var line bytes.Buffer
	if m, err := wire.Parse(e.body); err != nil || m.Kind() != wire.Response ||
		json.Compact(&line, e.body) != nil {
		text := display.Plain(string(e.body[:min(len(e.body), maxFault)]))
		text = cmp.Or(text, "the MCP server did not answer")
		line.Reset()
		line.Write(wire.AppendAnswer(nil, id, nil, jrpc2.Errorf(jrpc2.InternalError, "%s", text)))
	}
	e.event(line.Bytes())
}
