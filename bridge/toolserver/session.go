package toolserver

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"dragoman/adapters/gate"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/core"
)

// Name is the usual name of a session's server towards agents.
const Name = "dragoman"

// Variables by which the program of Session.Stdio gets the address and the token.
const (
	URLVar   = "DRAGOMAN_TOOLS_URL"
	TokenVar = "DRAGOMAN_TOOLS_TOKEN"
)

// Turn is the running turn of a session; *core.Turn implements it.
type Turn interface {
	// Tools lists the current tools. One goroutine at a time calls it.
	Tools(context.Context) ([]core.Spec, error)
	// Starters lists the toolsets whose tools come from servers.
	Starters() []core.Starter
	// Invoke makes a call, and returns its result after it is in the log.
	Invoke(context.Context, core.Call) (core.Result, error)
	NewCall() core.CallID
}

var _ Turn = (*core.Turn)(nil)

// Session is the MCP server of one session. Any goroutine may call its methods.
type Session struct {
	pool   *Pool
	client Client
	face   *streamable.Handler
	path   string
	url    string
	token  string
	sum    gate.Token
	// listing is held, as the one token, by the goroutine that calls Turn.Tools.
	listing chan struct{}

	mu    sync.Mutex // guards the fields below
	turn  *work      // nil: no turn runs
	tools *catalog
	conns map[*conn]struct{}
	// taken is closed when a client has taken the list, and replaced.
	taken chan struct{}
}

// maxClients limits the connections of an agent. With more, the one that has been silent for longest
// is ended.
const maxClients = 64

func newSession(p *Pool, c Client) *Session {
	c.Name = cmp.Or(c.Name, Name)
	s := &Session{
		pool:    p,
		client:  c,
		listing: make(chan struct{}, 1),
		tools:   newCatalog(c.Name),
		conns:   map[*conn]struct{}{},
		taken:   make(chan struct{}),
	}
	s.face = streamable.NewHandler(streamable.HandlerOptions{
		Connect: s.connect, Owner: owner, All: maxClients, Limit: wire.MaxMessage,
	})
	return s
}

// HTTP returns the address of the server and the headers that its client has to send.
func (s *Session) HTTP() (url string, headers map[string]string) {
	return s.url, map[string]string{"Authorization": "Bearer " + s.token}
}

// Stdio returns a program that is the server over standard input and output, and the variables that
// it needs in its environment.
func (s *Session) Stdio() (command string, args []string, env map[string]string) {
	line := s.pool.opts.Program
	return line[0], slices.Clone(line[1:]), map[string]string{URLVar: s.url, TokenVar: s.token}
}

// List sets the tools of the session while no turn runs. Clients are notified if the list has
// changed.
func (s *Session) List(specs []core.Spec) {
	s.mu.Lock()
	next := s.tools.with(specs, s.client.Offer)
	changed := !slices.Equal(next.list, s.tools.list)
	s.tools = next
	var conns []*conn
	if changed {
		conns = slices.Collect(maps.Keys(s.conns))
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.changed()
	}
}

// Find returns the tool of the server that an agent means by a name or title, which it may have
// written in any of the ways of [catalog.find]; false: it means none.
func (s *Session) Find(title string) (core.Spec, bool) {
	s.mu.Lock()
	tools := s.tools
	s.mu.Unlock()
	return tools.find(title)
}

// Owns reports whether Find finds a tool.
func (s *Session) Owns(title string) bool {
	_, ok := s.Find(title)
	return ok
}

// Close ends all connections and calls, and waits for that. The token becomes invalid.
func (s *Session) Close() {
	s.pool.remove(s)
	s.face.Close()
}

// work is a turn with the calls that are made in it.
type work struct {
	Turn
	ctx     context.Context //nolint:containedctx // the turn's, as in Run of a core.Conversation
	end     context.CancelCauseFunc
	running sync.WaitGroup
}

var (
	errNoTurn  = errors.New("the session runs no turn at the moment, and tools can be called only in a turn: the user's next message starts one")
	errRunning = errors.New("the session runs a turn already")
)

// lookEvery is the time between two looks at servers that take long to start.
const lookEvery = time.Second

// Begin says that a turn begins, whose context is ctx. Servers that are starting are waited for, for
// as long as each of them may take; the tools of slower ones are added when they have started. The
// turn's agent should be prompted after that. end must be called before the turn is over: it ends
// the calls that are still running, and waits for them.
func (s *Session) Begin(ctx context.Context, t Turn) (end func(), err error) {
	w := &work{Turn: t}
	w.ctx, w.end = context.WithCancelCause(ctx)
	s.mu.Lock()
	busy := s.turn != nil
	if !busy {
		s.turn = w
	}
	s.mu.Unlock()
	if busy {
		return nil, errRunning
	}
	end = func() {
		s.mu.Lock()
		s.turn = nil
		s.mu.Unlock()
		w.end(errNoTurn)
		w.running.Wait()
	}
	for _, starter := range t.Starters() {
		starter.Await(ctx, false)
	}
	if err := s.look(ctx, w); err != nil {
		end()
		return nil, err
	}
	if w.starting() {
		w.running.Go(func() { s.watch(w) })
	}
	s.relisted(ctx)
	return end, nil
}

// relistFor limits the wait for clients to take a list that has changed, so that the model of the
// turn's prompt knows the new tools. Clients were seen to need 10 to 200 ms. Some never list again.
const relistFor = 300 * time.Millisecond

// relisted waits until every client that has taken a list has taken the current one.
func (s *Session) relisted(ctx context.Context) {
	limit := time.NewTimer(relistFor)
	defer limit.Stop()
	for {
		s.mu.Lock()
		old := false
		for c := range s.conns {
			old = old || c.took != nil && c.took != s.tools && !slices.Equal(c.took.list, s.tools.list)
		}
		taken := s.taken
		s.mu.Unlock()
		if !old {
			return
		}
		select {
		case <-taken:
		case <-limit.C:
			s.gaveUp()
			return
		case <-ctx.Done():
			return
		}
	}
}

// gaveUp has clients that do not take changed lists no longer waited for, until they list again.
func (s *Session) gaveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.took != s.tools {
			c.took = nil
		}
	}
}

// take returns the current list for a client.
func (s *Session) take(c *conn) *catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.took = s.tools
	close(s.taken)
	s.taken = make(chan struct{})
	return s.tools
}

// starting reports whether a server is starting.
func (w *work) starting() bool {
	return slices.ContainsFunc(w.Starters(), func(s core.Starter) bool { return len(s.Starting()) > 0 })
}

// watch looks at the tools until all servers have started.
func (s *Session) watch(w *work) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for again := true; again; {
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			return
		}
		again = w.starting()
		_ = s.look(w.ctx, w) // the next call reports it
	}
}

// look updates the list from the turn. A turn without tools of its own leaves it.
func (s *Session) look(ctx context.Context, w *work) error {
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	specs, err := w.Tools(ctx)
	if err == nil && specs != nil {
		s.List(specs)
	}
	return err
}

// enter returns the running turn, with a call in it: leave must follow. nil: no turn runs.
func (s *Session) enter() *work {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.running.Add(1)
	}
	return s.turn
}

func (w *work) leave() { w.running.Done() }

// within returns a context that ends with a call and with the turn.
func (w *work) within(call context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(w.ctx)
	unwatch := context.AfterFunc(call, func() { cancel(context.Cause(call)) })
	return ctx, func() {
		unwatch()
		cancel(nil)
	}
}

// current returns the list as it is now.
func (s *Session) current() *catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools
}
