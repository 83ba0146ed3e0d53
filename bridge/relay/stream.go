package relay

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
)

// exchange is a request and the stream of what belongs to it.
type exchange struct {
	id     json.RawMessage // as the client wrote it; nil: no request of a client's
	method string
	own    bool // we ask, and no client
	cursor string
	token  json.RawMessage
	call   *upstream.Record
	lines  chan output   // what to write, in order; the answer ends it
	gone   chan struct{} // closed when lines are no longer written
}

// output is a line for a client.
type output struct {
	line   []byte
	answer bool            // it answers the request
	fault  json.RawMessage // its error; nil: it has none, or one of ours
}

// permits judges a call, after the tools are listed; at 2026-07-28 their headers are needed, too. It
// returns nothing for other requests.
func (s *httpSession) permits(
	ctx context.Context,
	m wire.Message,
	p streamable.Params,
	size int,
) (call *upstream.Record, v upstream.Ruling, err error) {
	if m.Method != proto.MethodCallTool {
		return nil, upstream.Ruling{}, nil
	}
	asked, err := callOf(m, p, visitor{s.client, s.offers})
	call = s.relay.export.Record(s.of, clientOf(p, s.client), asked.Tool, size)
	if err == nil && !s.view.Listed() && (s.id == "" || !s.view.Known()) {
		err = s.know(ctx, metaOf(p))
	}
	if err == nil {
		v, err = s.view.Rule(asked)
	}
	return call, v, err
}

// know has the tools listed, if they are not known.
func (s *httpSession) know(ctx context.Context, meta json.RawMessage) error {
	ctx, cancel := upstream.Within(ctx, s.relay.export.Server.StartFor(), "it took too long")
	defer cancel()
	err := s.view.Know(ctx, func(ctx context.Context, cursor string) (json.RawMessage, error) {
		return s.ask(ctx, proto.MethodListTools, listParams(cursor, meta))
	})
	if err != nil && s.relay.export.Pins() {
		return jrpc2.Errorf(jrpc2.InternalError, "%v", err)
	}
	return nil
}

// ask sends the server a request of our own.
func (s *httpSession) ask(
	ctx context.Context,
	method string,
	params json.RawMessage,
) (json.RawMessage, error) {
	x := &exchange{method: method, own: true, lines: make(chan output), gone: make(chan struct{})}
	defer close(x.gone)
	id, ok := s.begin(x, nil)
	if !ok {
		return nil, wire.ErrClosed
	}
	s.send(ctx, requestLine(json.RawMessage(id), method, params))
	select {
	case out, ok := <-x.lines:
		if !ok {
			return nil, wire.ErrClosed
		}
		m, err := wire.Parse(out.line)
		if err != nil {
			return nil, err
		}
		return resultOf(m)
	case <-ctx.Done():
		s.forget(x, id)
		return nil, context.Cause(ctx)
	}
}

// exchange sends a request and writes the messages that belong to it. At 2026-07-28 the end of the
// client's HTTP request cancels it.
func (s *httpSession) exchange(
	w http.ResponseWriter,
	r *http.Request,
	line []byte,
	m wire.Message,
	token json.RawMessage,
	call *upstream.Record,
) {
	x := &exchange{
		id:     m.ID,
		method: m.Method,
		call:   call,
		lines:  make(chan output),
		gone:   make(chan struct{}),
	}
	defer close(x.gone)
	if m.Method == proto.MethodListTools {
		x.cursor = cursorOf(m.Params)
	}
	id, ok := s.begin(x, token)
	if !ok {
		text := "a request of this id is still open"
		if s.hasEnded() {
			text = "the MCP server " + s.relay.export.Server.Name + " has ended: " + s.link.Why()
		}
		call.End(upstream.OutcomeError, 0)
		streamable.Refuse(w, http.StatusOK, m.ID, jrpc2.Errorf(jrpc2.InternalError, "%s", text))
		return
	}
	switch {
	case s.id == "" && token != nil:
		token = json.RawMessage(id)
		line = withToken(line, m, token)
	case s.id == "":
		line = withID(line, json.RawMessage(id))
	}
	s.patience.begin(json.RawMessage(id), m.Method, token, func(err error) { s.giveUp(x, id, err) })
	defer s.patience.end(json.RawMessage(id))
	s.send(r.Context(), line)
	if s.id != "" {
		s.calls.Passed(sessionKey(s.of, s.id), string(m.ID))
	}
	if !s.write(w, r, x) && s.forget(x, id) {
		call.End(upstream.OutcomeCancelled, 0)
		if s.id == "" {
			_ = s.out.Put(withdrawal(json.RawMessage(id), "the client hung up"))
		}
	}
}

// giveUp cancels a request and answers it with an error.
func (s *httpSession) giveUp(x *exchange, id string, err error) {
	if !s.forget(x, id) {
		return
	}
	x.call.End(upstream.OutcomeError, 0)
	if x.method != proto.MethodInitialize {
		_ = s.out.Put(withdrawal(json.RawMessage(id), "the call was given up")) // the reading end notices
	}
	select {
	case x.lines <- output{line: wire.AppendAnswer(nil, x.id, nil, err), answer: true}:
	case <-x.gone:
	}
}

// notice handles a client's answers and cancellations.
func (s *httpSession) notice(m wire.Message) {
	if m.Kind() == wire.Response {
		s.patience.answered(m.ID)
	}
	if m.Method != proto.NoteCancelled {
		return
	}
	s.mu.Lock()
	x := s.open[string(streamable.CancelledID(m.Params))]
	s.mu.Unlock()
	if x != nil {
		x.call.End(upstream.OutcomeCancelled, 0)
	}
}

// begin adds a request to those that are open, and returns the id for the server: in a session the
// client's own, otherwise one of ours, which is its progress token as well. ok is false if the id
// is taken or the connection has ended.
func (s *httpSession) begin(x *exchange, token json.RawMessage) (id string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id = string(x.id)
	switch {
	case x.own:
		s.last++
		id = string(wire.JSON(s.secret + strconv.FormatInt(s.last, 10)))
	case s.id == "":
		s.last++
		id = strconv.FormatInt(s.last, 10)
		if token != nil {
			x.token, token = token, json.RawMessage(id)
		}
	}
	if s.ended || s.open[id] != nil {
		return "", false
	}
	s.open[id] = x
	s.order = append(s.order, x)
	if token != nil {
		s.tokens[string(token)] = x
	}
	return id, true
}

// forget removes a request from those that are open, and reports whether it was one of them.
func (s *httpSession) forget(x *exchange, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := s.open[id] == x
	if open {
		s.forgetLocked(x, id)
	}
	return open
}

func (s *httpSession) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// write writes first and then the lines of a stream: a single answer as JSON, otherwise events. It
// returns false if the client left before the end.
func (s *httpSession) write(w http.ResponseWriter, r *http.Request, x *exchange, first ...[]byte) bool {
	out := http.NewResponseController(w)
	streams := x.id == nil || x.method == proto.MethodListen
	if streams {
		streamable.Begin(w)
		for _, line := range first {
			_, _ = w.Write(streamable.EventOf(line)) // a client that has left is noticed below
		}
		_ = out.Flush()
	}
	for {
		select {
		case next, ok := <-x.lines:
			if !ok {
				return true
			}
			if next.answer && !streams {
				w.Header().Set("Content-Type", "application/json")
				if s.id == "" {
					w.WriteHeader(streamable.Status(wire.Message{Error: next.fault}))
				}
				_, _ = w.Write(next.line) // the client has left
				return true
			}
			if !streams {
				streams = true
				streamable.Begin(w)
			}
			if _, err := w.Write(streamable.EventOf(next.line)); err != nil {
				return false
			}
			if next.answer {
				return true // it is flushed with the end of the response
			}
			_ = out.Flush()
		case <-r.Context().Done():
			return false
		}
	}
}

// listen serves a client the stream of messages that belong to no request.
func (s *httpSession) listen(w http.ResponseWriter, r *http.Request) {
	x := &exchange{lines: make(chan output), gone: make(chan struct{})}
	defer close(x.gone)
	s.mu.Lock()
	if s.stream != nil || s.ended {
		s.mu.Unlock()
		http.Error(w, "such a stream is open already", http.StatusConflict)
		return
	}
	s.stream = x
	kept := s.kept
	s.kept = nil
	s.mu.Unlock()
	s.write(w, r, x, kept...)
	s.mu.Lock()
	if s.stream == x {
		s.stream = nil
	}
	s.mu.Unlock()
}
