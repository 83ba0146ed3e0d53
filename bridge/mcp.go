package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/adapters/wire"
	"dragoman/core"
)

// Server is an upstream MCP server, as it is configured.
type Server struct {
	Name string
	// Endpoint looks up where it is, each time it is started; its error says what is
	// wrong in the configuration.
	Endpoint func(context.Context) (Endpoint, error)
	Disabled bool
	// Eager: every session starts one of its own as it opens its tools. Without it that
	// waits for the first call, once the process knows from another session which tools
	// there are.
	Eager bool
	// Allow and Deny name tools, with * for any text. Deny wins; an empty Allow allows
	// all.
	Allow, Deny []string
	// StartTimeout is how long it may take until its tools are known; 0: one minute.
	StartTimeout time.Duration
	// CallTimeout is how long a call may stay without a sign of life; 0: for ever.
	CallTimeout time.Duration
	// Confirm: it is started only after a person has agreed, because somebody else
	// than the user's own configuration names it.
	Confirm bool

	brought bool // by a session's client
}

// Options say which servers there are, and what a Box does for them.
type Options struct {
	Servers []Server
	Environ []string // ours; the safe part of it is handed on
	Version string   // ours, for servers
	// Log is told what servers say beside the protocol, and what becomes of them. It must
	// not block; nil: nobody is.
	Log func(server, level, text string)
	// PinFile keeps what tools said of themselves when they were first seen; empty: a
	// tool that changes is not noticed.
	PinFile string
	// Grace is how long the listing of tools waits for servers that are still being
	// started; 0: five seconds. The tools of later ones are there at the next turn.
	Grace time.Duration
	// Model finds the model that servers may ask with the user's consent; nil: they may not.
	Model func(ctx context.Context, id string) (core.Model, error)

	firstPause time.Duration // before the first new start; 0: one second
}

const (
	defaultGrace        = 5 * time.Second
	defaultStartTimeout = time.Minute
	// maxMessage bounds one message of a server's, in bytes.
	maxMessage = 64 << 20
	// settleFor is how long a changed list must have been quiet before it is read again.
	settleFor = 200 * time.Millisecond
)

// Box is the upstream MCP servers as a core.Toolbox. Each session has connections
// of its own, since what a server asks or tells does not say which of its callers
// it is for.
type Box struct {
	opts   Options
	hello  json.RawMessage
	client *http.Client
	pins   pins

	mu        sync.Mutex // guards the fields below
	known     map[string][]*listed
	live      map[string][]*upstream // by server, of all sessions
	confirmed map[string]bool        // by what would be started
	offers    map[string]offer
	sides     map[string]*upstream // that belong to no session
	closed    bool

	owned sync.WaitGroup // of sides
}

var _ core.Toolbox = (*Box)(nil)

// New returns a box. It starts nothing.
func New(o Options) *Box {
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	o.firstPause = cmp.Or(o.firstPause, time.Second)
	if o.Log == nil {
		o.Log = func(string, string, string) {}
	}
	hello, err := json.Marshal(map[string]string{"name": "dragoman", "title": "dragoman", "version": cmp.Or(o.Version, "0")})
	if err != nil {
		hello = json.RawMessage(`{"name":"dragoman","version":"0"}`)
	}
	return &Box{
		opts: o, hello: hello, client: newHTTPClient(), pins: pins{path: o.PinFile},
		known: map[string][]*listed{}, live: map[string][]*upstream{}, confirmed: map[string]bool{},
		offers: map[string]offer{}, sides: map[string]*upstream{},
	}
}

// Announce puts the servers on the board before anything has started one.
func (b *Box) Announce(board *core.Board) {
	for _, s := range b.opts.Servers {
		b.post(board, s)
	}
}

// Open implements core.Toolbox. It waits for no server.
func (b *Box) Open(_ context.Context, host core.ToolHost) (core.Toolset, error) {
	ctx, end := context.WithCancel(context.Background())
	s := &set{box: b, host: host, changed: make(chan struct{}, 1), end: end}
	s.run = func(u *upstream) {
		own, stop := context.WithCancel(ctx)
		u.stop = stop
		s.owned.Go(func() { u.run(own) })
	}
	for _, server := range b.opts.Servers {
		if server.Disabled || server.Name == core.Native {
			b.post(host.Board(), server)
			continue
		}
		s.start(server)
	}
	return s, nil
}

// set is what one session has of a box. Its methods are called by one goroutine at
// a time.
type set struct {
	box     *Box
	host    core.ToolHost
	ups     []*upstream
	brought []core.ServerSpec // by the session's clients; what is started of them is among ups
	changed chan struct{}
	run     func(*upstream)
	end     context.CancelFunc
	owned   sync.WaitGroup
}

func (s *set) start(server Server) {
	u := newUpstream(s.box, server, s.host, s.wake)
	s.ups = append(s.ups, u)
	s.run(u)
}

// bring starts the servers that the session's clients bring along, and ends those of
// clients that have left. A name that the user's own configuration has means that.
func (s *set) bring() {
	specs := s.host.Servers()
	if slices.EqualFunc(specs, s.brought, sameSpec) {
		return
	}
	for _, old := range s.brought {
		if !slices.ContainsFunc(specs, func(n core.ServerSpec) bool { return sameSpec(n, old) }) {
			s.ups = slices.DeleteFunc(s.ups, func(u *upstream) bool {
				if !u.server.brought || u.server.Name != old.Name {
					return false
				}
				u.stop()
				return true
			})
		}
	}
	for _, spec := range specs {
		taken := spec.Name == core.Native || slices.ContainsFunc(s.box.opts.Servers, func(o Server) bool { return o.Name == spec.Name })
		if taken || slices.ContainsFunc(s.ups, func(u *upstream) bool { return u.server.Name == spec.Name }) {
			continue
		}
		s.start(broughtServer(spec))
	}
	s.brought = specs
}

func sameSpec(a, b core.ServerSpec) bool {
	return a.Name == b.Name && a.Command == b.Command && a.URL == b.URL && a.SSE == b.SSE &&
		slices.Equal(a.Args, b.Args) && slices.Equal(a.Env, b.Env) && maps.Equal(a.Headers, b.Headers)
}

// broughtServer is a server that a client brings along. A program is asked about: to
// name one is to run it.
func broughtServer(spec core.ServerSpec) Server {
	e := Endpoint{Command: spec.Command, Args: spec.Args, Env: map[string]string{}, URL: spec.URL, Headers: spec.Headers, SSE: spec.SSE}
	if e.Command != "" {
		e.URL = ""
	}
	for _, kv := range spec.Env {
		name, value, _ := strings.Cut(kv, "=")
		e.Env[name] = value
	}
	return Server{
		Name: spec.Name, Endpoint: func(context.Context) (Endpoint, error) { return e, nil }, Confirm: !e.remote(), brought: true, CallTimeout: 10 * time.Minute,
	}
}

func (s *set) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Tools implements core.Toolset: those of every server that has been started, or
// that another session knows. It waits a little for those that are starting, all of
// them together, and never for one that has failed.
func (s *set) Tools(ctx context.Context) ([]core.Tool, error) {
	s.bring()
	grace, cancel := context.WithTimeout(ctx, s.box.opts.Grace)
	defer cancel()
	var list []core.Tool
	for _, u := range s.ups {
		for _, l := range u.listed(ctx, grace) {
			list = append(list, &tool{up: u, listed: l})
		}
	}
	return list, ctx.Err()
}

// Changed implements core.Toolset.
func (s *set) Changed() <-chan struct{} { return s.changed }

// Close implements core.Toolset: it ends the session's connections and programs,
// all together, and waits for that.
func (s *set) Close() error {
	s.end()
	s.owned.Wait()
	return nil
}

// remember keeps a server's list for sessions that have not started it.
func (b *Box) remember(s Server, list []*listed) {
	if !b.configured(s) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[s.Name] = list
}

func (b *Box) recall(s Server) (list []*listed, ok bool) {
	if !b.configured(s) {
		return nil, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	list, ok = b.known[s.Name]
	return list, ok
}

// configured reports whether a server is everybody's, rather than a session's own.
func (b *Box) configured(s Server) bool {
	return !s.brought && slices.ContainsFunc(b.opts.Servers, func(o Server) bool { return o.Name == s.Name })
}

// enter and leave note who has a connection to a server, for the board.
func (b *Box) enter(u *upstream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live[u.server.Name] = append(b.live[u.server.Name], u)
}

func (b *Box) leave(u *upstream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live[u.server.Name] = slices.DeleteFunc(b.live[u.server.Name], func(o *upstream) bool { return o == u })
}

// post says on the board how a server is: as well as the best of its connections.
func (b *Box) post(board *core.Board, s Server) {
	if board == nil {
		return
	}
	item := core.ServerItem{Name: s.Name, Status: statusStopped}
	if s.Disabled {
		item.Status = statusDisabled
	}
	b.mu.Lock()
	live, known := slices.Clone(b.live[s.Name]), b.known[s.Name]
	b.mu.Unlock()
	best := -1
	for _, u := range live {
		status, why, list := u.state()
		if at := slices.Index(statusOrder, status); at > best {
			best, item.Status, item.Why = at, status, why
			if len(list) > 0 {
				known = list
			}
		}
	}
	for _, l := range known {
		item.Tools = append(item.Tools, l.spec)
	}
	board.Put(core.Topic{Kind: "server", Name: s.Name}, item)
}

// The words for how a server is (core.ServerItem).
const (
	statusStopped  = "stopped"
	statusStarting = "starting"
	statusRunning  = "running"
	statusFailed   = "failed"
	statusDisabled = "disabled"
)

// statusOrder ranks them: of several connections the best one counts.
var statusOrder = []string{statusStopped, statusFailed, statusStarting, statusRunning}

// dialer is how a server's links are made.
func (b *Box) dialer(name string) dialer {
	return dialer{environ: b.opts.Environ, client: b.client, limit: maxMessage, junk: func(line string) { b.opts.Log(name, "info", plain(line)) }}
}

// raw encodes what always encodes.
func raw(v any) json.RawMessage {
	b, err := wire.AppendJSON(nil, v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}
