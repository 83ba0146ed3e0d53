package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/core"
)

const (
	// maxRelayed is how many sessions of clients a relay holds at a time, each with a
	// program of its own.
	maxRelayed = 64
	// relayIdle is how long one may be silent.
	relayIdle = time.Hour
	// maxKept is how many messages wait for a client that has no stream open.
	maxKept = 1000

	listenMethod = "subscriptions/listen"

	codeHeaderMismatch jrpc2.Code = -32020
)

// RelayHTTP is a Relay's face over Streamable HTTP. To a server that is an address
// it is a proxy; a program is started for each session, and one for all requests of
// 2026-07-28 of a principal, which belong to no session.
type RelayHTTP struct {
	relay     *Relay
	dir       string
	principal func(*http.Request) core.Principal

	mu       sync.Mutex // guards the fields below
	sessions map[string]*httpSession
	modern   map[core.Principal]*httpSession
	closed   bool
}

// HTTP returns a handler for clients that have been let in, whose bodies are
// limited. Programs are started in dir. Close must follow when no more requests come.
func (r *Relay) HTTP(dir string, principal func(*http.Request) core.Principal) *RelayHTTP {
	return &RelayHTTP{relay: r, dir: dir, principal: principal, sessions: map[string]*httpSession{}, modern: map[core.Principal]*httpSession{}}
}

// Close ends all sessions and waits for that.
func (h *RelayHTTP) Close() {
	h.mu.Lock()
	h.closed = true
	var all []*httpSession
	for _, s := range h.sessions {
		all = append(all, s)
	}
	for _, s := range h.modern {
		all = append(all, s)
	}
	h.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(s.close)
	}
	wg.Wait()
}

// ServeHTTP implements http.Handler.
func (h *RelayHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet, http.MethodDelete:
		e, err := h.relay.server.Endpoint(r.Context())
		if err == nil && e.remote() && !e.SSE {
			h.proxy(w, r, e, nil, wire.Message{})
			return
		}
		s := h.find(r)
		switch {
		case r.Header.Get(sessionHeader) == "":
			http.Error(w, "this needs a session", http.StatusMethodNotAllowed)
		case s == nil:
			http.Error(w, "there is no such session", http.StatusNotFound)
		case r.Method == http.MethodDelete:
			h.drop(s)
			w.WriteHeader(http.StatusNoContent)
		default:
			s.listen(w, r)
		}
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// post takes one message of a client's.
func (h *RelayHTTP) post(w http.ResponseWriter, r *http.Request) {
	body, err := readAll(r.Body, maxMessage)
	if err != nil {
		http.Error(w, "the message cannot be read", http.StatusRequestEntityTooLarge)
		return
	}
	m, err := wire.Parse(body)
	if err == nil && m.Kind() == wire.Request {
		err = h.relay.permits(m)
	}
	if err != nil {
		status := http.StatusBadRequest
		if m.Method == "tools/call" {
			status = http.StatusOK
		}
		fail(w, status, m.ID, err)
		return
	}
	e, err := h.relay.server.Endpoint(r.Context())
	if err != nil {
		fail(w, http.StatusOK, m.ID, jrpc2.Errorf(jrpc2.InternalError, "%v", err))
		return
	}
	var line bytes.Buffer
	if json.Compact(&line, body) != nil {
		return // it was parsed
	}
	switch modern := isModern(r, m); {
	case e.remote() && !e.SSE:
		h.proxy(w, r, e, body, m)
	case modern:
		h.postModern(w, r, line.Bytes(), m)
	default:
		h.postLegacy(w, r, line.Bytes(), m)
	}
}

// fail answers with an error.
func fail(w http.ResponseWriter, status int, id json.RawMessage, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(wire.AppendAnswer(nil, id, nil, err)) // the client has left
}

// isModern reports whether a request belongs to 2026-07-28: when anything in it
// says so.
func isModern(r *http.Request, m wire.Message) bool {
	return r.Header.Get(versionHeader) >= modernVersion || m.Method == "server/discover" || versionOf(m) >= modernVersion
}

func (h *RelayHTTP) postLegacy(w http.ResponseWriter, r *http.Request, line []byte, m wire.Message) {
	s := h.find(r)
	switch {
	case m.Method == "initialize" && m.Kind() == wire.Request:
		var err error
		if s, err = h.enter(r); err != nil {
			fail(w, http.StatusOK, m.ID, jrpc2.Errorf(jrpc2.InternalError, "%v", err))
			return
		}
		w.Header().Set(sessionHeader, s.id)
	case r.Header.Get(sessionHeader) == "":
		fail(w, http.StatusBadRequest, m.ID, jrpc2.Errorf(jrpc2.InvalidRequest, "this needs a session; begin with initialize"))
		return
	case s == nil:
		fail(w, http.StatusNotFound, m.ID, jrpc2.Errorf(jrpc2.InvalidRequest, "there is no such session"))
		return
	}
	if m.Kind() != wire.Request {
		s.send(line)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.exchange(w, r, line, m, false)
}

// find is the session that a request names; nil: there is none, or its program has
// ended: then a client begins anew.
func (h *RelayHTTP) find(r *http.Request) *httpSession {
	h.mu.Lock()
	s := h.sessions[r.Header.Get(sessionHeader)]
	if s != nil {
		s.used = time.Now()
	}
	h.mu.Unlock()
	if s == nil || s.principal != h.principal(r) || s.hasEnded() {
		return nil
	}
	return s
}

// enter makes a session.
func (h *RelayHTTP) enter(r *http.Request) (*httpSession, error) {
	s, err := h.start(r.Context(), h.principal(r), rand.Text())
	if err != nil {
		return nil, err
	}
	var old []*httpSession
	h.mu.Lock()
	for _, o := range h.sessions {
		if time.Since(o.used) > relayIdle {
			old = append(old, o)
		}
	}
	full := len(h.sessions)-len(old) >= maxRelayed || h.closed
	if !full {
		h.sessions[s.id] = s
	}
	h.mu.Unlock()
	for _, o := range old {
		h.drop(o)
	}
	if full {
		s.close()
		return nil, jrpc2.Errorf(wire.CodeBusy, "there are %d sessions already", maxRelayed)
	}
	return s, nil
}

// drop ends a session.
func (h *RelayHTTP) drop(s *httpSession) {
	h.mu.Lock()
	delete(h.sessions, s.id)
	if h.modern[s.principal] == s {
		delete(h.modern, s.principal)
	}
	h.mu.Unlock()
	s.close()
}

func (h *RelayHTTP) start(ctx context.Context, p core.Principal, id string) (*httpSession, error) {
	l, _, err := h.relay.dial(ctx, h.dir)
	if err != nil {
		return nil, err
	}
	s := &httpSession{
		relay: h.relay, id: id, principal: p, link: l, used: time.Now(), done: make(chan struct{}),
		open: map[string]*exchange{}, tokens: map[string]*exchange{},
	}
	go func() { // close waits for it
		defer close(s.done)
		s.read()
		l.in.Close()
		l.close()
		s.lost()
		h.mu.Lock()
		delete(h.sessions, s.id)
		if h.modern[p] == s {
			delete(h.modern, p)
		}
		h.mu.Unlock()
	}()
	return s, nil
}

// httpSession is a client's session, or all requests of 2026-07-28 of a principal,
// and the connection to the server that is theirs.
type httpSession struct {
	relay     *Relay
	id        string // "": of no session
	principal core.Principal
	link      *link
	done      chan struct{} // closed when the connection has ended
	put       sync.Mutex    // held while something is written to the server

	used time.Time // guarded by the RelayHTTP's mutex

	mu     sync.Mutex // guards the fields below
	last   int64      // the id of the newest request of 2026-07-28
	open   map[string]*exchange
	order  []*exchange // those that are open, oldest first
	tokens map[string]*exchange
	stream *exchange // what the client has open for messages that belong to nothing
	// headers are the arguments of tools that are headers too, by tool.
	headers map[string][]paramHeader
	asked   bool     // whether the server has been asked for them
	kept    [][]byte // for that
	ended   bool
}

// exchange is a request and the stream of what belongs to it.
type exchange struct {
	id     json.RawMessage // as the client wrote it; nil: no request
	method string
	token  json.RawMessage
	lines  chan []byte   // what to write, in order; the answer ends it
	gone   chan struct{} // closed when nobody writes any more
}

func (s *httpSession) send(line []byte) {
	s.put.Lock()
	defer s.put.Unlock()
	_, _ = s.link.out.Write(append(line, '\n')) // the reading end notices
}

// close ends the session and waits for that.
func (s *httpSession) close() {
	s.link.in.Close()
	s.link.out.Close()
	<-s.done
}

// read routes what the server says until it ends.
func (s *httpSession) read() {
	frames := wire.Lines(s.link.in, maxMessage)
	for {
		line, err := frames.Next()
		if err != nil {
			if _, ok := err.(*wire.FrameError); ok { //nolint:errorlint // as it is returned
				continue
			}
			return
		}
		if m, err := wire.Parse(line); err == nil {
			s.route(line, m)
		}
	}
}

// route finds the stream that a message belongs to.
func (s *httpSession) route(line []byte, m wire.Message) {
	s.mu.Lock()
	var to *exchange
	answer := m.Kind() == wire.Response
	switch {
	case answer:
		if to = s.open[string(m.ID)]; to != nil {
			s.forgetLocked(to, string(m.ID))
		}
	case m.Method == "notifications/progress":
		var n progress
		if wire.Unmarshal(m.Params, &n) == nil {
			to = s.tokens[string(n.Token)]
		}
	case strings.HasSuffix(m.Method, "/list_changed") || m.Method == "notifications/resources/updated" || strings.HasPrefix(m.Method, "notifications/subscriptions/"):
		to = s.subscribedLocked(m)
	default: // what else it says, it says because of what it is doing
		to = s.stream
		for _, x := range s.order {
			if x.method != listenMethod {
				to = x
			}
		}
	}
	if to == nil && !answer && s.id != "" && len(s.kept) < maxKept {
		s.kept = append(s.kept, line)
	}
	s.mu.Unlock()
	if to == nil {
		return
	}
	if answer {
		line = s.answered(to, line, m)
	} else if to.token != nil && m.Method == "notifications/progress" {
		line = renamed(line, m, "progressToken", to.token)
	} else if to.method == listenMethod {
		line = labelled(line, m, to.id)
	}
	select {
	case to.lines <- line:
	case <-to.gone:
	}
	if answer {
		close(to.lines)
	}
}

// subscribedLocked finds the stream of what changes in a server: that of the
// subscription it names, else the one that is open for such things.
func (s *httpSession) subscribedLocked(m wire.Message) *exchange {
	if s.id != "" {
		return s.stream
	}
	var n struct {
		Meta struct {
			ID json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &n) == nil && n.Meta.ID != nil {
		if x := s.open[string(n.Meta.ID)]; x != nil {
			return x
		}
	}
	for _, x := range s.order {
		if x.method == listenMethod {
			return x
		}
	}
	return nil
}

func (s *httpSession) forgetLocked(x *exchange, id string) {
	delete(s.open, id)
	for token, o := range s.tokens {
		if o == x {
			delete(s.tokens, token)
		}
	}
	for i, o := range s.order {
		if o == x {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			return
		}
	}
}

// answered is the answer as the client gets it.
func (s *httpSession) answered(x *exchange, line []byte, m wire.Message) []byte {
	switch x.method {
	case "initialize":
		s.link.settled(legacyVersion) // a program does not need to know
	case "tools/list":
		if found := paramHeaders(line); len(found) > 0 {
			s.mu.Lock()
			if s.headers == nil {
				s.headers = map[string][]paramHeader{}
			}
			maps.Copy(s.headers, found)
			s.mu.Unlock()
		}
		line = s.relay.filtered(line, m)
	}
	if s.id == "" && x.id != nil {
		line = readdressed(line, x.id)
	}
	return line
}

// lost ends what is open when the server has ended.
func (s *httpSession) lost() {
	s.mu.Lock()
	open, stream := s.open, s.stream
	s.open, s.order, s.tokens, s.stream, s.ended = map[string]*exchange{}, nil, map[string]*exchange{}, nil, true
	s.mu.Unlock()
	why := "the MCP server " + s.relay.server.Name + ": " + s.link.why()
	for _, x := range open {
		select {
		case x.lines <- wire.AppendAnswer(nil, x.id, nil, jrpc2.Errorf(jrpc2.InternalError, "%s", why)):
		case <-x.gone:
		}
		close(x.lines)
	}
	if stream != nil {
		close(stream.lines)
	}
}

// exchange sends a request and writes what belongs to it. With hangUp the end of
// the client's request takes it back.
func (s *httpSession) exchange(w http.ResponseWriter, r *http.Request, line []byte, m wire.Message, hangUp bool) {
	x := &exchange{id: m.ID, method: m.Method, lines: make(chan []byte), gone: make(chan struct{})}
	defer close(x.gone)
	token := tokenOf(m)
	id, ok := s.begin(x, token)
	if !ok {
		text := "a request of this id is still open"
		if s.hasEnded() {
			text = "the MCP server " + s.relay.server.Name + " has ended: " + s.link.why()
		}
		fail(w, http.StatusOK, m.ID, jrpc2.Errorf(jrpc2.InternalError, "%s", text))
		return
	}
	if s.id == "" {
		line = readdressed(line, json.RawMessage(id))
		if token != nil {
			line = retokened(line, json.RawMessage(id))
		}
	}
	s.send(line)
	if !s.write(w, r, x) && s.forget(x, id) && hangUp {
		s.send([]byte(`{"jsonrpc":"2.0","method":"` + cancelledMethod + `","params":{"requestId":` + id + `,"reason":"the client hung up"}}`))
	}
}

// begin gives a request its place among those that are open, and the id under which
// the server knows it: of a session its own; else one of ours, which is its progress
// token as well. false: the id is taken, or the connection has ended.
func (s *httpSession) begin(x *exchange, token json.RawMessage) (id string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id = string(x.id)
	if s.id == "" {
		s.last++
		id = string(raw(s.last))
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

// forget takes a request out of those that are open, and reports whether it was.
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

// write writes the lines of a stream, those of first before them: one alone as JSON,
// else as events. false: the client left before the end.
func (s *httpSession) write(w http.ResponseWriter, r *http.Request, x *exchange, first ...[]byte) bool {
	out := http.NewResponseController(w)
	streams := x.id == nil || x.method == listenMethod
	if streams {
		begin(w)
		for _, line := range first {
			_, _ = w.Write(eventOf(line)) // a client that has left is noticed below
		}
		_ = out.Flush()
	}
	for {
		select {
		case line, ok := <-x.lines:
			if !ok {
				return true
			}
			if m, err := wire.Parse(line); !streams && err == nil && m.Kind() == wire.Response {
				w.Header().Set("Content-Type", "application/json")
				if s.id == "" {
					w.WriteHeader(statusOf(m))
				}
				_, _ = w.Write(line)
				continue
			}
			if !streams {
				streams = true
				begin(w)
			}
			if _, err := w.Write(eventOf(line)); err != nil {
				return false
			}
			_ = out.Flush()
		case <-r.Context().Done():
			return false
		}
	}
}

func eventOf(line []byte) []byte {
	return append(append([]byte("event: message\ndata: "), line...), "\n\n"...)
}

func begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
}

// listen gives a client the stream of what belongs to no request.
func (s *httpSession) listen(w http.ResponseWriter, r *http.Request) {
	x := &exchange{lines: make(chan []byte), gone: make(chan struct{})}
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

// tokenOf is the token under which a request wants to hear of progress.
func tokenOf(m wire.Message) json.RawMessage {
	var p struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return nil
	}
	return present(p.Meta.Token)
}
