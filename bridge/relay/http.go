package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
	"dragoman/core/access"
)

const (
	// maxRelayed limits the sessions of a relay's clients, each with a program of its own, and
	// maxOfClient those of one client.
	maxRelayed  = 64
	maxOfClient = 48
	// relayIdle is the time after which a silent session with nothing open is ended.
	relayIdle = 15 * time.Minute
	// maxKept limits the messages that are kept for a client that has no stream open.
	maxKept = 1000
)

// HTTP is a Server's face over Streamable HTTP. To a server that is an address
// it is a proxy; a program is started for each session, and one for all requests of
// 2026-07-28 of a holder, which belong to no session.
type HTTP struct {
	relay   *Server
	dir     string
	holder  func(*http.Request) access.Holder
	view    *upstream.View // of a server that is an address; a program has one for each session
	guests  wire.Guests
	dialogs *dialogs
	starts  atomic.Bool      // the server is known not to be an address that this is a proxy to
	calls   streamable.Calls // of all sessions; at 2026-07-28 whoever cancels a call hangs up

	mu       sync.Mutex // guards the fields below
	sessions map[string]*httpSession
	modern   map[access.Holder]*httpSession
	clients  map[string]introduced // of a server that is an address, by session
	headers  streamable.ParamHeaders
	closed   bool
}

// HTTP returns a handler for clients that have been let in, whose bodies are
// limited. Programs are started in dir. Close must follow when no more requests come.
func (r *Server) HTTP(dir string, holder func(*http.Request) access.Holder) *HTTP {
	return &HTTP{
		relay:    r,
		dir:      dir,
		holder:   holder,
		view:     r.export.View(nil),
		dialogs:  newDialogs(),
		sessions: map[string]*httpSession{},
		modern:   map[access.Holder]*httpSession{},
		clients:  map[string]introduced{},
		guests:   wire.Guests{All: maxRelayed, Each: maxOfClient, Idle: relayIdle},
	}
}

// Close ends all sessions and waits for that.
func (h *HTTP) Close() {
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
	h.guests.Close()
	h.dialogs.close()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(s.close)
	}
	wg.Wait()
}

// ServeHTTP implements http.Handler.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet, http.MethodDelete:
		if r.Method == http.MethodDelete {
			h.dialogs.withdraw(h.callID(r, nil), wire.ErrCanceled)
		}
		if e, proxied, err := h.address(r.Context()); err == nil && proxied {
			h.proxy(w, r, e.In(""), nil, wire.Message{}, streamable.Params{})
			return
		}
		s := h.find(r)
		if s != nil {
			defer s.place.Done()
		}
		streamable.AnswerSession(w, r, s != nil, s.listen, func() { h.drop(s) })
	default:
		streamable.RefuseMethod(w)
	}
}

// address returns where the server is, if this is a proxy to it. A program's endpoint, which may have
// secrets that are looked up by another program, is needed again only when it is started.
func (h *HTTP) address(ctx context.Context) (e upstream.Endpoint, proxied bool, err error) {
	if h.starts.Load() {
		return e, false, nil
	}
	if e, err = h.relay.export.Server.Endpoint(ctx); err != nil {
		return e, false, err
	}
	proxied = e.Remote() && !e.SSE
	h.starts.Store(!proxied)
	return e, proxied, nil
}

// post takes one message of a client's.
func (h *HTTP) post(w http.ResponseWriter, r *http.Request) {
	body, err := streamable.ReadBody(r, upstream.MaxMessage)
	if err != nil {
		http.Error(w, fmt.Sprintf("read the message: %v", err), http.StatusRequestEntityTooLarge)
		return
	}
	m, err := wire.Parse(body)
	if err == nil {
		err = checkPlain(body, []wire.Message{m})
	}
	if err == nil {
		err = checkIDs([]wire.Message{m}, func() bool { return false })
	}
	if err != nil {
		streamable.Refuse(w, http.StatusBadRequest, m.ID, err)
		return
	}
	if h.aboutDialogs(r, m) {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	p := streamable.ReadParams(m.Params)
	modern := streamable.IsModern(r, m.Method, p)
	if r.Header.Get(proto.HeaderSession) != "" && !modern {
		ctx, end := h.calls.Take(r.Context(), h.callID(r, nil).session, m)
		defer end()
		r = r.WithContext(ctx)
		if streamable.Canceled(ctx) {
			streamable.Refuse(w, http.StatusOK, m.ID, wire.ErrCanceled)
			return
		}
	}
	e, proxied, err := h.address(r.Context())
	switch {
	case err != nil:
		streamable.Refuse(w, http.StatusOK, m.ID, jrpc2.Errorf(jrpc2.InternalError, "%v", err))
	case proxied:
		h.proxy(w, r, e.In(""), body, m, p)
	case modern:
		h.postModern(w, r, inLine(body), m, p)
	default:
		h.postLegacy(w, r, inLine(body), m, p)
	}
}

func (h *HTTP) postLegacy(
	w http.ResponseWriter, r *http.Request, line []byte, m wire.Message, p streamable.Params,
) {
	var s *httpSession
	if m.Method != proto.MethodInitialize || m.Kind() != wire.Request {
		s = h.find(r)
	}
	if s != nil {
		defer s.place.Done()
	}
	switch {
	case m.Method == proto.MethodInitialize && m.Kind() == wire.Request:
		var err error
		if s, err = h.enter(r, m); err != nil {
			streamable.RefuseGuest(w, m.ID, err)
			return
		}
		defer s.place.Done()
		w.Header().Set(proto.HeaderSession, s.id)
	case s == nil:
		streamable.RefuseSession(w, r, m.ID)
		return
	}
	if m.Kind() != wire.Request {
		s.notice(m)
		s.send(r.Context(), line)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	call, v, err := s.permits(r.Context(), m, p, len(line))
	w, end := h.decide(w, r, s.view, &m, call, v, err)
	if w == nil {
		return
	}
	defer end()
	if v.Resumed {
		p = streamable.ReadParams(v.Params)
	}
	s.exchange(w, r, lineOf(v, line), m, tokenOf(p), call)
}

// find returns the session that a request names, with a request open: Done of its place
// must follow. nil: there is none, or its program has ended, and the client must begin
// a new one.
func (h *HTTP) find(r *http.Request) *httpSession {
	h.mu.Lock()
	s := h.sessions[r.Header.Get(proto.HeaderSession)]
	h.mu.Unlock()
	if s == nil || s.of != h.holder(r) || s.hasEnded() || !s.place.Begin() {
		return nil
	}
	return s
}

// enter makes a session for the client that introduces itself, with its first request
// open: Done of its place must follow.
func (h *HTTP) enter(r *http.Request, m wire.Message) (*httpSession, error) {
	of, client := h.holder(r), upstream.ClientOf(m)
	s, err := h.start(r.Context(), of, of.Key()+"\x00"+streamable.Machine(r)+"\x00"+client, rand.Text())
	if err != nil {
		return nil, err
	}
	s.client, s.offers = client, upstream.OffersOf(m) // no other goroutine has s yet
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.sessions[s.id] = s
	}
	h.mu.Unlock()
	if closed {
		s.close()
		return nil, wire.ErrClosed
	}
	return s, nil
}

// drop ends a session, and waits until it is removed from the maps.
func (h *HTTP) drop(s *httpSession) {
	s.place.Leave()
	s.close()
}

// forget removes a session that has ended from the maps.
func (h *HTTP) forget(s *httpSession) {
	s.place.Leave()
	h.dialogs.withdraw(
		callID{session: sessionKey(s.of, s.id)},
		errors.New("the MCP server "+s.relay.export.Server.Name+" has ended"),
	)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, s.id)
	if h.modern[s.of] == s {
		delete(h.modern, s.of)
	}
}

// start gives a client a place, and dials the server for it.
func (h *HTTP) start(ctx context.Context, of access.Holder, client, id string) (*httpSession, error) {
	s := &httpSession{relay: h.relay, calls: &h.calls, id: id, of: of}
	place, err := h.guests.Enter(client, s.works, func() { h.drop(s) })
	if err != nil {
		return nil, err
	}
	l, err := h.relay.dial(ctx, h.dir)
	if err != nil {
		place.Leave()
		return nil, err
	}
	s.place = place
	h.adopt(s, l)
	return s, nil
}

// adopt gives a session its connection to the server.
func (h *HTTP) adopt(s *httpSession, l *upstream.Link) {
	s.patience = newPatience(h.relay.export.Server)
	s.view, s.link, s.out = h.relay.export.View(nil), l, newServerStream(l)
	s.secret, s.done, s.open, s.tokens = rand.Text(), make(chan struct{}), map[string]*exchange{}, map[string]*exchange{}
	var writing sync.WaitGroup
	writing.Go(func() { _ = s.out.Run(context.Background()) }) // until it is closed; the reading end notices
	go func() {                                                // close waits for it
		defer close(s.done)
		s.read()
		l.In.Close()
		s.out.Close()
		l.Close()
		writing.Wait()
		s.patience.close()
		s.lost()
		h.forget(s)
	}()
}
