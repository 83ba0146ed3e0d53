package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	nameHeader    = "Mcp-Name"

	// maxSessions is how many sessions of the protocol may be open over HTTP at once.
	maxSessions = 1000
	// sessionIdle is how long one may be silent. Clients that sleep for a night find it again.
	sessionIdle = 24 * time.Hour
	// heldIdle is how long a session of ours stays open for clients of 2026-07-28, which never say that they leave.
	heldIdle = 10 * time.Minute
	// replayBytes is what is kept of what clients may have missed (up to 2025-11-25, Resumability), in all.
	replayBytes = 16 << 20
)

// HTTP serves MCP over Streamable HTTP, all versions at one URL. A request belongs to 2026-07-28 when anything in it says
// so; all others belong to the life cycle that begins with initialize.
type HTTP struct {
	server    *Server
	principal func(*http.Request) core.Principal

	mu     sync.Mutex // guards the fields below
	doors  map[core.Principal]*door
	closed bool
}

// HTTP returns a handler. principal tells who a request is from; it must have been let in before, and its body limited.
// Call Close when no more requests come.
func (s *Server) HTTP(principal func(*http.Request) core.Principal) *HTTP {
	return &HTTP{server: s, principal: principal, doors: map[core.Principal]*door{}}
}

// door is what one principal comes in by.
type door struct {
	*host
	legacy, modern *mcp.StreamableHTTPHandler
	known          map[string]bool // the methods that there are

	mu       sync.Mutex // guards the fields below
	sessions map[string]*client
	names    map[string]*client // of 2026-07-28
	early    map[string]json.RawMessage
	swept    time.Time
}

// door finds a principal's door; nil when we are closing.
func (h *HTTP) door(p core.Principal) *door {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	d := h.doors[p]
	if d == nil {
		d = h.server.newDoor(p)
		h.doors[p] = d
	}
	return d
}

func (s *Server) newDoor(p core.Principal) *door {
	known := map[string]bool{}
	for _, m := range methods {
		known[m] = true
	}
	d := &door{known: known, sessions: map[string]*client{}, names: map[string]*client{}, early: map[string]json.RawMessage{}}
	d.host = s.newHost(p, d.from)
	replay := mcp.NewMemoryEventStore(nil)
	replay.SetMaxBytes(replayBytes)
	sdk := func(*http.Request) *mcp.Server { return d.sdk }
	// Who may come in was looked at before, and the body is ours.
	o := mcp.StreamableHTTPOptions{DisableLocalhostProtection: true, MaxRequestBodyBytes: -1, PropagateRequestCancellation: true}
	o.Stateless = true
	d.modern = mcp.NewStreamableHTTPHandler(sdk, &o)
	o.Stateless, o.EventStore, o.SessionTimeout = false, replay, sessionIdle
	d.legacy = mcp.NewStreamableHTTPHandler(sdk, &o)
	d.start()
	return d
}

// Close ends all sessions of the protocol and waits for what they do. Turns go on.
func (h *HTTP) Close() {
	h.mu.Lock()
	h.closed = true
	doors := h.doors
	h.mu.Unlock()
	for _, d := range doors {
		d.shut()
	}
}

func (d *door) shut() {
	d.leave()
	d.mu.Lock()
	sessions, names := slices.Collect(maps.Values(d.sessions)), d.names
	d.names = map[string]*client{}
	d.mu.Unlock()
	for _, c := range sessions {
		c.leave()
	}
	var wg sync.WaitGroup
	for ss := range d.sdk.Sessions() {
		wg.Go(func() {
			ss.Close() //nolint:errcheck // it is gone either way
		})
	}
	wg.Wait()
	for _, c := range names {
		c.close()
	}
	d.host.close()
}

// leave ends the client's calls.
func (c *client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.leaving {
		c.leaving = true
		close(c.gone)
	}
}

// from finds the client that has sent a request.
func (d *door) from(req mcp.Request) *client {
	ss, ok := req.GetSession().(*mcp.ServerSession)
	if !ok {
		return d.named("")
	}
	if ss.ID() == "" {
		name := ""
		if p := ss.InitializeParams(); p != nil && p.ClientInfo != nil {
			name = p.ClientInfo.Name + " " + p.ClientInfo.Version
		}
		return d.named(name)
	}
	return d.session(ss)
}

// session is the client of a session of the protocol; it ends with it.
func (d *door) session(ss *mcp.ServerSession) *client {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := ss.ID()
	if c := d.sessions[id]; c != nil {
		return c
	}
	c := &client{host: d.host, server: d.server, gone: make(chan struct{}), held: map[core.SessionID]*held{}}
	select {
	case <-d.gone:
		return c // of a call that is ending
	default:
	}
	d.sessions[id] = c
	d.wg.Go(func() {
		ss.Wait() //nolint:errcheck // it is gone either way
		d.mu.Lock()
		delete(d.sessions, id)
		delete(d.early, id)
		d.mu.Unlock()
		c.close()
	})
	return c
}

// named is the client of all requests of 2026-07-28 under one name. Those that have been silent are given up.
func (d *door) named(name string) *client {
	now := time.Now()
	d.mu.Lock()
	c := d.names[name]
	if c == nil {
		c = &client{host: d.host, server: d.server, gone: d.gone, held: map[core.SessionID]*held{}}
		select {
		case <-d.gone: // of a call that is ending
		default:
			d.names[name] = c
		}
	}
	c.used = now
	var old map[string]*client
	if now.Sub(d.swept) > time.Minute {
		d.swept, old = now, d.silentLocked(now.Add(-heldIdle))
	}
	d.mu.Unlock()
	for name, o := range old {
		if o.sweep(now.Add(-heldIdle)) && !o.waits() && d.forget(name, o, now.Add(-heldIdle)) {
			o.close()
		}
	}
	return c
}

// silentLocked are the clients from whom nothing has come since. The lock is held.
func (d *door) silentLocked(since time.Time) map[string]*client {
	old := map[string]*client{}
	for name, c := range d.names {
		if c.used.Before(since) {
			old[name] = c
		}
	}
	return old
}

// forget takes a client off the list, unless something has come from it since. What comes later is another client's.
func (d *door) forget(name string, c *client, since time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] != c || c.used.After(since) {
		return false
	}
	delete(d.names, name)
	return true
}

// seen is what is looked at in a request's body.
type seen struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Task string `json:"taskId"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// ServeHTTP implements http.Handler.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := h.door(h.principal(r))
	if d == nil {
		http.Error(w, "dragoman is shutting down", http.StatusServiceUnavailable)
		return
	}
	modern := r.Header.Get(versionHeader) >= modernVersion
	switch {
	case r.Method == http.MethodPost:
		d.post(w, r, modern)
	case modern:
		d.modern.ServeHTTP(w, r) // which has nothing but POST
	default:
		d.other(w, r)
	}
}

// other serves the requests that have no body: the stream of what belongs to no call, and the end of a session.
func (d *door) other(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	d.mu.Lock()
	c, early := d.sessions[id], d.early[id]
	d.mu.Unlock()
	if c != nil && r.Method == http.MethodDelete {
		c.leave() // the SDK waits for calls
	}
	if early != nil {
		w = &answerWriter{ResponseWriter: w, early: early}
	}
	d.legacy.ServeHTTP(w, r)
}

func (d *door) post(w http.ResponseWriter, r *http.Request, modern bool) {
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
	id := r.Header.Get(sessionHeader)
	if bytes.HasPrefix(body, []byte("[")) && (modern || !d.batches(id)) {
		refuseHTTP(w, http.StatusBadRequest, nil, jrpc2.InvalidRequest, "batches are not part of this protocol version")
		return
	}
	var s seen
	_ = json.Unmarshal(body, &s) // what does not fit is the SDK's to refuse
	modern = modern || s.Params.Meta.Version != "" || s.Method == "server/discover"
	d.mu.Lock()
	answers := &answerWriter{ResponseWriter: w, method: s.Method, early: d.early[id]}
	d.mu.Unlock()
	w = answers
	if s.ID != nil && s.Method != "" && !d.known[s.Method] {
		status := http.StatusOK
		if modern {
			status = http.StatusNotFound // 2026-07-28, Streamable HTTP
		}
		refuseHTTP(w, status, s.ID, jrpc2.MethodNotFound, fmt.Sprintf("method not found: %q", s.Method))
		return
	}
	if modern {
		r.Body = io.NopCloser(bytes.NewReader(body))
		if namesTask(s.Method) && s.Params.Task != "" && r.Header.Get(nameHeader) != s.Params.Task {
			refuseHTTP(w, http.StatusBadRequest, s.ID, mcp.CodeHeaderMismatch, "the header Mcp-Name must be the body's taskId")
			return
		}
		d.modern.ServeHTTP(w, r)
		return
	}
	switch {
	case s.Method == "initialize" && id == "":
		if d.full() {
			http.Error(w, "too many sessions are open", http.StatusServiceUnavailable)
			return
		}
		var number json.RawMessage
		if body, number = beginsHTTP(body); number != nil {
			answers.early, answers.begins = number, d.beginsEarly
		}
	case answers.early != nil && s.ID == nil && s.Method == "initialized":
		body = []byte(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	d.legacy.ServeHTTP(w, r)
}

// methods are those of all versions, and of the extension Tasks. The SDK refuses others in a way that tells clients of the
// older life cycle nothing.
var methods = []string{
	"completion/complete", "initialize", "logging/setLevel", "ping", "prompts/get", "prompts/list", "resources/list", "resources/read",
	"resources/subscribe", "resources/templates/list", "resources/unsubscribe", "server/discover", "subscriptions/listen",
	"tasks/cancel", "tasks/get", "tasks/update", "tools/call", "tools/list",
}

// namesTask reports whether a method's Mcp-Name header names a task (extension Tasks, Routing Headers).
func namesTask(method string) bool {
	switch method {
	case "tasks/get", "tasks/update", "tasks/cancel":
		return true
	}
	return false
}

// batches reports whether a session's version has batches.
func (d *door) batches(id string) bool {
	if id == "" {
		return false
	}
	for ss := range d.sdk.Sessions() {
		if p := ss.InitializeParams(); ss.ID() == id && p != nil {
			return p.ProtocolVersion == batchVersion
		}
	}
	return false
}

func (d *door) full() bool {
	n := 0
	for range d.sdk.Sessions() {
		n++
	}
	return n >= maxSessions
}

func (d *door) beginsEarly(id string, version json.RawMessage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.early[id] = version
}

// beginsHTTP does to a whole initialize what begins does to its parameters.
func beginsHTTP(body []byte) (_ []byte, number json.RawMessage) {
	var m map[string]json.RawMessage
	if json.Unmarshal(body, &m) != nil {
		return body, nil
	}
	m["params"], number = begins(m["params"])
	if changed, err := json.Marshal(m); err == nil {
		body = changed
	}
	return body, number
}

// refuseHTTP answers a request that goes no further.
func refuseHTTP(w http.ResponseWriter, status int, id json.RawMessage, code jrpc2.Code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(appendError(nil, id, &jsonrpc.Error{Code: int64(code), Message: message}, false)) //nolint:errcheck // a client that left has nobody to tell
}
