package ecaserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/agent/signin"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/fileuri"
)

const (
	// aloneFor and askedFor are the times that a program has to end: after the end of its input, and
	// after a request to end.
	aloneFor = time.Second
	askedFor = time.Second
	// maxRequests limits the requests of a server that wait for an answer of ours.
	maxRequests = 64
	// maxForeign limits a message that is kept as it is.
	maxForeign = 1 << 20
)

// hello is a server's answer to initialize. Members that only some documents have may be missing.
type hello struct {
	Models  []string `json:"models"`
	Model   string   `json:"chatDefaultModel"`
	Agents  []string `json:"chatAgents"`
	Agent   string   `json:"chatDefaultAgent"`
	Welcome string   `json:"chatWelcomeMessage"`
	Server  struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"serverInfo"`
}

// place says where a server works, and for whom.
type place struct {
	meta   core.Meta
	c      *conversation // nil: for no session
	editor *eca.EditorCaps
}

// peer is the running program of an agent, and the connection with it. It belongs to one conversation.
type peer struct {
	b       *Backend
	c       *conversation // nil: it was started for a question outside of sessions
	proc    *launch.Process
	conn    *wire.Conn
	life    context.Context //nolint:containedctx // ends with the connection; handed to waits of the reading goroutine
	stop    context.CancelCauseFunc
	release func()        // gives its place and what it was started in back
	gone    chan struct{} // closed when the program and everything of it has ended
	hello   hello         // set before anything else uses the peer
	asks    sync.WaitGroup
	room    chan struct{} // of requests that wait for an answer of ours
	ear     *signin.Ear
	bye     sync.Once // asks it to end

	mu      sync.Mutex // guards the fields below
	chats   map[string]*chat
	used    time.Time
	taken   int // turns and requests outside of sessions that use it
	ended   bool
	config  config
	offered chan struct{}            // closed when the server has said what can be chosen
	logins  map[string]chan struct{} // by provider: closed when the server can use it
	why     error                    // why it ended; set before gone is closed
}

// errUnused ends programs that nobody needs.
var errUnused = errors.New("it is not used any more")

// start starts the server, and greets it. What it was started in is released when it has ended, behind leave.
func (b *Backend) start(ctx context.Context, is launch.Program, at place, in launch.Confined, leave func(), hear signin.Listener) (*peer, error) {
	p := &peer{
		b: b, c: at.c, gone: make(chan struct{}), chats: map[string]*chat{}, used: b.o.Time(), room: make(chan struct{}, maxRequests),
		ear: &signin.Ear{}, offered: make(chan struct{}), logins: map[string]chan struct{}{},
	}
	p.ear.Listen(hear)
	p.release = func() {
		leave()
		in.Release()
	}
	proc, err := b.o.Start(is, at.meta.Cwd, in, func(text string) { p.ear.Hear(context.Background(), signin.Saying{Text: text}) })
	if err != nil {
		p.release()
		return nil, err
	}
	p.proc = proc
	p.conn = wire.NewConn(proc.Stdout, proc.Stdin, wire.Options{
		Framing: wire.ContentLength, MaxBatch: -1,
		Panicked: func(method string, value any, _ []byte) {
			b.o.Say("error", fmt.Sprintf("internal error in %s of agent %s: %v", method, b.o.Name, value))
		},
	})
	p.life, p.stop = context.WithCancelCause(context.Background())
	b.wg.Go(p.serve)
	if err := p.greet(ctx, at, in.Tools); err != nil {
		p.end(errUnused)
		return nil, err
	}
	return p, nil
}

// greet sends initialize and initialized.
func (p *peer) greet(ctx context.Context, at place, tools string) error {
	limit := p.b.limits.hello
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer initialize within %v", limit))
	defer cancel()
	options := map[string]any{}
	if at.c != nil {
		servers, err := at.c.tools.offer(p.b.o.Options, at.c.bind.Servers, tools)
		if err != nil {
			return err
		}
		if servers != nil {
			options["mcpServers"] = servers
		}
	}
	roots := at.meta.Roots
	if len(roots) == 0 {
		roots = []string{at.meta.Cwd}
	}
	folders := make([]eca.WorkspaceFolder, len(roots))
	for i, dir := range roots {
		dir = p.b.paths.There(dir)
		folders[i] = eca.WorkspaceFolder{URI: fileuri.Of(dir), Name: filepath.Base(dir)}
	}
	yes := true
	var answer json.RawMessage
	err := p.conn.Ask(ctx, eca.MethodInitialize, map[string]any{
		"processId":             nil, // it may be of another machine, or of another space of processes
		"clientInfo":            eca.ClientInfo{Name: "dragoman", Version: p.b.o.Version},
		"initializationOptions": options,
		"capabilities": eca.ClientCapabilities{CodeAssistant: &eca.CodeAssistant{
			Chat: &yes, Editor: at.editor, ChatCapabilities: &eca.ChatCapabilities{AskQuestion: true},
		}},
		"workspaceFolders": folders,
	}, &answer)
	switch {
	case errors.Is(err, wire.ErrClosed):
		return p.reason()
	case err != nil:
		if last := p.proc.Last(3); last != "" {
			return fmt.Errorf("initialize: %w; it said: %s", err, last)
		}
		return fmt.Errorf("initialize: %w", err)
	}
	if err := wire.Unmarshal(answer, &p.hello); err != nil {
		return fmt.Errorf("initialize: the answer: %w", err)
	}
	if p.hello.Models != nil || p.hello.Agents != nil { // an early document has no other place for them
		p.mu.Lock()
		p.config = config{Models: p.hello.Models, Model: &p.hello.Model, Agents: p.hello.Agents, Agent: &p.hello.Agent}
		p.mu.Unlock()
	}
	return p.conn.Notify(eca.MethodInitialized, struct{}{})
}

// serve reads the server's messages until it or we end the connection, and then ends the program.
func (p *peer) serve() {
	defer p.stop(nil)
	_ = p.conn.Serve(p.life, p.handle) // the program's own end says more
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.b.o.Pool.Remove(p)
	p.proc.Close(aloneFor, askedFor)
	p.asks.Wait()
	p.mu.Lock()
	if p.why = context.Cause(p.life); p.why == nil {
		p.why = errors.New(p.proc.Why())
	}
	why := p.why
	p.chats = map[string]*chat{}
	p.mu.Unlock()
	if p.c != nil {
		p.c.lost(p, why)
	}
	p.release()
	close(p.gone)
}

// end ends the program, and waits for that. A server gets a moment to store what it has.
func (p *peer) end(why error) {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.bye.Do(func() {
		if !errors.Is(why, errUnused) {
			return
		}
		limit, cancel := context.WithTimeout(p.life, aloneFor)
		defer cancel()
		if p.conn.Ask(limit, eca.MethodShutdown, nil, nil) == nil {
			_ = p.conn.Notify(eca.MethodExit, nil) // it may have ended already
		}
	})
	p.stop(why)
	<-p.gone
}

// reason returns why the program has ended, once it has.
func (p *peer) reason() error {
	<-p.gone
	return p.why
}

// notifications are those of a server, by method. They run on the reading goroutine. What they pass on to
// a log may block while every client is far behind, which holds the server back.
var notifications = map[string]func(p *peer, params json.RawMessage){
	eca.MethodContentReceived:  (*peer).contentReceived,
	eca.MethodStatusChanged:    (*peer).statusChanged,
	eca.MethodConfigUpdated:    (*peer).configUpdated,
	eca.MethodShowMessage:      (*peer).showMessage,
	eca.MethodJobsUpdated:      (*peer).jobsUpdated,
	eca.MethodServerUpdated:    (*peer).serverUpdated,
	eca.MethodProgress:         func(*peer, json.RawMessage) {}, // of its start: the answers to requests wait for it
	eca.MethodServerRemoved:    func(*peer, json.RawMessage) {},
	eca.MethodProvidersUpdated: (*peer).providersUpdated,
	eca.MethodCleared:          func(*peer, json.RawMessage) {}, // what we have asked for is known
	eca.MethodOpened:           func(*peer, json.RawMessage) {},
	eca.MethodDeleted:          func(*peer, json.RawMessage) {},
}

// requests are those of a server, by method. Each runs on a goroutine of its own.
var requests = map[string]func(c *chat, ctx context.Context, params json.RawMessage) (any, error){
	eca.MethodAskQuestion:    (*chat).askQuestion,
	eca.MethodGetDiagnostics: (*chat).diagnostics,
	eca.MethodGetDefinition: func(c *chat, ctx context.Context, params json.RawMessage) (any, error) {
		return c.locate(ctx, params, false)
	},
	eca.MethodGetReferences: func(c *chat, ctx context.Context, params json.RawMessage) (any, error) {
		return c.locate(ctx, params, true)
	},
}

// handle receives a message of the server, on the reading goroutine.
func (p *peer) handle(call *wire.Call) {
	if call.IsNotification() {
		if take := notifications[call.Method]; take != nil {
			take(p, call.Params)
			return
		}
		p.unknown(call.Method, call.Params)
		return
	}
	answer := requests[call.Method]
	if answer == nil || p.c == nil {
		call.Reply(nil, jrpc2.Errorf(jrpc2.MethodNotFound, "there is no method %q", display.Line(call.Method, 100)))
		return
	}
	var q struct {
		ChatID string `json:"chatId"`
	}
	if err := wire.Unmarshal(call.Params, &q); err != nil {
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %v", call.Method, err))
		return
	}
	c := p.chat(q.ChatID)
	if q.ChatID == "" { // editors know no chats
		c = p.c.root
	}
	if c == nil {
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: there is no chat %.100q", call.Method, q.ChatID))
		return
	}
	select {
	case p.room <- struct{}{}:
	default:
		call.Reply(nil, jrpc2.Errorf(wire.CodeBusy, "%s: %d requests wait for an answer already", call.Method, maxRequests))
		return
	}
	p.c.waits(1)
	p.asks.Go(func() {
		defer func() {
			p.c.waits(-1)
			<-p.room
		}()
		call.Reply(answer(c, call.Context(), call.Params))
	})
}

// unknown passes a notification of a later document on, if it is about a chat.
func (p *peer) unknown(method string, params json.RawMessage) {
	var q struct {
		ChatID string `json:"chatId"`
	}
	if wire.Unmarshal(params, &q) != nil || len(params) > maxForeign {
		return
	}
	if c := p.chat(q.ChatID); c != nil {
		c.apart(core.Foreign{Protocol: protocol, Method: method, Raw: wire.Edit(params, wire.Set("chatId", nil))})
	}
}

// chat finds a chat by the server's id; nil: it is none of ours.
func (p *peer) chat(id string) *chat {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chats[id]
}

// join routes the messages about a chat.
func (p *peer) join(id string, c *chat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.chats[id] = c
	p.used = p.b.o.Time()
}

// leave ends what join began.
func (p *peer) leave(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.chats, id)
}

// alive reports whether the program can be used.
func (p *peer) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.ended
}

// touch notes that the conversation uses the program.
func (p *peer) touch() {
	p.mu.Lock()
	p.used = p.b.o.Time()
	p.mu.Unlock()
	p.b.o.Pool.Wake()
}

// IdleSince implements launch.Member.
func (p *peer) IdleSince() (since time.Time, idle bool) {
	p.mu.Lock()
	since, idle = p.used, !p.ended && p.taken == 0
	p.mu.Unlock()
	return since, idle && (p.c == nil || !p.c.busy())
}

// Retire implements launch.Member.
func (p *peer) Retire() bool {
	if _, idle := p.IdleSince(); !idle {
		return false
	}
	p.mu.Lock()
	used := p.taken > 0
	p.ended = p.ended || !used // no turn takes it from here on
	p.mu.Unlock()
	if !used {
		p.end(errUnused)
	}
	return !used
}

// take keeps the program from being retired until it is given back. It reports false if it has ended.
func (p *peer) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.taken++
	return true
}

// give gives back what was taken.
func (p *peer) give() {
	p.mu.Lock()
	p.taken--
	p.mu.Unlock()
}
