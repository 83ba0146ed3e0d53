package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/creachadair/jrpc2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp/edge"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/core/access"
)

// replayBytes limits the total of messages that are kept for clients which may have missed them
// (up to 2025-11-25, Resumability).
const replayBytes = 16 << 20

// HTTP serves MCP over Streamable HTTP, all versions at one URL. A request belongs to 2026-07-28
// if any part of it indicates that; all others belong to the life cycle that begins with
// initialize.
type HTTP struct {
	server *Server
	holder func(*http.Request) access.Holder
	guests wire.Guests // of all doors
	replay int         // replayBytes, for each door

	mu     sync.Mutex // guards the fields below
	doors  map[access.Holder]*door
	closed bool
}

// HTTP returns a handler. holder identifies the sender of a request, which must be admitted and
// permitted already (package permit), with a limited body. Call Close when no more requests come.
func (s *Server) HTTP(holder func(*http.Request) access.Holder) *HTTP {
	return &HTTP{
		server: s, holder: holder, replay: replayBytes, doors: map[access.Holder]*door{},
		guests: wire.Guests{All: maxGuests, Each: maxOfClient, Idle: guestIdle},
	}
}

// door is the entrance of one holder. It knows the sessions of no other.
type door struct {
	*host
	legacy, modern *mcp.StreamableHTTPHandler
	guests         *wire.Guests
	calls          streamable.Calls // of all sessions; at 2026-07-28 a client cancels a call by hanging up

	mu     sync.Mutex        // guards the fields below
	visits map[string]*visit // by the ids of sessions
	names  map[string]*visit // of 2026-07-28
}

// door finds a holder's door; nil while the server closes.
func (h *HTTP) door(of access.Holder) *door {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	d := h.doors[of]
	if d == nil {
		d = h.newDoor(of)
		h.doors[of] = d
	}
	return d
}

func (h *HTTP) newDoor(of access.Holder) *door {
	d := &door{guests: &h.guests, visits: map[string]*visit{}, names: map[string]*visit{}}
	d.host = h.server.newHost(of, d.from)
	d.sdk.AddReceivingMiddleware(d.known)
	replay := mcp.NewMemoryEventStore(nil)
	replay.SetMaxBytes(h.replay)
	sdk := func(*http.Request) *mcp.Server { return d.sdk }
	// The request was admitted before, and the body is limited by us.
	o := mcp.StreamableHTTPOptions{DisableLocalhostProtection: true, MaxRequestBodyBytes: -1, PropagateRequestCancellation: true}
	o.Stateless = true
	d.modern = mcp.NewStreamableHTTPHandler(sdk, &o)
	o.Stateless, o.EventStore = false, replay
	d.legacy = mcp.NewStreamableHTTPHandler(sdk, &o)
	d.start()
	return d
}

// Close ends all sessions of the protocol and waits for their work. Turns continue.
func (h *HTTP) Close() {
	h.mu.Lock()
	h.closed = true
	doors := h.doors
	h.mu.Unlock()
	h.guests.Close()
	for _, d := range doors {
		d.shut()
	}
}

func (d *door) shut() {
	d.leave()
	d.mu.Lock()
	visits, names := slices.Collect(maps.Values(d.visits)), slices.Collect(maps.Values(d.names))
	d.visits, d.names = map[string]*visit{}, map[string]*visit{}
	d.mu.Unlock()
	for _, v := range visits {
		v.client.leave()
	}
	var wg sync.WaitGroup
	for ss := range d.sdk.Sessions() {
		wg.Go(func() {
			ss.Close() //nolint:errcheck // it is gone either way
		})
	}
	wg.Wait()
	for _, v := range slices.Concat(visits, names) {
		v.client.close()
	}
	d.host.close()
}

// ServeHTTP implements http.Handler.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := h.door(h.holder(r))
	if d == nil {
		http.Error(w, "dragoman is shutting down", http.StatusServiceUnavailable)
		return
	}
	modern := r.Header.Get(proto.HeaderVersion) >= proto.Modern
	switch {
	case r.Method == http.MethodPost:
		d.post(w, r, modern)
	case modern:
		d.modern.ServeHTTP(w, r) // which only has POST
	default:
		d.other(w, r)
	}
}

// other serves the requests without a body: the stream of messages that belong to no call, and
// the end of a session.
func (d *door) other(w http.ResponseWriter, r *http.Request) {
	v := d.visit(r)
	switch {
	case v == nil:
	case !v.place.Begin():
		http.Error(w, "session not found", http.StatusNotFound)
		return
	default:
		defer v.place.Done()
		if r.Method == http.MethodDelete {
			v.client.leave() // the SDK waits for calls
			defer d.releaseEnded(v)
		}
		if v.filter != nil {
			w = &edge.ResponseWriter{ResponseWriter: w, Filter: v.filter}
		}
	}
	d.legacy.ServeHTTP(w, r)
}

func (d *door) post(w http.ResponseWriter, r *http.Request, modern bool) {
	r.Header.Del(headerCall)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		status := http.StatusBadRequest
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, fmt.Sprintf("read the body: %v", err), status)
		return
	}
	body = bytes.TrimSpace(body)
	id := r.Header.Get(proto.HeaderSession)
	if bytes.HasPrefix(body, []byte("[")) && (modern || !d.batches(id)) {
		err := jrpc2.Errorf(jrpc2.InvalidRequest, "batches are not part of this protocol version")
		streamable.Refuse(w, http.StatusBadRequest, nil, err)
		return
	}
	v := d.visit(r)
	m, err := edge.ParseBody(body)
	if err == nil && v.filtered() == nil {
		err = m.CheckID()
	}
	if err != nil {
		streamable.Refuse(w, http.StatusBadRequest, m.ID, err)
		return
	}
	p := edge.PeekAt(m.Params)
	modern = modern || p.Version != "" || m.Method == proto.MethodDiscover
	answers := &edge.ResponseWriter{ResponseWriter: w, Method: m.Method, Filter: v.filtered()}
	w = answers
	if m.Kind() == wire.Request {
		if !edge.Known(m.Method) {
			status := http.StatusOK
			if modern {
				status = http.StatusNotFound // 2026-07-28, Streamable HTTP
			}
			streamable.Refuse(w, status, m.ID, jrpc2.Errorf(jrpc2.MethodNotFound, "method not found: %q", m.Method))
			return
		}
		if err := edge.CheckParams(m.Method, m.Params); err != nil && edge.Offered(m.Method, modern) {
			streamable.Refuse(w, http.StatusOK, m.ID, err)
			return
		}
	}
	if modern {
		r.Body = io.NopCloser(bytes.NewReader(body))
		if proto.NamesTask(m.Method) && p.Task != "" && r.Header.Get(proto.HeaderName) != p.Task {
			err := jrpc2.Errorf(proto.CodeHeaderMismatch, "the header %s must be the body's taskId", proto.HeaderName)
			streamable.Refuse(w, http.StatusBadRequest, m.ID, err)
			return
		}
		v, err := d.named(clientKey(p.Client), r)
		if err != nil {
			streamable.RefuseGuest(w, m.ID, err)
			return
		}
		defer v.place.Done()
		d.modern.ServeHTTP(w, r)
		return
	}
	switch {
	case id == "":
		if v, err = d.enter(r, p.Client.Name); err != nil {
			streamable.RefuseGuest(w, m.ID, err)
			return
		}
		defer d.settle(v)
		answers.Begins = func(id string) { d.noteSession(v, id) }
		if m.Method == proto.MethodInitialize {
			body, v.filter = edge.BeginsBody(body, templates)
			answers.Filter = v.filter
		}
	case v != nil && !v.place.Begin():
		http.Error(w, "session not found", http.StatusNotFound)
		return
	case v != nil:
		defer v.place.Done()
		body = v.filter.Body(m, body)
		ctx, end := d.calls.Take(r.Context(), id, m) // the SDK ignores a cancellation that comes first
		defer end()
		r.Header.Set(headerCall, string(m.ID))
		if streamable.Canceled(ctx) {
			streamable.Refuse(w, http.StatusOK, m.ID, wire.ErrCanceled)
			return
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	d.legacy.ServeHTTP(w, r)
}

// headerCall is the header in which the SDK receives the id of a call. A client's header of that
// name is dropped.
const headerCall = "Dragoman-Call"

// known records that the SDK knows a call, and can cancel it from now on.
func (d *door) known(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if extra := req.GetExtra(); extra != nil {
			d.calls.Passed(extra.Header.Get(proto.HeaderSession), extra.Header.Get(headerCall))
		}
		return next(ctx, method, req)
	}
}

// batches reports whether a session's version has batches.
func (d *door) batches(id string) bool {
	ss := d.open(id)
	if ss == nil {
		return false
	}
	p := ss.InitializeParams()
	return p != nil && p.ProtocolVersion == proto.Batches
}
