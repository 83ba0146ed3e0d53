package mcp

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"dragoman/adapters/mcp/edge"
	"dragoman/adapters/mcp/loan"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/board"
)

// DefaultElicitationTimeout is the time that a client's user has for an approval if [Settings]
// set none.
const DefaultElicitationTimeout = 10 * time.Minute

// Settings are the options of a configuration for approvals.
type Settings struct {
	// AllowAuto admits approvals:"auto": calls that would be asked about are allowed.
	AllowAuto bool
	// ModelAnswers lets the calling model pass on by agent_approve that the user allows a call,
	// if the client does not ask its user itself. The model can never allow a call that only a
	// person may allow, and it can always reject.
	ModelAnswers bool
	// ElicitationTimeout is the time that a client's user has for an approval; then it is
	// rejected. The client's model has the same time for an answer. 0: DefaultElicitationTimeout.
	ElicitationTimeout time.Duration
	// Workspaces are the folders that sessions may work in if Options.Roots is empty, absolute.
	// None: the client's folders.
	Workspaces []string
	// Agents are the names of the agents that can be chosen in every folder, the default one first.
	Agents []string
}

// asking returns the time that a client's user has for an approval, and its model for an answer.
func (s *Server) asking() time.Duration {
	return cmp.Or(s.opts.Settings().ElicitationTimeout, DefaultElicitationTimeout)
}

// Options configure a server. Gateway is required, and Principal for Serve.
type Options struct {
	Gateway   *core.Gateway
	Principal core.Principal // of the client that Serve serves: the one it acts for
	Profiles  core.Profiles  // of all clients; nil: the gateway's
	Board     board.Reader   // the gateway's Listing; nil: an empty one
	Log       *zap.Logger    // nil: nothing is logged
	Version   string         // of the gateway

	// Roots are the folders that sessions may work in. Without any they are the client's, if it
	// reports them, and otherwise Cwd.
	Roots []string
	// Cwd is the process's directory and Home the user's; a session never gets Home, or the root
	// of a file system, as a default.
	Cwd, Home string

	// Settings returns the configured options. It is called when they are needed and never before
	// initialize is answered; nil: the zero Settings. It must be quick.
	Settings func() Settings
	// Look is called at the beginning of each call of a tool, and before the tools are listed, so
	// that Settings returns the current options; nil: Settings needs no such call.
	Look func()

	// Expand returns the text that a command of the workspace or the user means; ok is false for
	// one that only the agent can carry out. nil: none can be expanded.
	Expand func(ctx context.Context, roots []string, name string, args map[string]string) (text string, ok bool, err error)

	Instructions string         // for the calling model; "": DefaultInstructions
	Recorder     *wire.Recorder // records both directions of a pipe; nil: none

	Extras
}

// Extras lists features that a server offers besides the agent, in the same way. The zero value has
// none.
type Extras struct {
	Extend       func(*mcp.Server)                                     // adds tools, prompts and resources
	Capabilities func(*mcp.ServerCapabilities)                         // changes the declared capabilities
	Tasks        func(id string) Task                                  // finds a task by id; nil: no such task
	Complete     func(*mcp.CompleteParams) (*mcp.CompleteResult, bool) // completes arguments
	Subscribe    func(uri string) bool                                 // reports whether clients can subscribe to a resource
}

// DefaultInstructions are the calling model's instructions for the tools. Clients show a model about 2 KiB
// of a server's, and those of other servers may follow these.
const DefaultInstructions = `A session is a conversation with a coding agent in one directory.
agent_prompt starts a session, or continues the one of session_id.
Call the tool that a result names as next, with the same ids, until the turn has ended.
Ask the user about each pending approval and question, then call agent_approve; never decide for the user.
session_list and session_get find earlier sessions. Transcripts and changes are resources: dragoman://session/ID/transcript, dragoman://session/ID/turn/TURN/diff.`

// Server serves MCP clients. It may serve several at once.
type Server struct {
	opts  Options
	log   *zap.Logger
	key   cipher.AEAD // seals the state that a client of 2026-07-28 brings back
	names []byte      // derives the Caller from a client's name

	loans *loan.Ledger // the models of clients
}

// New returns a server. Serve runs it.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Board == nil {
		o.Board = board.New()
	}
	o.Instructions = cmp.Or(o.Instructions, DefaultInstructions)
	if o.Look == nil {
		o.Look = func() {}
	}
	if o.Settings == nil {
		o.Settings = func() Settings { return Settings{} }
	}
	s := &Server{opts: o, log: o.Log, key: newKey(), names: []byte(rand.Text())}
	s.loans = loan.New(o.Gateway, s.asking)
	return s
}

// newKey returns a key of this process: no other process can open data sealed with it.
func newKey() cipher.AEAD {
	key := make([]byte, 32)
	rand.Read(key) //nolint:errcheck // it never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // not with 32 bytes
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // not with AES
	}
	return aead
}

// Serve speaks the protocol over in and out. It blocks until the client has left or ctx ends, and
// everything that it started has ended; both streams are closed then. Turns continue without the
// client: they belong to the gateway.
//
// It returns nil when the client has left, in whatever way, the cause of ctx when that has ended,
// and otherwise the error.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return s.ServeFor(ctx, s.opts.Principal, in, out, nil)
}

// ServeFor is Serve for a client that the caller has admitted, under a name of its own. works
// reports to the caller whether work continues for the client; nil: it need not know.
func (s *Server) ServeFor(ctx context.Context, p core.Principal, in io.ReadCloser, out io.WriteCloser, works *wire.Works) error {
	frames := wire.Lines(in, wire.MaxMessage)
	writer := wire.NewWriter(out, wire.Newline)
	if writer.Recorder = s.opts.Recorder; writer.Recorder != nil {
		frames = writer.Recorder.Framer(frames)
	}
	l := edge.NewLink(frames, writer, s.linked())

	serving, end := context.WithCancelCause(ctx)
	var owner sync.WaitGroup
	var written error
	owner.Go(func() {
		written = writer.Run(context.WithoutCancel(ctx)) // Close ends it: queued messages are still sent
		end(wire.ErrClosed)
	})
	owner.Go(func() {
		<-serving.Done()
		in.Close() // ends a running Read; its result is checked there
	})
	c := s.connect(ctx, access.Owner(p), l)
	works.Set(c.Works)
	read := l.Run(serving)
	if serving.Err() != nil {
		read = wire.ErrClosed // it was ended from here
	}
	if errors.Is(read, io.EOF) {
		l.Drain(serving)
	}
	end(wire.ErrClosed)
	c.Close()
	if errors.Is(read, io.EOF) {
		writer.Drain(ctx) // the client may still read
	}
	writer.Close()
	owner.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case written != nil && !wire.PeerLeft(written):
		return written
	case !wire.PeerLeft(read):
		return fmt.Errorf("read: %w", read)
	}
	return nil
}

// Conn is a client's connection to a server of this process.
type Conn struct {
	client *client
	spoken []*mcp.ServerSession // one for each life cycle
}

// Connect begins to serve a client of a holder in this process, without bytes: hear receives the messages to
// the client, in order, and must not block; Send takes the client's messages. Handlers see ctx.
// The connection lasts until Close.
func (s *Server) Connect(ctx context.Context, of access.Holder, hear func(proto.Message)) *Conn {
	return s.connect(ctx, of, edge.NewLocal(hear, s.linked()))
}

// linked returns the options of a link to any client.
func (s *Server) linked() edge.Options {
	return edge.Options{OwnTools: s.opts.Extend == nil, Ordered: inOrder, Templates: templates}
}

func (s *Server) connect(ctx context.Context, of access.Holder, l *edge.Link) *Conn {
	c := &client{server: s, caller: of.Caller(newCaller()), link: l, held: map[core.SessionID]*heldSession{}}
	c.host = s.newHost(of, func(mcp.Request) *client { return c })
	c.host.start()
	conn := &Conn{client: c}
	first, second := l.Lanes()
	for _, lane := range []mcp.Transport{first, second} {
		if ss, err := c.host.sdk.Connect(ctx, lane, nil); err == nil { // a lane always connects
			conn.spoken = append(conn.spoken, ss)
		}
	}
	return conn
}

// Send passes on a message of the client. It waits until the SDK has taken the message.
func (c *Conn) Send(m proto.Message) { c.client.link.Take(context.Background(), m) }

// Works reports whether a call, or a turn of the client, is running.
func (c *Conn) Works() bool { return c.client.works() }

// Close ends the connection and waits for everything that it has started. Turns continue.
func (c *Conn) Close() {
	h := c.client.host
	h.leave()
	c.client.link.HangUp()
	for _, ss := range c.spoken {
		if err := ss.Wait(); err != nil && !wire.PeerLeft(err) {
			h.server.log.Debug("mcp session ended", zap.Error(err))
		}
	}
	c.client.close()
	h.close()
}
