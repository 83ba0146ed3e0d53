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
	"dragoman/core/child"
)

// Server shows our own agent and the servers of a configuration to MCP clients as
// one server, message by message and session to session.
type Server struct {
	agent Agent
	box   *upstream.Box
	key   []byte // of cursors
	lists atomic.Uint64

	changing sync.Mutex // held while the servers are being changed, and while a client leaves

	mu      sync.Mutex // guards the fields below
	opts    Options
	exports []*upstream.Export // the servers that are shown, by name
	callers map[*caller]struct{}
}

// Options say what a Server shows.
type Options struct {
	Agent Agent
	// Servers name those that are shown; * is any text.
	Servers []string
	Prefix  Prefix
	// Tools is how many tools a client is shown; of more it is shown the agent's, and
	// two by which it finds and calls the others. 0: all.
	Tools int
	// Check is asked before each call of a server's tool. nil: nothing is refused beyond
	// what the servers' own lists take out.
	Check upstream.Check
}

// New returns what shows the servers of the box as they are now. Those that are
// disabled are left out, and those that a person would have to agree to first.
func New(b *upstream.Box, o Options) *Server {
	a := &Server{agent: o.Agent, box: b, key: make([]byte, 32), callers: map[*caller]struct{}{}}
	rand.Read(a.key) //nolint:errcheck // it never fails
	a.opts, a.exports = o, b.Exports(o.Servers, o.Check)
	return a
}

// Update shows the servers of the box as they are now to all clients, those that are
// connected too, who are told. Connections to servers that have not changed go on. Names and
// the number of tools follow the options for clients that come later. The agent stays.
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

// shown is what is shown now.
func (a *Server) shown() (Options, []*upstream.Export) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.opts, a.exports
}

// Empty reports whether no server is shown beside the agent.
func (a *Server) Empty() bool {
	_, exports := a.shown()
	return len(exports) == 0
}

const (
	// maxHops is how many gateways a request may have passed; more go round in a circle.
	maxHops = 4
	// maxSides is how many ways of being a client there may be on one connection.
	maxSides = 16
)

// Serve serves one client that speaks over a pipe; programs are started in dir. It
// blocks until the client leaves or ctx ends, and everything that it started has
// ended; both streams are closed then.
func (a *Server) Serve(
	ctx context.Context,
	dir string,
	p core.Principal,
	in io.ReadCloser,
	out io.WriteCloser,
) error {
	return a.serve(ctx, a.newCaller(dir, p), in, out)
}

func (a *Server) serve(ctx context.Context, c *caller, in io.ReadCloser, out io.WriteCloser) error {
	in, served, err := c.bypass.serve(ctx, c, in, out)
	if served {
		c.left()
		return err
	}
	c.conn = wire.NewConn(&last{in, c.leaving}, out, clientOptions())
	serving, end := context.WithCancel(ctx)
	err = c.conn.Serve(ctx, func(call *wire.Call) { c.receive(serving, call) })
	end()
	c.left()
	return err
}

// clientOptions are the options of a connection to a client.
func clientOptions() wire.Options {
	return wire.Options{
		MaxBatch: 100, Drain: upstream.DrainFor, Withdraw: wire.Withdrawal{Method: proto.NoteCancelled, Member: "requestId"},
	}
}

func (a *Server) newCaller(dir string, p core.Principal) *caller {
	c := &caller{agg: a, dir: dir, principal: p, bypass: early(), modern: map[string]*side{}}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.callers[c] = struct{}{}
	return c
}

// left waits until all has ended that was started for a client who has left.
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

// publish makes a side known, by put, and brings it up to date.
func (c *caller) publish(s *side, put func()) {
	c.mu.Lock()
	put()
	c.mu.Unlock()
	_, exports := c.agg.shown() // they may have changed while it was made
	s.show(exports)
}

// caller is a client's connection to an aggregate.
type caller struct {
	agg       *Server
	dir       string
	principal core.Principal
	// shared: several clients' requests of 2026-07-28 come over it.
	shared bool
	posted bool // they come over HTTP
	bypass *bypass
	conn   *wire.Conn
	owned  sync.WaitGroup
	guard  child.Guard // of the client's programs

	mu     sync.Mutex       // guards the fields below
	legacy *side            // since initialize
	modern map[string]*side // by what the requests say of the client
	tokens map[string]origin
	last   int64 // of the tokens
}

// receive takes what the client says; it runs on the reading goroutine and does not
// block.
func (c *caller) receive(ctx context.Context, call *wire.Call) {
	if call.IsNotification() {
		c.notified(call)
		return
	}
	q, err := inspect(call.Params)
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

// notified takes what has no answer.
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
			return // each has had its own
		}
		p.tell(call.Method, call.Params)
	}
}

// initialize begins the older life cycle: what the agent says of itself is said, and
// what the servers add.
func (c *caller) initialize(ctx context.Context, call *wire.Call, q request) {
	var hello struct {
		Version string          `json:"protocolVersion"`
		Client  json.RawMessage `json:"clientInfo"`
		Caps    json.RawMessage `json:"capabilities"`
	}
	_ = json.Unmarshal(call.Params, &hello) // the agent says what is wrong
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

// sideOf is the side of a client of 2026-07-28, by what its request says of it. Only
// the reading goroutine calls it.
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

// makeRoom ends the side that has been silent for longest, where there are too many.
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

// sides lists them all.
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

// works reports whether a turn of the client's runs in our agent.
func (c *caller) works() bool {
	return c.bypass.works() || slices.ContainsFunc(c.sides(), func(s *side) bool { return s.agent.works() })
}

// leaving is called when the client has sent its last: what never ends by itself
// ends now, and what else is open is still answered.
func (c *caller) leaving() {
	for _, s := range c.sides() {
		s.endListening()
	}
}

// last is a stream that tells when it has ended.
type last struct {
	io.ReadCloser
	ended func()
}

// Read implements io.Reader.
func (l *last) Read(b []byte) (int, error) {
	n, err := l.ReadCloser.Read(b)
	if err != nil {
		l.ended()
	}
	return n, err
}
