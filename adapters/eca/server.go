package eca

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"
	"go.uber.org/zap"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/child"
	"dragoman/core/control"
)

// Options are a server's circumstances. Gateway and Principal are required.
type Options struct {
	Gateway   *core.Gateway
	Principal core.Principal // of the connection: on whose behalf its client acts
	Profiles  core.Profiles  // of the connection; nil: the gateway's
	Board     board.Reader   // the gateway's Listing; nil: an empty one
	Log       *zap.Logger    // nil: nothing is logged
	Version   string         // of the gateway
	Cwd       string         // the workspace of a client that names none; "": the process's folder
	// Welcome is the text of an empty chat; nil: a plain one. The profile is nil
	// where the configuration is wrong: what is wrong is said behind the text.
	Welcome  func(*core.Profile) string
	NewID    func() string      // of chats that have no id of the client's; nil: a random UUID
	Alive    func(pid int) bool // whether a process lives; nil: the system is asked
	Recorder *wire.Recorder     // takes down both directions; nil: none
	// Configure takes the client's initialization options, as the lowest layer of the
	// configuration, before the profile is asked for the first time. It must be quick.
	// Its error is for the user and fails nothing; nil: they are not looked at.
	Configure func(json.RawMessage) error
	// Shutdown ends all that runs behind the connection and stores it, when the
	// client asks for that; Serve waits for it. nil: only the turns of the connection
	// are ended.
	Shutdown func(context.Context) error
}

// Server is the server's side of one connection.
type Server struct {
	opts Options
	log  *zap.Logger
	conn *wire.Conn
	pump *pump.Pump
	// within does something with the connection's context, for what happens because of
	// what a session tells.
	within func(func(context.Context))
	end    context.CancelCauseFunc // ends the reading, and so the connection
	wg     sync.WaitGroup          // every goroutine of the server
	setups *pump.Queue             // what is to be done with MCP servers

	told      servers           // of the pump's goroutine
	failures  map[string]string // the reason the user was given, by failed server; of the pump's goroutine
	mentioned string            // the last message of its kind that was shown; of the pump's goroutine

	announced *offer        // what the client was told last; of the pump's goroutine
	state     atomic.Int32  // a phase
	down      chan struct{} // closed when shutdown has been answered

	mu         sync.Mutex // guards the fields below
	peer       peer
	folders    []string // that the client names
	roots      []string // the same, or the process's folder; never empty behind initialize
	offer      *offer
	chosen     choice // for chats that have none of their own
	chats      map[core.SessionID]*chat
	logins     map[string]string // by provider: the way to log in that was chosen last
	board      watched
	hint       string      // what the user must hear once in a chat; "": nothing
	completing *completing // that was asked for last; nil: none was
	rewrites   int         // under way
}

// phase is where a connection stands.
type phase = int32

const (
	phaseNew phase = iota
	phaseReady
	phaseDown // shutdown was asked for
)

// pace is how long the client hears nothing more of a text after a part of it: the
// Emacs client takes a millisecond for each message, be it ever so short.
const pace = 20 * time.Millisecond

// Why a connection is ended from this side.
var (
	errExit  = errors.New("the client asked to exit")
	errAlone = errors.New("the client's process has ended")
)

// ErrNoShutdown says that a client left without having sent shutdown before. The
// protocol wants another exit code then.
var ErrNoShutdown = errors.New("the client left without asking to shut down")

// New returns a server. Serve makes it go, once.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Board == nil {
		o.Board = board.New()
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.Alive == nil {
		o.Alive = child.Alive
	}
	s := &Server{
		opts:     o,
		log:      o.Log,
		down:     make(chan struct{}),
		offer:    newOffer(nil),
		told:     servers{},
		failures: map[string]string{},
		chats:    map[core.SessionID]*chat{},
	}
	s.setups = pump.NewQueue(&s.wg)
	return s
}

// Serve speaks the protocol over in and out. It blocks until the client has left,
// its process has ended, or ctx ends, and everything that it started has ended;
// both streams are closed then. Turns that were prompted over the connection are
// stopped when it ends. It returns nil if the client has asked to shut down before
// it left, and ErrNoShutdown if it has not.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	s.conn = wire.NewConn(in, out, wire.Options{
		Framing: wire.ContentLength, MaxBatch: -1, Recorder: s.opts.Recorder,
		Panicked: func(method string, v any, stack []byte) {
			s.log.Error("handler panicked", zap.String("method", method), zap.Any("panic", v), zap.ByteString("stack", stack))
		},
	})
	s.pump = pump.New(s.conn)
	s.pump.Pace = pace
	ctx, left := context.WithCancelCause(ctx)
	s.within = func(do func(context.Context)) { do(ctx) }
	reading, end := context.WithCancelCause(ctx)
	s.end = end
	s.wg.Go(func() {
		if err := s.pump.Run(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, wire.ErrClosed) {
			s.log.Warn("stopped writing to the client", zap.Error(err))
		}
	})
	methods := s.methods(ctx)
	err := s.conn.Serve(reading, func(call *wire.Call) {
		call.Params = camel(call.Params)
		if err := s.admits(call); err != nil {
			call.Reply(nil, err)
		} else {
			methods.Handle(call)
			s.heard(ctx, call)
		}
	})
	if errors.Is(err, errExit) || errors.Is(err, errAlone) {
		err = nil
	}
	if err == nil && s.state.Load() != phaseDown {
		err = ErrNoShutdown
	}
	end(nil)
	left(core.ErrClientGone) // it stops the turns, too
	s.wg.Wait()
	s.leave()
	return err
}

func (s *Server) methods(ctx context.Context) wire.Methods {
	return wire.Methods{
		eca.MethodInitialize:     wire.Async(with(ctx, s.initialize)),
		eca.MethodInitialized:    wire.Async(with(ctx, s.initialized)),
		eca.MethodShutdown:       wire.Async(with(ctx, s.shutdown)),
		eca.MethodExit:           wire.Async(with(ctx, s.exit)),
		eca.MethodFoldersChanged: wire.Async(with(ctx, s.foldersChanged)),

		eca.MethodPrompt:     wire.Async(with(ctx, s.prompt)),
		eca.MethodPromptStop: wire.Async(with(ctx, s.promptStop)),
		eca.MethodApprove:    wire.Async(with(ctx, s.approve)),
		eca.MethodReject:     wire.Async(with(ctx, s.reject)),

		eca.MethodList:   wire.Async(with(ctx, s.list)),
		eca.MethodOpen:   wire.Async(with(ctx, s.open)),
		eca.MethodDelete: wire.Async(with(ctx, s.delete)),
		eca.MethodUpdate: wire.Async(with(ctx, s.update)),
		eca.MethodClear:  wire.Async(with(ctx, s.clear)),

		eca.MethodPromptSteer: wire.Async(with(ctx, s.promptSteer)),
		eca.MethodSteerRemove: wire.Async(with(ctx, s.promptSteerRemove)),
		eca.MethodAddFlag:     wire.Async(with(ctx, s.addFlag)),
		eca.MethodRemoveFlag:  wire.Async(with(ctx, s.removeFlag)),
		eca.MethodRollback:    wire.Async(with(ctx, s.rollback)),
		eca.MethodFork:        wire.Async(with(ctx, s.fork)),
		eca.MethodHistory:     wire.Async(with(ctx, s.history)),

		eca.MethodModelSelected:    wire.Async(with(ctx, s.modelSelected)),
		eca.MethodAgentSelected:    wire.Async(with(ctx, s.agentSelected)),
		eca.MethodBehaviorSelected: wire.Async(with(ctx, s.agentSelected)),

		eca.MethodQueryContext:  wire.Async(with(ctx, s.queryContext)),
		eca.MethodQueryFiles:    wire.Async(with(ctx, s.queryFiles)),
		eca.MethodQueryCommands: wire.Async(with(ctx, s.queryCommands)),
		eca.MethodProvidersList: wire.Async(with(ctx, s.providersList)),
		eca.MethodJobsList:      wire.Async(with(ctx, s.jobsList)),

		eca.MethodProvidersLogin:  wire.Async(with(ctx, s.providersLogin)),
		eca.MethodProvidersInput:  wire.Async(with(ctx, s.providersInput)),
		eca.MethodProvidersLogout: wire.Async(with(ctx, s.providersLogout)),
		eca.MethodJobsKill:        wire.Async(with(ctx, s.jobsKill)),
		eca.MethodJobsReadOutput:  wire.Async(with(ctx, s.jobsReadOutput)),

		eca.MethodCompletion: wire.Async(with(ctx, s.completion)),
		eca.MethodRewrite:    wire.Async(with(ctx, s.rewrite)),

		eca.MethodServerStart:   wire.Async(with(ctx, s.server("started", control.Start{}))),
		eca.MethodServerStop:    wire.Async(with(ctx, s.server("stopped", control.Stop{}))),
		eca.MethodServerConnect: wire.Async(with(ctx, s.serverConnect)),
		eca.MethodServerLogout:  wire.Async(with(ctx, s.server("logged out of", control.Logout{}))),
		eca.MethodServerDisable: wire.Async(with(ctx, s.server("disabled", control.Disable{}))),
		eca.MethodServerEnable:  wire.Async(with(ctx, s.server("enabled", control.Enable{}))),
		eca.MethodServerUpdate:  wire.Async(with(ctx, s.serverUpdate)),
		eca.MethodServerAdd:     wire.Async(with(ctx, s.serverAdd)),
		eca.MethodServerRemove:  wire.Async(with(ctx, s.serverRemove)),
	}
}

// with gives a handler the connection's context.
func with[P any](ctx context.Context, f func(context.Context, *wire.Call, P) error) func(*wire.Call, P) error {
	return func(call *wire.Call, p P) error { return f(ctx, call, p) }
}

// none is the params of methods that need none, whatever a client sends.
type none struct{}

// UnmarshalJSON takes anything.
func (*none) UnmarshalJSON([]byte) error { return nil }

// codeNotReady is LSP's code for what comes before initialize.
const codeNotReady jrpc2.Code = -32002

// admits refuses what comes before initialize or behind shutdown.
func (s *Server) admits(call *wire.Call) error {
	switch s.state.Load() {
	case phaseNew:
		if call.Method != eca.MethodInitialize && call.Method != eca.MethodExit && call.Method != eca.MethodShutdown {
			return jrpc2.Errorf(codeNotReady, "send initialize first")
		}
	case phaseDown:
		if call.Method != eca.MethodExit {
			return jrpc2.Errorf(jrpc2.InvalidRequest, "the server is shutting down")
		}
	}
	return nil
}

// heard answers a request that should have been a notification: whoever sends an id
// waits for an answer. One that was wrong has its answer.
func (s *Server) heard(ctx context.Context, call *wire.Call) {
	if call.IsNotification() {
		return
	}
	switch call.Method {
	case eca.MethodInitialized, eca.MethodExit, eca.MethodFoldersChanged, eca.MethodPromptStop, eca.MethodApprove, eca.MethodReject,
		eca.MethodPromptSteer, eca.MethodSteerRemove, eca.MethodModelSelected, eca.MethodAgentSelected, eca.MethodBehaviorSelected,
		eca.MethodServerStart, eca.MethodServerStop, eca.MethodServerConnect, eca.MethodServerLogout, eca.MethodServerDisable, eca.MethodServerEnable:
		s.reply(ctx, call, nil, nil)
	}
}

// chat finds a chat of this connection; nil if the client has not named it yet.
func (s *Server) chat(id string) *chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chats[core.SessionID(id)]
}

// chatOf finds a chat, or makes one that is not attached to any session yet.
func (s *Server) chatOf(id string) *chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[core.SessionID(id)]
	if c == nil {
		c = s.newChat(core.SessionID(id))
		s.chats[c.id] = c
	}
	if c.child { // nothing but its approvals is the client's
		return s.newChat(c.id)
	}
	return c
}

// allChats lists the chats of this connection.
func (s *Server) allChats() []*chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*chat, 0, len(s.chats))
	for _, c := range s.chats {
		list = append(list, c)
	}
	return list
}

// leave stops what was prompted over the connection and lets the sessions go.
// Nothing else runs any more.
func (s *Server) leave() {
	for _, c := range s.allChats() {
		att := c.att.Load()
		if att == nil {
			continue
		}
		for pr := range c.running {
			_ = att.Cancel(context.Background(), pr.turn, core.ErrClientGone) // a turn that has ended is no error
		}
		att.Close()
	}
}

// newID makes a UUID of version 4.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
