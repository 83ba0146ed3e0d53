package streamable

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// Visitor is a client of a [Handler]: one session up to 2025-11-25, or all requests of 2026-07-28
// with the same name and capabilities of their client.
type Visitor struct {
	Owner  string // see HandlerOptions
	Shared bool   // requests of several clients of 2026-07-28 may come over the connection
}

// Conn is the other end of a client's connection. Its methods do not block, except for Close.
type Conn interface {
	// Take passes a valid message of the client. key identifies a request among the open ones of the
	// connection.
	Take(key string, m wire.Message)
	Cancel(key string) // cancels a request
	Works() bool       // reports whether the client is busy without a request
	Close()            // ends the connection and waits for that
}

// HandlerOptions are the settings of a Handler; Connect and Owner are required.
type HandlerOptions struct {
	// Connect connects a client, which has sent r; send receives the messages to it.
	Connect func(r *http.Request, c Visitor, send wire.Send) Conn
	// Owner tells those apart whose requests, which were authenticated before, never share a session
	// or a connection.
	Owner     func(*http.Request) string
	All, Each int           // limits of clients, and of clients of one program
	Idle      time.Duration // how long a client may be silent without an open request
	Limit     int           // bytes of one message
}

// Handler serves MCP over Streamable HTTP, all versions at one URL. Call Close when no more
// requests come.
type Handler struct {
	opts   HandlerOptions
	guests wire.Guests
	calls  Calls // of all sessions; at 2026-07-28 a call is cancelled by hanging up
	kept   backlog

	mu       sync.Mutex          // guards the fields below
	sessions map[string]*session // by id
	shared   map[string]*session // of 2026-07-28, by the client's name and capabilities
	closed   bool
}

// NewHandler returns a handler.
func NewHandler(o HandlerOptions) *Handler {
	return &Handler{
		opts: o, guests: wire.Guests{All: o.All, Each: o.Each, Idle: o.Idle},
		sessions: map[string]*session{}, shared: map[string]*session{},
	}
}

// Knows reports whether a request names a session of the handler's.
func (h *Handler) Knows(r *http.Request) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[r.Header.Get(proto.HeaderSession)] != nil
}

// Close ends all sessions and waits for their end.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	var all []*session
	for _, list := range []map[string]*session{h.sessions, h.shared} {
		for _, s := range list {
			all = append(all, s)
		}
	}
	h.mu.Unlock()
	h.guests.Close()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() { h.drop(s) })
	}
	wg.Wait()
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet, http.MethodDelete:
		s := h.find(r)
		if s != nil {
			defer s.place.Done()
		}
		AnswerSession(w, r, s != nil, s.listen, func() { h.drop(s) })
	default:
		RefuseMethod(w)
	}
}

// post handles a message of a client. The message is checked here, and nowhere else.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	body, err := ReadBody(r, h.opts.Limit)
	if err != nil {
		http.Error(w, fmt.Sprintf("read the message: %v", err), http.StatusRequestEntityTooLarge)
		return
	}
	m, err := wire.Parse(body)
	if err == nil {
		err = m.CheckID()
	}
	if err != nil {
		Refuse(w, http.StatusBadRequest, m.ID, err)
		return
	}
	if p := ReadParams(m.Params); IsModern(r, m.Method, p) {
		h.postModern(w, r, m, p)
		return
	}
	h.postLegacy(w, r, m)
}

func (h *Handler) postLegacy(w http.ResponseWriter, r *http.Request, m wire.Message) {
	id := r.Header.Get(proto.HeaderSession)
	var s *session
	if m.Method == proto.MethodInitialize && m.Kind() == wire.Request {
		var err error
		if s, err = h.enter(r, m); err != nil {
			RefuseGuest(w, m.ID, err)
			return
		}
		w.Header().Set(proto.HeaderSession, s.id)
		id = s.id
	} else if s = h.find(r); s == nil {
		RefuseSession(w, r, m.ID)
		return
	}
	defer s.place.Done()
	ctx, end := h.calls.Take(r.Context(), id, m)
	defer end()
	switch {
	case Canceled(ctx):
		Refuse(w, http.StatusOK, m.ID, wire.ErrCanceled)
	case m.Kind() != wire.Request:
		s.conn.Take("", m)
		w.WriteHeader(http.StatusAccepted)
	default:
		x := s.begin(string(m.ID), m)
		s.conn.Take(x.key, m)
		h.calls.Passed(id, x.key)
		s.follow(w, r, x, 0, false)
		s.left(x)
	}
}

// postModern handles a request of 2026-07-28, which belongs to no session. Hanging up cancels it.
func (h *Handler) postModern(w http.ResponseWriter, r *http.Request, m wire.Message, p Params) {
	if m.Kind() != wire.Request {
		w.WriteHeader(http.StatusAccepted) // no notification means anything here
		return
	}
	if err := Mismatch(r, m.Method, p); err != nil {
		Refuse(w, http.StatusBadRequest, m.ID, err)
		return
	}
	s, err := h.sharedBy(r, p)
	if err != nil {
		RefuseGuest(w, m.ID, err)
		return
	}
	defer s.place.Done()
	if err := s.mismatch(r, m, p); err != nil {
		Refuse(w, http.StatusBadRequest, m.ID, err)
		return
	}
	x := s.begin("", m)
	s.conn.Take(x.key, m)
	if !s.follow(w, r, x, 0, false) {
		s.conn.Cancel(x.key)
	}
	s.left(x)
}

// find returns the session that a request names, and counts the request as open: Done of its
// place must follow. nil: there is none.
func (h *Handler) find(r *http.Request) *session {
	h.mu.Lock()
	s := h.sessions[r.Header.Get(proto.HeaderSession)]
	h.mu.Unlock()
	if s == nil || s.client.Owner != h.opts.Owner(r) || !s.place.Begin() {
		return nil
	}
	return s
}

// enter makes a session for a client that sends initialize, and counts that as an open request: Done
// of its place must follow.
func (h *Handler) enter(r *http.Request, m wire.Message) (*session, error) {
	owner := h.opts.Owner(r)
	s, err := h.start(r, Visitor{Owner: owner}, owner+"\x00"+Machine(r)+"\x00"+introduced(m))
	if err != nil {
		return nil, err
	}
	return s, h.note(h.sessions, s.id, s)
}

// note adds a session to a list.
func (h *Handler) note(list map[string]*session, key string, s *session) error {
	h.mu.Lock()
	closed, taken := h.closed, list[key] != nil
	if !closed && !taken {
		list[key] = s
	}
	h.mu.Unlock()
	if closed || taken {
		h.drop(s)
		return wire.ErrClosed
	}
	return nil
}

// sharedBy returns the connection of all requests of 2026-07-28 with the same name and capabilities
// of their client, and counts the request as open: Done of its place must follow.
func (h *Handler) sharedBy(r *http.Request, p Params) (*session, error) {
	owner := h.opts.Owner(r)
	key := owner + "\x00" + string(p.Client) + "\x00" + string(p.Caps)
	for {
		h.mu.Lock()
		s, closed := h.shared[key], h.closed
		h.mu.Unlock()
		switch {
		case closed:
			return nil, wire.ErrClosed
		case s != nil && s.place.Begin():
			return s, nil
		}
		s, err := h.start(r, Visitor{Owner: owner, Shared: true}, "\x00"+key)
		if err != nil {
			return nil, err
		}
		s.key = key
		if h.note(h.shared, key, s) == nil {
			return s, nil
		} // else another request was quicker
	}
}

// start gives a client a place, and connects it.
func (h *Handler) start(r *http.Request, c Visitor, name string) (*session, error) {
	s := &session{
		handler: h,
		client:  c,
		id:      rand.Text(),
		open:    map[string]*stream{},
		streams: map[string]*stream{},
	}
	var err error
	if s.place, err = h.guests.Enter(name, s.works, func() { h.drop(s) }); err != nil {
		return nil, err
	}
	s.alone = s.newStream("", "")
	s.alone.name()
	conn := h.opts.Connect(r, c, s.send)
	s.mu.Lock()
	s.conn = conn
	s.mu.Unlock()
	return s, nil
}

// drop ends a session and waits for its end.
func (h *Handler) drop(s *session) {
	s.place.Leave()
	h.mu.Lock()
	if h.sessions[s.id] == s {
		delete(h.sessions, s.id)
	}
	if h.shared[s.key] == s {
		delete(h.shared, s.key)
	}
	h.mu.Unlock()
	s.end()
}

// introduced returns the name and version of a client that sends initialize.
func introduced(m wire.Message) string {
	var p struct {
		Client proto.Implementation `json:"clientInfo"`
	}
	_ = json.Unmarshal(m.Params, &p) // missing members stay empty
	return p.Client.String()
}

// ReadBody reads a body into memory of its announced size, if there is one.
func ReadBody(r *http.Request, limit int) ([]byte, error) {
	if n := r.ContentLength; n > 0 && n <= int64(limit) {
		return readN(r.Body, int(n), limit)
	}
	return ReadAll(r.Body, limit)
}

// headersFor limits the time to list the tools, whose schemas say which arguments are headers
// too.
const headersFor = time.Minute

// mismatch returns an error if the header of an argument differs from the argument. The tools are
// listed first, unless they were listed before.
func (s *session) mismatch(r *http.Request, m wire.Message, p Params) error {
	if m.Method != proto.MethodCallTool {
		return nil
	}
	s.mu.Lock()
	known := s.listed
	s.mu.Unlock()
	if !known {
		ctx, cancel := context.WithTimeout(r.Context(), headersFor)
		defer cancel()
		s.list(ctx, m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers.Mismatch(r.Header, p)
}

// list asks for all pages of the tools on behalf of a request.
func (s *session) list(ctx context.Context, of wire.Message) {
	meta := wire.Object(of.Params)["_meta"]
	meta = wire.Edit(meta, wire.Set(proto.MetaToken, nil))
	next := json.RawMessage(nil)
	for range maxPages {
		m := wire.Message{
			ID: json.RawMessage(`"tools"`), Method: proto.MethodListTools,
			Params: wire.Edit(nil, wire.Set("_meta", meta), wire.Set("cursor", next)),
		}
		x := s.begin("", m)
		s.conn.Take(x.key, m)
		if !x.await(ctx) {
			s.conn.Cancel(x.key)
			s.left(x)
			return
		}
		s.mu.Lock()
		answer := x.events[len(x.events)-1].m
		s.mu.Unlock()
		s.left(x)
		if next = wire.Object(answer.Result)["nextCursor"]; next == nil {
			return
		}
	}
}

// maxPages limits the pages of a list that are read.
const maxPages = 100
