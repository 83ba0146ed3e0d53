package thread

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/creachadair/jrpc2"
	"go.uber.org/zap"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// Options configure a server. Gateway and Principal are required.
type Options struct {
	Gateway   *core.Gateway
	Principal core.Principal // of the connection: the one its client acts for
	Profiles  core.Profiles  // of the connection; nil: the gateway's
	Log       *zap.Logger    // nil: nothing is logged
	Cwd       string         // the folder of threads; "": the process's
}

// Server is the agent's side of one connection. It is a wire.Protocol.
type Server struct {
	opts  Options
	log   *zap.Logger
	conn  *wire.Conn
	pump  *pump.Pump
	queue *pump.Queue    // for the peer's requests
	wg    sync.WaitGroup // the queue and the pump

	mu      sync.Mutex // guards the fields below
	threads map[core.SessionID]*thread
	left    bool // the peer has
}

// New returns a server. It serves the connection that Begin is given.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	s := &Server{opts: o, log: o.Log, threads: map[core.SessionID]*thread{}}
	s.queue = pump.NewQueue(&s.wg)
	return s
}

// Begin implements wire.Protocol. Messages sent from now on have no "jsonrpc". Turns that were
// prompted over the connection are stopped when it ends.
func (s *Server) Begin(ctx context.Context, conn *wire.Conn) (handle func(*wire.Call), end func()) {
	s.conn, s.pump = conn, pump.New(conn)
	conn.SetBare(true)
	ctx, stop := context.WithCancelCause(ctx)
	s.wg.Go(func() {
		if err := s.pump.Run(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, wire.ErrClosed) {
			s.log.Warn("stopped writing to the client", zap.Error(err))
		}
	})
	return s.methods(ctx).Handler(acp.NoMethod), func() {
		s.leave()
		stop(core.ErrClientGone)
		s.wg.Wait()
	}
}

// Speaks reports whether a method belongs to this protocol.
func Speaks(name string) bool {
	switch name {
	case "getThreads", "createThread", "openThread", "getThreadEntries", "sendMessage", "streamMessageChunk",
		"readTextFile", "readBinaryFile", "stat", "globSearch":
		return true
	}
	return false
}

func (s *Server) methods(ctx context.Context) wire.Methods {
	return wire.Methods{
		"getThreads":         wire.Async(queued(s, ctx, s.getThreads)),
		"createThread":       wire.Async(queued(s, ctx, s.createThread)),
		"openThread":         wire.Async(threaded(s, ctx, s.openThread, func(p acp.ThreadID) string { return p.ThreadID })),
		"getThreadEntries":   wire.Async(threaded(s, ctx, s.getThreadEntries, func(p acp.ThreadID) string { return p.ThreadID })),
		"sendMessage":        wire.Async(threaded(s, ctx, s.sendMessage, func(p acp.SendMessage) string { return p.ThreadID })),
		"streamMessageChunk": wire.Async(threaded(s, ctx, s.chunkStreamed, func(p acp.StreamMessageChunk) string { return p.ThreadID })),
		"readTextFile":       wire.Async(threaded(s, ctx, s.readTextFile, func(p acp.ThreadFile) string { return p.ThreadID })),
		"readBinaryFile":     wire.Async(threaded(s, ctx, s.readBinaryFile, func(p acp.ThreadFile) string { return p.ThreadID })),
		"stat":               wire.Async(threaded(s, ctx, s.stat, func(p acp.ThreadFile) string { return p.ThreadID })),
		"globSearch":         wire.Async(threaded(s, ctx, s.globSearch, func(p acp.GlobSearch) string { return p.ThreadID })),
	}
}

// queued runs a handler in parallel to the reading goroutine; requests about threads are handled
// in the order in which they were read. A nil result means that the handler answers.
func queued[P any](
	s *Server,
	ctx context.Context,
	f func(context.Context, *wire.Call, P) error,
) func(*wire.Call, P) error {
	return func(call *wire.Call, p P) error {
		s.queue.Go(func() {
			if err := f(ctx, call, p); err != nil {
				call.Reply(nil, wireError(err))
			}
		})
		return nil
	}
}

// threaded is queued for a handler of one thread, which is opened if necessary.
func threaded[P any](
	s *Server,
	ctx context.Context,
	f func(context.Context, *thread, *wire.Call, P) error,
	id func(P) string,
) func(*wire.Call, P) error {
	return queued(s, ctx, func(ctx context.Context, call *wire.Call, p P) error {
		t, err := s.thread(ctx, core.SessionID(id(p)))
		if err != nil {
			return err
		}
		return f(ctx, t, call, p)
	})
}

// leave stops the turns prompted over the connection and lets go of its threads.
func (s *Server) leave() {
	s.mu.Lock()
	s.left = true
	threads := slices.Collect(maps.Values(s.threads))
	clear(s.threads)
	s.mu.Unlock()
	for _, t := range threads {
		t.leave()
	}
}

func (s *Server) hasLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// cwd returns the folder of threads.
func (s *Server) cwd() (string, error) {
	if s.opts.Cwd != "" {
		return s.opts.Cwd, nil
	}
	return os.Getwd()
}

// wireError returns the error object for an error of the core. It has no data: clients show the
// message alone.
func wireError(err error) error {
	var coded *jrpc2.Error
	switch {
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, core.ErrNotFound):
		return jrpc2.Errorf(acp.CodeNotFound, "there is no such thread")
	}
	return jrpc2.Errorf(jrpc2.InternalError, "%s", err.Error())
}
