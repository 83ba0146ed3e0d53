package toolserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"dragoman/adapters/gate"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/access"
)

// Options are the settings of a Pool; both are required.
type Options struct {
	Version string   // of this program
	Program []string // the command line of our program that calls Relay
}

// Pool serves the tools of sessions. Its listener is opened for the first session.
type Pool struct {
	opts  Options
	ctx   context.Context //nolint:containedctx // the life of the listener's goroutine, ended by Close
	end   context.CancelFunc
	owned sync.WaitGroup

	mu       sync.Mutex          // guards the fields below
	addr     string              // of the listener; "": it is not open yet
	sessions map[string]*Session // by the paths of their URLs
	closed   bool
}

// New returns a Pool without sessions.
func New(o Options) *Pool {
	p := &Pool{opts: o, sessions: map[string]*Session{}}
	p.ctx, p.end = context.WithCancel(context.Background())
	return p
}

// pathOf is followed by the random part of a session's path.
const pathOf = "/tools/"

// maxRequests limits the open requests of all agents; each may have a stream and many calls.
const maxRequests = 4096

// Client describes the agent of a session's server.
type Client struct {
	Name string // of the server, as the agent knows it; "": Name
	At   string // HOST:PORT at which the agent reaches Pool.Handler; "": the listener
	// Offer selects tools; nil: all that are for agents.
	Offer func(core.Spec) bool
	// CallID returns the id of a call that was proposed already, because the agent had announced it;
	// "": it was not. meta is what the agent's client says about the call. nil: none is announced.
	CallID func(spec core.Spec, args, meta json.RawMessage) core.CallID
}

// Open returns the server of a session. Close must follow.
func (p *Pool) Open(c Client) (*Session, error) {
	addr, err := p.listen()
	if err != nil {
		return nil, err
	}
	path, token := pathOf+rand.Text(), rand.Text()+rand.Text()
	s := newSession(p, c)
	s.path, s.url, s.token, s.sum = path, "http://"+cmp.Or(c.At, addr)+path, token, gate.NewToken(token)
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.sessions[path] = s
	}
	p.mu.Unlock()
	if closed {
		s.Close()
		return nil, wire.ErrClosed
	}
	return s, nil
}

// listen opens the listener if it is not open, and returns its address.
func (p *Pool) listen() (string, error) {
	p.mu.Lock()
	addr, closed := p.addr, p.closed
	p.mu.Unlock()
	switch {
	case closed:
		return "", wire.ErrClosed
	case addr != "":
		return addr, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(p.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	late := p.addr != "" || p.closed
	if !late {
		p.addr = l.Addr().String()
		p.owned.Go(func() { p.serve(l) })
	}
	addr = p.addr
	p.mu.Unlock()
	if late { // another session was quicker
		l.Close() //nolint:errcheck // nobody has connected to it
	}
	return addr, nil
}

// agents is the gate's name for everybody with a token, which is for one session.
const agents core.Principal = "agents"

func (p *Pool) serve(l net.Listener) {
	_ = p.gate().Serve(p.ctx, l, p.closeAll) // it ends with the pool; a listener on this machine does not fail
}

// Handler serves the sessions to agents that cannot reach the listener. Their address is Client.At.
func (p *Pool) Handler() http.Handler { return p.gate() }

func (p *Pool) gate() *gate.Gate {
	g := gate.New(gate.Options{Everybody: access.Owner(agents), MaxBody: wire.MaxMessage, Requests: maxRequests})
	g.Mount(pathOf, http.HandlerFunc(p.route))
	return g
}

// route passes a request with a session's token to the session.
func (p *Pool) route(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	s := p.sessions[strings.TrimSuffix(r.URL.Path, "/")]
	p.mu.Unlock()
	if s == nil || !s.sum.Bears(r) {
		http.Error(w, "the tools of a session are for its agent alone", http.StatusUnauthorized)
		return
	}
	s.face.ServeHTTP(w, r)
}

// Close closes all sessions and the listener, and waits for their end.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.closeAll()
	p.end()
	p.owned.Wait()
}

func (p *Pool) closeAll() {
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.sessions))
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(s.Close)
	}
	wg.Wait()
}

// remove makes a session's token and path invalid.
func (p *Pool) remove(s *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s.path)
}
