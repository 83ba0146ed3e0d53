package aggregate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/child"
)

// Server presents our own agent and the servers of a configuration to MCP clients as one
// server. It passes messages on, and maps sessions to sessions.
type Server struct {
	agent Agent
	box   *upstream.Box
	key   []byte // signs cursors
	lists atomic.Uint64

	changing sync.Mutex // held while the servers change, and while a client leaves

	mu      sync.Mutex // guards the fields below
	opts    Options
	exports []*upstream.Export // the servers that clients see, by name
	callers map[*caller]struct{}
}

// Options are the settings of a Server.
type Options struct {
	Agent Agent
	// Servers are patterns for the names of the servers that clients see; * is any text.
	Servers []string
	Prefix  Prefix
	// Tools limits the tools in a client's list. If there are more, the list has the agent's
	// tools and two that find and call the others. 0: no limit.
	Tools int
	// Check is called before each call of a server's tool. If it is nil, only the tools that the
	// configuration of the servers leaves out are refused.
	Check upstream.Check
}

// New returns a Server for the current servers of the box. Servers that are disabled, or that
// need a person's consent first, are left out.
func New(b *upstream.Box, o Options) *Server {
	a := &Server{agent: o.Agent, box: b, key: make([]byte, 32), callers: map[*caller]struct{}{}}
	rand.Read(a.key) //nolint:errcheck // it never fails
	a.opts, a.exports = o, b.Exports(o.Servers, o.Check)
	return a
}

// Update switches to the current servers of the box. Connected clients are notified; their
// connections to servers that have not changed stay open. The options for names and the number of
// tools apply to new clients. The agent stays.
func (a *Server) Update(o Options) {
	exports := a.box.Exports(o.Servers, o.Check)
	a.changing.Lock()
	defer a.changing.Unlock()
	a.mu.Lock()
	a.opts, a.exports = o, exports
	callers := slices.Collect(maps.Keys(a.callers))
	a.mu.Unlock()
	for _, c := range callers {
		for _, s := range c.sides() {
			if s.show(exports) {
				s.changedServers()
			}
		}
	}
}

// shown returns the current options and servers.
func (a *Server) shown() (Options, []*upstream.Export) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.opts, a.exports
}

// Empty reports whether clients see no server besides the agent.
func (a *Server) Empty() bool {
	_, exports := a.shown()
	return len(exports) == 0
}

const (
	// maxHops limits the gateways that a request may have passed; with more it is in a loop.
	maxHops = 4
	// maxSides limits the sides of one connection.
	maxSides = 16
)

// Serve serves one client over a pipe; servers' programs are started in dir. It returns when the
// client has left or ctx has ended, and everything that it started has ended. Both streams are
// closed then.
func (a *Server) Serve(
	ctx context.Context,
	dir string,
	p core.Principal,
	in io.ReadCloser,
	out io.WriteCloser,
) error {
	return a.serve(ctx, a.newCaller(dir, access.Owner(p)), in, out)
}

func (a *Server) serve(ctx context.Context, c *caller, in io.ReadCloser, out io.WriteCloser) error {
	in, served, err := c.bypass.serve(ctx, c, in, out)
	if served {
		c.left()
		return err
	}
	o := clientOptions()
	o.NullIDs = true // they are refused
	c.conn = wire.NewConn(&inputEnd{in, c.leaving}, out, o)
	serving, end := context.WithCancel(ctx)
	err = c.conn.Serve(ctx, func(call *wire.Call) { c.receive(serving, call) })
	end()
	c.left()
	return err
}

// clientOptions are the options of a connection to a client.
func clientOptions() wire.Options {
	return wire.Options{
		MaxBatch: 100,
		Drain:    upstream.DrainFor,
		Withdraw: wire.Withdrawal{Method: proto.NoteCancelled, Member: "requestId"},
	}
}

func (a *Server) newCaller(dir string, of access.Holder) *caller {
	c := &caller{
		agg: a, dir: dir, of: of, bypass: early(), modern: map[string]*side{},
		uris: newAddresses(maxAddresses), tasks: newAddresses(maxTasks),
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.callers[c] = struct{}{}
	return c
}

// left waits until everything that was started for a client that has left has ended.
func (c *caller) left() {
	a := c.agg
	a.changing.Lock()
	a.mu.Lock()
	delete(a.callers, c)
	a.mu.Unlock()
	a.changing.Unlock()
	c.owned.Wait()
	c.guard.Close()
}

// publish makes a side known by calling put, and brings its servers up to date.
func (c *caller) publish(s *side, put func()) {
	c.mu.Lock()
	put()
	c.mu.Unlock()
	_, exports := c.agg.shown() // they may have changed meanwhile
	s.show(exports)
}

// caller is a client's connection to an aggregate.
type caller struct {
	agg    *Server
	dir    string
	of     access.Holder
	shared bool // requests of several clients of 2026-07-28 arrive on it
	posted bool // requests arrive over HTTP
	bypass *bypass
	conn   *wire.Conn
	owned  sync.WaitGroup
	guard  child.Guard // of the programs that run for the client
	uris   *addresses  // of resources and templates
	tasks  *addresses

	mu     sync.Mutex       // guards the fields below
	legacy *side            // begun by initialize; nil: there was none
	modern map[string]*side // by the client's name and capabilities, as in its requests
	tokens map[string]origin
	last   int64 // the last of our tokens
}

// receive handles a message of the client. It runs on the reading goroutine and does not block.
func (c *caller) receive(ctx context.Context, call *wire.Call) {
	if call.IsNotification() {
		c.notified(call)
		return
	}
	q, err := inspect(call.Params)
	if string(call.ID) == "null" {
		err = wire.NullIDError(call.Method)
	}
	if err != nil {
		call.Reply(nil, err)
		return
	}
	if q.version >= proto.Modern || call.Method == proto.MethodDiscover {
		if s, err := c.sideOf(ctx, q); err != nil {
			call.Reply(nil, err)
		} else {
			s.receive(ctx, call, q)
		}
		return
	}
	c.mu.Lock()
	s := c.legacy
	c.mu.Unlock()
	switch {
	case call.Method == proto.MethodPing:
		call.Reply(json.RawMessage(`{}`), nil)
	case s != nil:
		s.receive(ctx, call, q)
	case call.Method == proto.MethodInitialize:
		c.initialize(ctx, call, q)
	default:
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidRequest, "%s: the connection begins with initialize", call.Method))
	}
}

// notified handles a notification of the client.
func (c *caller) notified(call *wire.Call) {
	switch call.Method {
	case proto.NoteCancelled:
		if id, reason := streamable.Cancelled(call.Params); id != nil {
			c.conn.CancelRequestFor(id, reason)
		}
		return
	case proto.NoteProgress:
		c.progressed(call.Params)
		return
	}
	c.mu.Lock()
	s := c.legacy
	c.mu.Unlock()
	if s == nil {
		return
	}
	for i, p := range s.parts() {
		if i > 0 && call.Method == proto.NoteInitialized {
			return // servers got theirs when they were started
		}
		p.tell(call.Method, call.Params)
	}
}

// initialize begins a session of the older versions. The answer is the agent's own, with the
// capabilities and instructions that the servers add.
func (c *caller) initialize(ctx context.Context, call *wire.Call, q request) {
	var hello struct {
		Version string          `json:"protocolVersion"`
		Client  json.RawMessage `json:"clientInfo"`
		Caps    json.RawMessage `json:"capabilities"`
	}
	_ = json.Unmarshal(call.Params, &hello) // the agent reports errors
	if !proto.IsLegacy(hello.Version) {
		hello.Version = proto.Legacy
	}
	s := c.newSide(ctx, hello.Version, hello.Client, hello.Caps, q.hops)
	c.publish(s, func() { c.legacy = s })
	agent := s.agent.running()
	_, err := agent.Conn.Start(call.Method, call.Params, func(res json.RawMessage, err error) {
		if err != nil {
			c.mu.Lock()
			c.legacy = nil
			c.mu.Unlock()
			s.end()
			call.Reply(nil, err)
			return
		}
		s.aside(func() {
			s.meet(call.Context())
			call.Reply(s.introduced(res), nil)
		})
	})
	if err != nil {
		call.Reply(nil, err)
	}
}

// sideOf returns the side of a client of 2026-07-28, found by the name and capabilities in its
// request. Only the reading goroutine calls it.
func (c *caller) sideOf(ctx context.Context, q request) (*side, error) {
	key := string(q.client) + "\x00" + string(q.caps)
	c.mu.Lock()
	s := c.modern[key]
	c.mu.Unlock()
	if s == nil {
		if err := c.makeRoom(); err != nil {
			return nil, err
		}
		s = c.newSide(ctx, proto.Modern, q.client, q.caps, q.hops)
		c.publish(s, func() { c.modern[key] = s })
	}
	s.used.Store(time.Now().UnixNano())
	return s, nil
}

// makeRoom ends the side that has been idle for longest if there are too many.
func (c *caller) makeRoom() error {
	c.mu.Lock()
	oldest := ""
	for key, s := range c.modern {
		if s.busy.Load() == 0 && (oldest == "" || s.used.Load() < c.modern[oldest].used.Load()) {
			oldest = key
		}
	}
	n, old := len(c.modern), c.modern[oldest]
	if n >= maxSides && old != nil {
		delete(c.modern, oldest)
	}
	c.mu.Unlock()
	switch {
	case n < maxSides:
	case old == nil:
		return jrpc2.Errorf(wire.CodeBusy, "requests of %d different clients are open on this connection", maxSides)
	default:
		old.end()
	}
	return nil
}

// sides returns all sides of the connection.
func (c *caller) sides() []*side {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*side
	if c.legacy != nil {
		list = append(list, c.legacy)
	}
	for _, s := range c.modern {
		list = append(list, s)
	}
	return list
}

// works reports whether our agent runs a turn for the client.
func (c *caller) works() bool {
	return c.bypass.works() || slices.ContainsFunc(c.sides(), func(s *side) bool { return s.agent.works() })
}

// leaving is called when the client has closed its output. Requests that never end by themselves
// end now; the others are still answered.
func (c *caller) leaving() {
	for _, s := range c.sides() {
		s.endListeners()
	}
}

// inputEnd is a stream that calls ended when it has ended.
type inputEnd struct {
	io.ReadCloser
	ended func()
}

// Read implements io.Reader.
func (l *inputEnd) Read(b []byte) (int, error) {
	n, err := l.ReadCloser.Read(b)
	if err != nil {
		l.ended()
	}
	return n, err
}
