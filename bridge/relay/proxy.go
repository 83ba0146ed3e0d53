package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync/atomic"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/login"
	"dragoman/bridge/upstream"
	"dragoman/bridge/upstream/silence"
	"dragoman/core/access"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
	"dragoman/core/sse"
)

// passedHeaders are the headers of a client's request that are sent to the server. The client's own
// key and its cookies are not among them.
var passedHeaders = []string{
	"Accept", "Content-Type", "Last-Event-ID", proto.HeaderSession, proto.HeaderVersion, proto.HeaderMethod, proto.HeaderName,
	"Traceparent", "Tracestate",
}

// proxy forwards a request to a server that is an address, stream for stream. body may be nil.
func (h *HTTP) proxy(
	w http.ResponseWriter,
	r *http.Request,
	e upstream.Endpoint,
	body []byte,
	m wire.Message,
	p streamable.Params,
) {
	if !h.owns(r) {
		streamable.RefuseSession(w, r, m.ID)
		return
	}
	var call *upstream.Record
	if m.Method == proto.MethodCallTool && m.Kind() == wire.Request {
		var v upstream.Ruling
		var err error
		call, v, err = h.permits(r, m, p, len(body))
		if err == nil && p.Modern() {
			h.mu.Lock()
			err = h.headers.Fault(jsonscan.Text(p.Name))
			h.mu.Unlock()
		}
		to, end := h.decide(w, r, h.view, &m, call, v, err)
		if to == nil {
			return
		}
		defer end()
		w, body = to, lineOf(v, body)
		defer func() { // unless its answer came
			if r.Context().Err() != nil {
				call.End(upstream.OutcomeCancelled, 0)
			}
			call.End(upstream.OutcomeError, 0)
		}()
	}
	ctx, watch := h.watch(r.Context(), call, m)
	defer watch.stop()
	req, err := http.NewRequestWithContext(ctx, r.Method, e.URL, bytes.NewReader(body))
	if err != nil {
		http.Error(w, "the server's address is wrong", http.StatusBadGateway)
		return
	}
	for _, name := range passedHeaders {
		if v := r.Header.Values(name); len(v) > 0 {
			req.Header[http.CanonicalHeaderKey(name)] = v
		}
	}
	for name, v := range r.Header {
		if len(name) > 10 && name[:10] == proto.HeaderParam {
			req.Header[name] = v
		}
	}
	for name, value := range e.Headers {
		req.Header.Set(name, value)
	}
	h.calls.Passed(h.callID(r, nil).session, string(m.ID))
	resp, err := h.relay.export.Client(e).Do(req)
	var wants *login.RequiredError
	if errors.As(err, &wants) && m.Kind() == wire.Request {
		streamable.Refuse(w, http.StatusOK, m.ID, jrpc2.Errorf(jrpc2.InternalError,
			"the MCP server %s: %v", h.relay.export.Server.Name, wants))
		return
	}
	if err != nil && watch.silent.Load() {
		streamable.Refuse(w, http.StatusOK, m.ID, errSilent(h.relay.export.Server, m.Method))
		return
	}
	if err != nil {
		if r.Context().Err() == nil {
			why := display.Plain(display.WithoutURL(err).Error())
			http.Error(
				w,
				"the MCP server "+h.relay.export.Server.Name+" cannot be reached: "+why,
				http.StatusBadGateway,
			)
		}
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized { // our key is wrong, not the client's
		http.Error(
			w,
			"the MCP server "+h.relay.export.Server.Name+" requires a login, or a key other than the configured one",
			http.StatusBadGateway,
		)
		return
	}
	for _, name := range []string{"Content-Type", proto.HeaderSession, proto.HeaderVersion, "Cache-Control", "Retry-After"} {
		if v := resp.Header.Values(name); len(v) > 0 {
			w.Header()[http.CanonicalHeaderKey(name)] = v
		}
	}
	status := resp.StatusCode
	if status == http.StatusForbidden {
		status = http.StatusBadGateway // it is our key that does not fit, and not the client's
	}
	w.WriteHeader(status)
	switch m.Method {
	case proto.MethodInitialize:
		h.keepVisitor(resp.Header.Get(proto.HeaderSession), introduced{visitor{upstream.ClientOf(m), upstream.OffersOf(m)}, h.holder(r)})
	case proto.MethodListTools:
		h.proxyList(w, resp, m, p.Modern())
		return
	}
	watch.stream = isStream(resp.Header)
	defer watch.end()
	out := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	_ = out.Flush() // a stream may stay silent for long
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			watch.scan(buf[:n]) // first, so that the client's next call is kept behind this one
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
			_ = out.Flush() // the next Write notices
		}
		if watch.silent.Load() && watch.stream {
			why := wire.AppendAnswer(nil, m.ID, nil, errSilent(h.relay.export.Server, m.Method))
			_, _ = w.Write(streamable.EventOf(why)) // the client has left
		}
		if err != nil {
			return
		}
	}
}

// proxyList forwards the answer to m, a request for the list of tools, as View.Shown has it, and at
// 2026-07-28 without tools whose headers are invalid. It answers with an error if the list cannot be read.
func (h *HTTP) proxyList(w io.Writer, resp *http.Response, m wire.Message, modern bool) {
	cursor := cursorOf(m.Params)
	unread := func(err error) []byte {
		return wire.AppendAnswer(nil, m.ID, nil, jrpc2.Errorf(jrpc2.InternalError,
			"the list of the MCP server %s cannot be read: %v", h.relay.export.Server.Name, err))
	}
	filter := func(text []byte) []byte {
		m, err := wire.Parse(text)
		if err != nil || m.Result == nil {
			return text
		}
		result := m.Result
		if modern {
			result = h.fitHeaders(result)
		}
		if result = h.view.Shown(cursor, result); !sameBytes(result, m.Result) {
			return wire.Edit(text, wire.Set("result", result))
		}
		return text
	}
	if !isStream(resp.Header) {
		body, err := streamable.ReadAll(resp.Body, upstream.MaxMessage)
		if body = filter(body); err != nil {
			body = unread(err)
		}
		_, _ = w.Write(body) // the client has left
		return
	}
	for s := sse.NewReader(resp.Body, upstream.MaxMessage); ; {
		e, err := s.Next()
		if errors.Is(err, sse.ErrTooLong) {
			_, _ = w.Write(streamable.EventOf(unread(err))) // the client has left
		}
		if err != nil {
			return
		}
		var b []byte
		if len(e.Name) > 0 {
			b = append(append(append(b, "event: "...), e.Name...), '\n')
		}
		if len(e.ID) > 0 {
			b = append(append(append(b, "id: "...), e.ID...), '\n')
		}
		if e.Data != nil {
			b = append(
				append(b, "data: "...),
				bytes.ReplaceAll(filter(bytes.Clone(e.Data)), []byte("\n"), []byte("\ndata: "))...)
			b = append(b, '\n')
		}
		if _, err := w.Write(append(b, '\n')); err != nil {
			return
		}
	}
}

// fitHeaders returns a list without the tools whose headers are invalid, and logs those.
func (h *HTTP) fitHeaders(result json.RawMessage) json.RawMessage {
	h.mu.Lock()
	fit, left := h.headers.Fit(result)
	h.mu.Unlock()
	for _, why := range left {
		h.relay.export.Log("warn", display.Plain(why.Error()))
	}
	return fit
}

func isStream(header http.Header) bool {
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return kind == "text/event-stream"
}

// permits judges a call. It lists the tools over a connection that belongs to no client's session.
func (h *HTTP) permits(
	r *http.Request,
	m wire.Message,
	p streamable.Params,
	size int,
) (call *upstream.Record, v upstream.Ruling, err error) {
	from := h.visitor(r.Header.Get(proto.HeaderSession))
	asked, err := callOf(m, p, from)
	call = h.relay.export.Record(h.holder(r), clientOf(p, from.client), asked.Tool, size)
	if err == nil {
		err = h.view.KnowFromBox(r.Context(), h.dir)
	}
	if err == nil {
		v, err = h.view.Rule(asked)
	}
	return call, v, err
}

// maxClients limits the sessions whose clients a relay remembers.
const maxClients = 1000

// visitor is a client as it has introduced itself.
type visitor struct {
	client string
	offers upstream.Offers
}

// introduced is the client of a session at the server, and its holder.
type introduced struct {
	visitor
	of access.Holder
}

// owns reports whether a request names no session of another holder. A session that is not known,
// for example because we were started again, is left to clients without a token of their own.
func (h *HTTP) owns(r *http.Request) bool {
	id, of := r.Header.Get(proto.HeaderSession), h.holder(r)
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.clients[id]
	return id == "" || ok && known.of == of || !ok && of.Token == ""
}

// keepVisitor remembers the client of a session.
func (h *HTTP) keepVisitor(session string, v introduced) {
	if session == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for old := range h.clients {
		if len(h.clients) < maxClients {
			break
		}
		delete(h.clients, old)
	}
	h.clients[session] = v
}

func (h *HTTP) visitor(session string) visitor {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clients[session].visitor
}

// answerWatch looks for the answer to a request in a response, and gives the request up if the
// server shows no sign of life for too long (limitOf).
type answerWatch struct {
	call    *upstream.Record
	id      json.RawMessage
	stream  bool
	text    []byte // of the line, or the body, that has not ended
	blind   bool   // it has stopped looking
	asking  bool   // the last message was a question, which is with the client
	cancel  context.CancelFunc
	silent  atomic.Bool // the request was given up
	silence silence.Watch
}

// watch returns the watch of the request m, and the context in which it is made; stop must follow.
func (h *HTTP) watch(ctx context.Context, call *upstream.Record, m wire.Message) (context.Context, *answerWatch) {
	ctx, cancel := context.WithCancel(ctx)
	a := &answerWatch{
		call:   call,
		id:     m.ID,
		cancel: cancel,
	}
	limit := limitOf(h.relay.export.Server, m.Method)
	a.blind = call == nil && limit <= 0
	if m.Kind() == wire.Request {
		a.silence.Begin(a, limit)
	}
	return ctx, a
}

// Silent implements silence.Request.
func (a *answerWatch) Silent() {
	a.silent.Store(true)
	a.cancel()
}

// alive notes a message of the server's; asking: it is a question.
func (a *answerWatch) alive(asking bool) {
	a.silence.Sign(a)
	switch {
	case asking && !a.asking:
		a.silence.Ask(1)
	case !asking && a.asking:
		a.silence.Answered()
	}
	a.asking = asking
}

// stop ends the watch, and the request.
func (a *answerWatch) stop() {
	a.silence.Close()
	a.cancel()
}

// scan examines the next bytes of a body.
func (a *answerWatch) scan(b []byte) {
	if a.blind {
		return
	}
	a.text = append(a.text, b...)
	for a.stream {
		line, rest, ok := bytes.Cut(a.text, []byte("\n"))
		if !ok {
			break
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			a.judge(data)
		}
		a.text = append(a.text[:0], rest...)
	}
	if len(a.text) > upstream.MaxMessage {
		a.blind = true
	}
}

// end examines a body that is no stream, when all of it has come.
func (a *answerWatch) end() {
	if !a.blind && !a.stream {
		a.judge(a.text)
	}
}

func (a *answerWatch) judge(text []byte) {
	m, err := wire.Parse(text)
	if err != nil {
		return
	}
	a.alive(m.Kind() == wire.Request)
	if m.Kind() == wire.Response && string(m.ID) == string(a.id) {
		a.call.Answered(m, len(text))
	}
}
