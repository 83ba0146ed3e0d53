package acp

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/creachadair/jrpc2"
	"go.uber.org/zap"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// Options are a server's circumstances. Gateway is required.
type Options struct {
	Gateway *core.Gateway
	Log     *zap.Logger // nil: nothing is logged
	Version string      // of the gateway
	Cwd     string      // the folder of threads; "": the process's
	// Servers says that the gateway connects the tool servers that a client gives to a
	// session. Without it they are kept, and the client is told once.
	Servers bool
	// Providers are those that clients may direct; nil: none, and that is not offered.
	Providers Providers
	// Panicked, Recorder: see wire.Options.
	Recorder *wire.Recorder
}

// Server is the agent's side of one connection.
type Server struct {
	opts Options
	log  *zap.Logger
	conn *wire.Conn
	pump *pump.Pump
	wg   sync.WaitGroup // queues and the pump

	crew *pump.Queue // for requests that may wait and belong to no session of this connection

	threadQueue *pump.Queue // for what concerns threads

	commands  acp.CommandsUpdate // that were told last; of the pump's goroutine alone
	heard     bool               // the first message; of the reading goroutine alone
	terminals string             // prefix of the core's ids for this client's terminals

	mu       sync.Mutex // guards the fields below
	peer     peer
	sessions map[core.SessionID]*session
	going    map[*session]struct{} // those that are being closed
	warned   bool                  // that tool servers are not connected

	threads map[core.SessionID]*thread
	left    bool // the client has
}

// New returns a server. Serve makes it go.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	s := &Server{
		opts: o, log: o.Log, terminals: rand.Text()[:8] + ":", peer: peer{client: anybody},
		sessions: map[core.SessionID]*session{}, going: map[*session]struct{}{}, threads: map[core.SessionID]*thread{},
	}
	s.crew = pump.NewCrew(&s.wg, crewWidth)
	return s
}

// Serve speaks the protocol over in and out. It blocks until the client has left
// or ctx ends, and everything that it started has ended; both streams are closed
// then. Turns that were prompted over the connection are stopped when it ends.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	s.conn = wire.NewConn(in, out, wire.Options{
		Framing: wire.Newline, Withdraw: wire.Withdrawal{Method: "$/cancel_request", Member: "requestId"}, MaxOpen: maxOpen, Recorder: s.opts.Recorder,
		Panicked: func(method string, v any, stack []byte) {
			s.log.Error("handler panicked", zap.String("method", method), zap.Any("panic", v), zap.ByteString("stack", stack))
		},
	})
	s.pump = pump.New(s.conn.Writer())
	s.threadQueue = pump.NewQueue(&s.wg)
	ctx, end := context.WithCancelCause(ctx)
	s.wg.Go(func() {
		if err := s.pump.Run(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, wire.ErrClosed) {
			s.log.Warn("stopped writing to the client", zap.Error(err))
		}
	})
	s.wg.Go(func() { s.watch(ctx) })
	methods := s.methods(ctx)
	err := s.conn.Serve(ctx, func(call *wire.Call) { s.handle(methods, call) })
	s.leave()
	end(core.ErrClientGone)
	s.wg.Wait()
	return err
}

func (s *Server) methods(ctx context.Context) wire.Methods {
	m := wire.Methods{
		"initialize":                wire.Async(s.initialize),
		"authenticate":              wire.Async(s.authenticate),
		"session/new":               wire.Async(later(s, ctx, s.newSession)),
		"session/load":              wire.Async(later(s, ctx, s.loadSession)),
		"session/resume":            wire.Async(later(s, ctx, s.resumeSession)),
		"session/fork":              wire.Async(later(s, ctx, s.forkSession)),
		"session/list":              wire.Async(later(s, ctx, s.listSessions)),
		"session/close":             wire.Async(later(s, ctx, s.closeSession)),
		"session/delete":            wire.Async(later(s, ctx, s.deleteSession)),
		"session/prompt":            wire.Async(s.prompt),
		"session/cancel":            wire.Async(s.cancel),
		"session/set_mode":          wire.Async(s.setMode),
		"session/set_model":         wire.Async(s.setModel),
		"session/set_config_option": wire.Async(s.setOption),
		"$/cancel_request":          wire.Async(s.cancelRequest),
	}
	maps.Copy(m, s.providerMethods(ctx))
	maps.Copy(m, s.threadMethods(ctx))
	return m
}

// handle is the connection's handler. The first message tells which protocol the
// client speaks where we speak first.
func (s *Server) handle(methods wire.Methods, call *wire.Call) {
	if !s.heard {
		s.heard = true
		s.conn.SetBare(isThreadMethod(call.Method))
	}
	if _, known := methods[call.Method]; !known {
		call.Reply(nil, jrpc2.Errorf(jrpc2.MethodNotFound, "Method not found - '%.100s'", call.Method))
		return
	}
	methods.Handle(call)
}

const (
	// maxOpen limits the requests that may be open at a time. Each may become a session that
	// is kept for the client.
	maxOpen = 1024
	// crewWidth limits the requests handled concurrently, of those whose handlers may wait.
	crewWidth = 16
)

// later runs a handler that may wait beside the reading goroutine. Its order
// against other sessions' calls does not matter; what belongs to one session goes
// through that session's queue. A nil result means that the handler answers.
//
// Its place in the crew is free again when the pump has written the answer, which it does
// only for a client that reads. Otherwise sessions would be kept for answers that nobody
// takes.
func later[P any](s *Server, ctx context.Context, f func(context.Context, *wire.Call, P) error) func(*wire.Call, P) error {
	return func(call *wire.Call, p P) error {
		s.crew.Go(func() {
			if ctx.Err() != nil {
				return // the connection has ended
			}
			if err := f(ctx, call, p); err != nil {
				call.Reply(nil, wireError(err))
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

// leave stops what was prompted over the connection and lets its sessions go.
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
	threads := slices.Collect(maps.Values(s.threads))
	clear(s.sessions)
	clear(s.going)
	clear(s.threads)
	s.mu.Unlock()
	for _, sess := range list {
		sess.leave()
	}
	for _, t := range threads {
		t.leave()
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

// current is what stands now for a session that may have been loaded again.
func (s *Server) current(sess *session) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.sessions[sess.id]; now != nil {
		return now
	}
	return sess
}

func (s *Server) hasLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// who is what the client has said of itself.
func (s *Server) who() peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peer
}
