package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/login"
	"dragoman/bridge/upstream/masks"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/child"
	"dragoman/core/datadir"
	"dragoman/core/display"
)

// Server is an upstream MCP server in the configuration.
type Server struct {
	Name string
	// Rev identifies a version of the server's configuration: while it is unchanged, the
	// connections stay (Box.Set).
	Rev int
	// Location is the description of its place for people.
	Location Location
	// Endpoint looks up its place, at each start; its error describes a fault in the
	// configuration.
	Endpoint func(context.Context) (Endpoint, error)
	Disabled bool
	// Eager: every session starts one of its own when it opens its tools. Otherwise the start
	// waits for the first call, once the process knows the tools from another session.
	Eager bool
	// Allow and Deny name tools, with * for any text. Deny wins; an empty Allow allows all.
	Allow, Deny []string
	// StartTimeout limits the time until its tools are known; 0: one minute.
	StartTimeout time.Duration
	// CallTimeout limits the time of a call without a sign of life; 0: no limit.
	CallTimeout time.Duration
	// Confine has its program run in a sandbox of its own; nil: it runs as the user.
	Confine Confine
	// Confirm: it is started only after a person has agreed, because it is not in the user's own
	// configuration.
	Confirm bool

	brought  bool      // by a client of a session
	question *question // the consent to it and to others; nil: only to it
}

// StartFor returns the time limit until the server's tools are known.
func (s Server) StartFor() time.Duration {
	if s.StartTimeout > 0 {
		return s.StartTimeout
	}
	return defaultStartTimeout
}

// Location is the place of a server in words without secrets.
type Location struct {
	Command string // of a program
	Args    []string
	URL     string
}

// Options configure a Box.
type Options struct {
	Servers []Server // at first; Set changes them
	// Board receives the servers' states; nil: none does.
	Board *board.Board
	Layer string // of the entries there (board.Topic)
	// Connection identifies a connection, as the layer of the servers that its clients bring
	// along; nil: the layer is empty.
	Connection func(core.Profiles) string
	// Owner is the principal of the consents in AgreedFile; other principals have their own.
	Owner   core.Principal
	Environ []string // ours; its safe part is passed on
	Version string   // ours, for servers
	// Log receives the output of servers outside of the protocol, and their changes of state. It
	// must not block; nil: no log.
	Log func(server, level, text string)
	// PinFile stores the descriptions of tools when they were first seen; empty: changes of tools
	// are not noticed.
	PinFile string
	// AgreedFile stores the programs of clients to which the user has agreed permanently; empty:
	// each process asks again.
	AgreedFile string
	// LateFile stores the servers that clients have waited for in vain; empty: each process finds out.
	LateFile string
	// Tokens stores the logins to servers that require one; nil: logins are impossible.
	Tokens login.Store
	// Audit receives each call of a tool by an MCP client, when the call ends. It must not block;
	// nil: no audit.
	Audit func(Audit)
	// Guards returns the guard that starts a session's servers, by session; nil: these servers
	// have guards of their own.
	Guards *child.Guards
	// Transport carries requests to servers that are addresses; nil: http.DefaultTransport's
	// settings, with connections of our own.
	Transport http.RoundTripper
	// Grace limits the time that a list for a client of an aggregate waits for servers that are
	// starting; 0: five seconds.
	Grace time.Duration
	// Wait limits the time that a turn of a session waits for a server that is starting for the
	// first time; 0: two seconds. Its tools join the turn later.
	Wait time.Duration

	// FirstPause is the time between the end of a server and its first restart; 0: one second.
	// Later pauses are longer.
	FirstPause time.Duration
}

const (
	defaultGrace        = 5 * time.Second
	defaultWait         = 2 * time.Second
	defaultStartTimeout = time.Minute
	// MaxMessage limits one message of a server, or of a client to it, in bytes.
	MaxMessage = 64 << 20
	// DrainFor is the time that a server may still answer after its client's last message.
	DrainFor = 5 * time.Second
	// settleFor is the time that a changed list must be stable before it is read again.
	settleFor = 200 * time.Millisecond
)

// Box presents the upstream MCP servers as a core.Toolbox. Each session has connections of its
// own, because the requests and notifications of a server do not name the caller that they are
// for.
type Box struct {
	opts   Options
	hello  json.RawMessage
	client *http.Client
	logins *login.Wallet
	pins   *pins
	masks  *masks.Masks

	outages outages
	lates   lates

	mu        sync.Mutex // guards the fields below
	servers   []Server
	stopped   map[string]bool // until they are started again
	roused    map[string]bool // running although disabled
	sets      map[*set]bool   // that are open
	known     map[string][]*listedTool
	live      map[string][]*upstream // by server, of all sessions
	confirmed map[consentKey]bool    // by endpoint
	offers    map[string]offer
	sides     map[string]*upstream // without a session
	exported  map[*Keeper]Server   // connections of clients that servers are exported to
	// introduced holds the descriptions that servers gave to clients of an aggregate.
	introduced map[string]Introduction
	// reported holds the tools that were logged because they differ from their pins, by server.
	reported map[string]map[string]string
	closed   bool

	owned sync.WaitGroup // of sides
	guard child.Guard    // of servers without a session
}

var _ core.Toolbox = (*Box)(nil)

// New returns a box. It starts nothing.
func New(o Options) *Box {
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	o.Wait = cmp.Or(o.Wait, defaultWait)
	o.FirstPause = cmp.Or(o.FirstPause, time.Second)
	o.Guards = cmp.Or(o.Guards, &child.Guards{})
	hides, log := &masks.Masks{}, o.Log
	o.Log = func(server, level, text string) {
		if log != nil {
			log(server, level, hides.Hide(server, text))
		}
	}
	hello, err := json.Marshal(map[string]string{"name": "dragoman", "title": "dragoman", "version": cmp.Or(o.Version, "0")})
	if err != nil {
		hello = json.RawMessage(`{"name":"dragoman","version":"0"}`)
	}
	client := streamable.NewHTTPClient(o.Transport)
	return &Box{
		opts: o, hello: hello, client: client, logins: login.New(o.Tokens, client), pins: pinsIn(o.PinFile), masks: hides,
		lates:   lates{file: datadir.Document[map[string]string]{Path: o.LateFile}},
		servers: slices.Clone(o.Servers), stopped: map[string]bool{}, roused: map[string]bool{}, sets: map[*set]bool{},
		known: map[string][]*listedTool{}, live: map[string][]*upstream{}, confirmed: map[consentKey]bool{},
		offers: map[string]offer{}, sides: map[string]*upstream{}, exported: map[*Keeper]Server{}, reported: map[string]map[string]string{},
	}
}

// Open implements core.Toolbox. It waits for no server.
func (b *Box) Open(_ context.Context, host core.ToolHost) (core.Toolset, error) {
	ctx, end := context.WithCancel(context.Background())
	s := &set{box: b, host: host, changed: make(chan struct{}, 1), end: end}
	m := host.Meta()
	s.guard, s.release = b.opts.Guards.Hold(string(m.Principal) + " " + string(m.ID))
	s.run = func(u *upstream) {
		own, stop := context.WithCancel(ctx)
		u.stop = stop
		s.owned.Go(func() { u.run(own) })
	}
	b.mu.Lock()
	b.sets[s] = true
	b.mu.Unlock()
	s.follow()
	return s, nil
}

// set is a box's toolset for one session. One goroutine at a time calls its methods.
type set struct {
	box     *Box
	host    core.ToolHost
	ups     []*upstream
	brought []core.ServerSpec // by the session's clients; their running servers are in ups
	changed chan struct{}
	guard   *child.Guard // of the session's programs
	release func()       // gives guard back
	run     func(*upstream)
	end     context.CancelFunc
	owned   sync.WaitGroup
}

func (s *set) start(server Server) *upstream {
	u := newUpstream(s.box, server, s.host, s.guard, s.wake)
	s.box.enter(u)
	u.ready()
	s.run(u)
	return u
}

// follow starts new servers of the configuration, and releases removed ones. Unchanged ones are
// not touched, and the order is that of the configuration.
func (s *set) follow() {
	old := s.ups
	s.ups = nil
	for _, server := range s.box.used() {
		i := slices.IndexFunc(old, func(u *upstream) bool { return u.server.is(server) })
		if i < 0 {
			s.ups = append(s.ups, s.start(server))
			continue
		}
		s.ups = append(s.ups, old[i])
		old = slices.Delete(old, i, i+1)
	}
	for _, u := range old {
		if u.server.brought {
			s.ups = append(s.ups, u)
		} else {
			u.retire(whyOver)
		}
	}
}

// bring starts the servers that the session's clients bring along, and ends those of clients that
// have left. A name in the user's own configuration means the server there.
func (s *set) bring() {
	specs := s.host.Servers()
	if slices.EqualFunc(specs, s.brought, sameSpec) {
		return
	}
	for _, old := range s.brought {
		if !slices.ContainsFunc(specs, func(n core.ServerSpec) bool { return sameSpec(n, old) }) {
			s.ups = slices.DeleteFunc(s.ups, func(u *upstream) bool {
				if !u.server.brought || u.server.Name != broughtName(old) {
					return false
				}
				u.stop()
				return true
			})
		}
	}
	var added []Server
	q := &question{heard: map[string]*round{}}
	for _, spec := range specs {
		_, taken := s.box.find(spec.Name)
		if taken || slices.ContainsFunc(s.ups, func(u *upstream) bool { return u.server.Name == broughtName(spec) }) {
			continue
		}
		server := broughtServer(spec)
		if spec.Name == core.Native {
			server = misnamed(spec)
		}
		if server.Confirm {
			server.question = q
			q.servers = append(q.servers, server)
		}
		added = append(added, server)
	}
	for _, server := range added {
		s.ups = append(s.ups, s.start(server))
	}
	s.brought = specs
}

func sameSpec(a, b core.ServerSpec) bool {
	return a.Name == b.Name && a.Command == b.Command && a.URL == b.URL && a.SSE == b.SSE &&
		slices.Equal(a.Args, b.Args) && slices.Equal(a.Env, b.Env) && maps.Equal(a.Headers, b.Headers)
}

// broughtServer returns a server that a client brings along. A program needs consent, because
// naming one runs it.
func broughtServer(spec core.ServerSpec) Server {
	e := Endpoint{
		Command: spec.Command,
		Args:    spec.Args,
		Env:     map[string]string{},
		URL:     spec.URL,
		Headers: spec.Headers,
		SSE:     spec.SSE,
	}
	if e.Command != "" {
		e.URL = ""
	}
	for _, kv := range spec.Env {
		name, value, _ := strings.Cut(kv, "=")
		e.Env[name] = value
	}
	return Server{
		Name:        spec.Name,
		Endpoint:    func(context.Context) (Endpoint, error) { return e, nil },
		Confirm:     !e.Remote(),
		brought:     true,
		CallTimeout: 10 * time.Minute,
	}
}

// broughtName returns our name for a server that a client brings along.
func broughtName(spec core.ServerSpec) string {
	if spec.Name == core.Native {
		return spec.Name + " (the client's)"
	}
	return spec.Name
}

// misnamed returns a server that a client brings along under the name of our own tools. It does
// not start, and gives the reason.
func misnamed(spec core.ServerSpec) Server {
	return Server{
		Name: broughtName(spec), brought: true,
		Endpoint: func(context.Context) (Endpoint, error) {
			return Endpoint{}, fmt.Errorf("the name %q is that of dragoman's own tools: give the server another one", spec.Name)
		},
	}
}

func (s *set) wake() { poke(s.changed) }

// Tools implements core.Toolset: it lists the tools of every server that has been started, that
// another session knows, or that starts and has pinned tools. It waits for none.
func (s *set) Tools(ctx context.Context) ([]core.Tool, error) {
	s.follow()
	s.bring()
	var list []core.Tool
	for _, u := range s.ups {
		u.recheck(ctx)
		if u.now().held != "" {
			continue
		}
		for _, l := range u.known() {
			list = append(list, &tool{up: u, listedTool: l})
		}
	}
	return list, ctx.Err()
}

// Starting implements core.Starter. A server about which the user is being asked is not named.
func (s *set) Starting() (names []string) {
	for _, u := range s.ups {
		if n := u.now(); u.wanted(n) && n.why == "" {
			names = append(names, display.Word(u.server.Name))
		}
	}
	return names
}

// Await implements core.Starter: it waits for all servers together, for each at most Options.Wait
// after its start began, or for its whole start, and as long as the user is being asked about it.
func (s *set) Await(ctx context.Context, whole bool) {
	for _, u := range s.ups {
		if u.now().status == statusStarting {
			defer s.wake() // its tools may be known, and not yet announced
		}
		u.await(ctx, whole)
	}
}

// Require implements core.Starter. A server that the user has disabled is not required.
func (s *set) Require(ctx context.Context) error {
	defer s.wake()
	var failed []string
	for _, u := range s.ups {
		n := u.now()
		for ; n.status == statusStarting && ctx.Err() == nil; n = u.now() {
			select {
			case <-n.moved:
			case <-ctx.Done():
			}
		}
		if n.status != statusRunning || n.held != "" {
			failed = append(failed, display.Word(u.server.Name)+" ("+display.Line(cmp.Or(n.held, n.why, n.status), 300)+")")
		}
	}
	if len(failed) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("MCP servers that are required have not started: %s; \"dragoman mcp-servers logs NAME\" shows what a server printed", strings.Join(failed, ", "))
}

// Changed implements core.Toolset.
func (s *set) Changed() <-chan struct{} { return s.changed }

// Close implements core.Toolset: it ends the session's connections and programs, all together,
// and waits for that.
func (s *set) Close() error {
	s.box.mu.Lock()
	delete(s.box.sets, s)
	s.box.mu.Unlock()
	s.end()
	s.owned.Wait()
	s.release()
	return nil
}

// secrets returns the values that are hidden in the server's output.
func (e Endpoint) secrets() masks.Secrets {
	return masks.Secrets{Env: e.Env, Headers: e.Headers, Client: e.OAuth.ClientSecret}
}

// Confine makes a sandbox for a program that works in the folders of a session, and returns the guard
// that starts it there. id tells apart the programs that run at the same time. What no rule is about is
// asked by ask; nil: nobody can be asked. release ends the sandbox.
type Confine func(id string, m core.Meta, ask Ask) (g *child.Guard, release func(), err error)

// Ask puts a question to a session's user; see core.ToolHost.
type Ask func(context.Context, core.Ask) (core.Reply, error)

// dialer returns the dialer for a server's links. The guard owns the programs that it
// starts.
func (b *Box) dialer(s Server, guard *child.Guard) dialer {
	return dialer{
		environ:   b.opts.Environ,
		guard:     guard,
		confine:   s.Confine,
		client:    func(e Endpoint) *http.Client { return b.clientFor(s, e) },
		limit:     MaxMessage,
		junk:      func(line string) { b.opts.Log(s.Name, "info", display.Plain(line)) },
		warn:      func(text string) { b.opts.Log(s.Name, "warn", text) },
		learn:     func(e Endpoint) { b.masks.Learn(s.Name, e.secrets()) },
		hide:      func(text string) string { return b.masks.Hide(s.Name, text) },
		listening: func() {},
	}
}
