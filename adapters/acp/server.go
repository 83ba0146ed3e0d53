package acp

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/creachadair/jrpc2"
	"go.uber.org/zap"

	"dragoman/adapters/clients"
	"dragoman/adapters/proto/acp"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/board"
)

// Options configure a server. Gateway and Principal are required.
type Options struct {
	Gateway   *core.Gateway
	Principal core.Principal // of the connection: the one its client acts for
	Profiles  core.Profiles  // of the connection; nil: the gateway's
	Board     board.Reader   // the gateway's Listing; nil: an empty one
	Log       *zap.Logger    // nil: nothing is logged
	Version   string         // of the gateway
	// Servers means that the gateway connects the MCP servers that a client adds to a session.
	// Without it they are kept, and the client gets one notice.
	Servers bool
	// Folder returns why a folder cannot be worked in; nil: every folder can be. A new session
	// needs one for each of its folders.
	Folder func(dir string) error
	// Providers can be directed by clients; nil: none, and the methods are not offered.
	Providers Providers
	// SignIn knows the keys of the providers; nil: there is nothing to sign in to.
	SignIn SignIn
	// Logins knows the logins of external agents; nil: there are none.
	Logins   Logins
	Recorder *wire.Recorder // records both directions; nil: none
}

// Server is the agent's side of one connection.
type Server struct {
	opts Options
	log  *zap.Logger
	conn *wire.Conn
	pump *pump.Pump
	wg   sync.WaitGroup // queues and the pump

	crew *pump.Queue // for requests that may wait and belong to no session of this connection

	commands  acp.CommandsUpdate // the commands last sent; of the pump's goroutine
	readings  atomic.Uint64      // counts how often commands were read
	terminals string             // prefix of the core's ids for this client's terminals

	// within calls a function that may wait, with the context of the connection.
	within func(func(context.Context))

	mu       sync.Mutex // guards the fields below
	peer     peer
	today    bool // the client is not one of August 2025
	sessions map[core.SessionID]*session
	going    map[*session]struct{}       // sessions that are being closed
	children map[core.SessionID]*session // of running tasks that are shown: all of them, or some calls
	auth     *acp.AuthStatus             // sent last; nil: the client has not asked for it
	warned   bool                        // the user knows that MCP servers are not connected
	left     bool                        // the client has
}

// New returns a server. Serve runs it.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Board == nil {
		o.Board = board.New()
	}
	s := &Server{
		opts: o, log: o.Log, terminals: rand.Text()[:8] + ":", peer: peer{client: anybody},
		sessions: map[core.SessionID]*session{}, going: map[*session]struct{}{},
		children: map[core.SessionID]*session{},
	}
	s.crew = pump.NewCrew(&s.wg, crewWidth)
	return s
}

// Serve speaks the protocol over in and out. It blocks until the client has left
// or ctx ends, and everything that it started has ended; both streams are closed
// then. Turns that were prompted over the connection are stopped when it ends.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return wire.NewConn(in, out, s.opts.Wire()).ServeFirst(ctx, func(string) wire.Protocol { return s })
}

// Wire returns the options of the connections that the server serves.
func (o Options) Wire() wire.Options {
	return wire.Options{
		Framing:  wire.Newline,
		Withdraw: wire.Withdrawal{Method: "$/cancel_request", Member: "requestId"},
		MaxOpen:  maxOpen,
		NullIDs:  true, // the protocol's RequestId may be null
		MaxBatch: -1,   // as the official libraries
		Recorder: o.Recorder,
		Panicked: func(method string, v any, stack []byte) {
			if o.Log != nil {
				o.Log.Error(
					"handler panicked",
					zap.String("method", method),
					zap.Any("panic", v),
					zap.ByteString("stack", stack),
				)
			}
		},
	}
}

// Begin implements wire.Protocol.
func (s *Server) Begin(ctx context.Context, conn *wire.Conn) (handle func(*wire.Call), end func()) {
	s.conn, s.pump = conn, pump.New(conn)
	s.flow("")
	ctx, stop := context.WithCancelCause(ctx)
	s.within = func(do func(context.Context)) { do(ctx) }
	s.wg.Go(func() {
		if err := s.pump.Run(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, wire.ErrClosed) {
			s.log.Warn("stopped writing to the client", zap.Error(err))
		}
	})
	s.wg.Go(func() { s.watch(ctx) })
	return s.greeted(s.methods(ctx).Handler(acp.NoMethod)), func() {
		s.leave()
		stop(core.ErrClientGone)
		s.wg.Wait()
	}
}

// flow sets how fast a client gets text and the past, by its name.
func (s *Server) flow(client string) {
	flows := clients.Of(client).Flow
	if s.pump.Queues, s.pump.Pace = !flows, pump.Gathering; flows {
		s.pump.Pace = 0
	}
}

func (s *Server) methods(ctx context.Context) wire.Methods {
	m := wire.Methods{
		"initialize":                wire.Async(s.initialize),
		"session/new":               wire.Async(later(s, ctx, s.newSession)),
		"session/load":              wire.Async(later(s, ctx, s.loadSession)),
		"session/resume":            wire.Async(later(s, ctx, s.resumeSession)),
		"session/fork":              wire.Async(later(s, ctx, s.forkSession)),
		"session/list":              wire.Async(later(s, ctx, s.listSessions)),
		"session/close":             wire.Async(later(s, ctx, s.closeSession)),
		"session/delete":            wire.Async(later(s, ctx, s.deleteSession)),
		"session/set_title":         wire.Async(later(s, ctx, s.setTitle)),
		"session/status":            wire.Async(later(s, ctx, s.status)),
		"session/archive":           wire.Async(later(s, ctx, s.archiveSession)),
		"session/unarchive":         wire.Async(later(s, ctx, s.unarchiveSession)),
		"session/prompt":            wire.Async(s.prompt),
		"session/cancel":            wire.Async(s.cancel),
		"session/set_mode":          wire.Async(s.setMode),
		"session/set_model":         wire.Async(s.setModel),
		"session/set_config_option": wire.Async(s.setOption),
		"$/cancel_request":          wire.Async(s.cancelRequest),
	}
	maps.Copy(m, s.providerMethods(ctx))
	maps.Copy(m, s.signInMethods(ctx))
	return m
}

// greeted refuses requests, and ignores notifications, that come before initialize.
func (s *Server) greeted(handle func(*wire.Call)) func(*wire.Call) {
	begun := false // of the reading goroutine
	return func(call *wire.Call) {
		if begun = begun || call.Method == "initialize"; begun {
			handle(call)
			return
		}
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidRequest, "%.100s came before initialize", call.Method))
	}
}

const (
	// maxOpen limits the requests that may be open at a time. Each may become a session that
	// is kept for the client.
	maxOpen = 1024
	// crewWidth limits the requests handled concurrently, of those whose handlers may wait.
	crewWidth = 16
)

// later runs a handler that may wait in parallel to the reading goroutine. Its order relative to
// calls of other sessions does not matter; calls of one session go through that session's queue.
// A nil result means that the handler answers.
//
// Its place in the crew is free again when the pump has written the answer, which it does only
// for a client that reads. Otherwise sessions would be kept for answers that nobody reads.
func later[P any](
	s *Server,
	ctx context.Context,
	f func(context.Context, *wire.Call, P) error,
) func(*wire.Call, P) error {
	return func(call *wire.Call, p P) error {
		s.crew.Go(func() {
			if ctx.Err() != nil {
				return // the connection has ended
			}
			if err := f(ctx, call, p); err != nil {
				call.Reply(nil, s.wireError(err))
			}
			behind := make(chan struct{})
			s.pump.Do(func() { close(behind) })
			select {
			case <-behind:
			case <-ctx.Done():
			}
		})
		return nil
	}
}

// leave stops the turns prompted over the connection and lets go of its sessions.
func (s *Server) leave() {
	s.mu.Lock()
	s.left = true
	list := make([]*session, 0, len(s.sessions))
	for _, sess := range s.sessions {
		list = append(list, sess)
	}
	for sess := range s.going {
		list = append(list, sess)
	}
	clear(s.sessions)
	clear(s.going)
	children := slices.Collect(maps.Values(s.children))
	clear(s.children)
	s.mu.Unlock()
	for _, sess := range list {
		sess.leave()
	}
	for _, c := range children {
		c.att.Close()
	}
}

// session finds a session of this connection.
func (s *Server) session(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sess := s.sessions[core.SessionID(id)]; sess != nil {
		return sess, nil
	}
	return nil, notFound(id)
}

// current returns the session's present state on the connection; it may have been loaded again.
func (s *Server) current(sess *session) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.sessions[sess.id]; now != nil {
		return now
	}
	return sess
}

// who returns the client's description of itself.
func (s *Server) who() peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peer
}
