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

	"dragoman/adapters/eca/offer"
	"dragoman/adapters/eca/refer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/child"
	"dragoman/core/control"
)

// Options configure a server. Gateway and Principal are required.
type Options struct {
	Gateway   *core.Gateway
	Principal core.Principal // of the connection: the one its client acts for
	Profiles  core.Profiles  // of the connection; nil: the gateway's
	Board     board.Reader   // the gateway's Listing; nil: an empty one
	Log       *zap.Logger    // nil: nothing is logged
	Version   string         // of the gateway
	Cwd       string         // the workspace of a client without folders; "": the process's folder
	// Welcome returns the text of an empty chat; nil: a plain one. The profile is nil if the
	// configuration has an error, which follows the text.
	Welcome  func(*core.Profile) string
	NewID    func() string      // for chats without an id of the client; nil: a random UUID
	Alive    func(pid int) bool // reports whether a process lives; nil: ask the system
	Recorder *wire.Recorder     // records both directions; nil: none
	// Configure receives the client's initialization options, as the lowest layer of the
	// configuration, before the profile is asked for the first time. It must be quick. Its error
	// is shown to the user and fails nothing; nil: the options are ignored.
	Configure func(json.RawMessage) error
	// Shutdown ends everything that runs for the connection and stores it when the client asks
	// for that; Serve waits for it. nil: only the turns of the connection are ended.
	Shutdown func(context.Context) error
}

// Server is the server's side of one connection.
type Server struct {
	opts Options
	log  *zap.Logger
	conn *wire.Conn
	pump *pump.Pump
	// within calls a function with the connection's context, for work that a session's events
	// cause.
	within func(func(context.Context))
	end    context.CancelCauseFunc // ends the reading, and with it the connection
	wg     sync.WaitGroup          // every goroutine of the server
	setups *pump.Queue             // the work on MCP servers
	typing refer.Typing            // what is found for the user

	known     *offer.Known
	told      servers           // of the pump's goroutine
	failures  map[string]string // the reason shown to the user, by failed server; of the pump's goroutine
	mentioned string            // the last message of its kind; of the pump's goroutine
	prompted  *chat             // the chat that was prompted last; nil: none was; of the pump's goroutine

	listed    *eca.ChatConfig // the choices last announced, in whatever chat; of the pump's goroutine
	announced *offer.Offer    // the offer last sent to the client; of the pump's goroutine
	state     atomic.Int32    // a phase
	spoken    atomic.Bool     // the client has said something after it was initialized
	down      chan struct{}   // closed when shutdown has been answered

	mu      sync.Mutex // guards the fields below
	peer    peer
	folders []string // named by the client
	roots   []string // the same, or the process's folder; never empty after initialize
	offer   *offer.Offer
	chosen  offer.Choice // for chats without a choice of their own
	// selectedAgent is the agent that was selected last, in the client's words; "": the default.
	selectedAgent string
	chats         map[core.SessionID]*chat
	logins        map[string]string // by provider: the way to log in that was chosen last
	board         boardWatch
	hint          string             // text to be shown once in a chat; "": none
	completing    *pendingCompletion // the last one requested; nil: none yet
	rewrites      int                // the number of running ones
}

// phase is the state of a connection.
type phase = int32

const (
	phaseNew phase = iota
	phaseReady
	phaseDown // shutdown was requested
)

// pace is the interval between parts of a text for a client that has not read the last one: the Emacs
// client takes a millisecond for each message, however short.
const pace = 20 * time.Millisecond

// Reasons for ending a connection from this side.
var (
	errExit  = errors.New("the client asked to exit")
	errAlone = errors.New("the client's process has ended")
)

// ErrNoShutdown is the error for a client that left without a shutdown. The protocol requires
// another exit code then.
var ErrNoShutdown = errors.New("the client left without asking to shut down")

// New returns a server. Serve runs it, once.
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
		offer:    offer.New(nil),
		known:    &offer.Known{},
		told:     servers{},
		failures: map[string]string{},
		chats:    map[core.SessionID]*chat{},
	}
	s.setups = pump.NewQueue(&s.wg)
	return s
}

// Serve speaks the protocol over in and out. It blocks until the client has left, its process has
// ended, or ctx ends, and everything that it started has ended; both streams are closed then.
// Turns that were prompted over the connection are stopped when it ends. It returns nil if the
// client has sent shutdown before it left, and otherwise ErrNoShutdown.
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
			if call.Method != eca.MethodInitialize && call.Method != eca.MethodInitialized {
				s.spoken.Store(true)
			}
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
	left(core.ErrClientGone) // it also stops the turns
	s.wg.Wait()
	s.typing.Drop()
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

// noParams is the params type of methods without params, whatever a client sends.
type noParams struct{}

// UnmarshalJSON accepts anything.
func (*noParams) UnmarshalJSON([]byte) error { return nil }

// codeNotReady is LSP's code for requests before initialize.
const codeNotReady jrpc2.Code = -32002

// admits refuses requests before initialize and after shutdown.
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

// heard answers a request that should have been a notification: a client that sends an id waits
// for an answer. An invalid one has its answer already.
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

// chatOf finds a chat, or creates one that is not attached to a session yet.
func (s *Server) chatOf(id string) *chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[core.SessionID(id)]
	if c == nil {
		c = s.newChat(core.SessionID(id))
		s.chats[c.id] = c
	}
	if c.child { // the client may only approve its calls
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

// leave stops the turns that were prompted over the connection, and lets go of the sessions.
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

// newID returns a UUID of version 4.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
