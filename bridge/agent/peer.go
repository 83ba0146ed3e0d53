package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/agent/signin"
	"dragoman/core/child"
)

const (
	// aloneFor and askedFor are the times that a program has to end: after the end of its input,
	// and after a request to end. Some never end by themselves.
	aloneFor = time.Second
	askedFor = time.Second
	// maxRequests limits the requests of a program that wait for an answer of ours.
	maxRequests = 64
)

// hello is an agent's answer to initialize.
type hello struct {
	ProtocolVersion int                `json:"protocolVersion"`
	AgentInfo       acp.Implementation `json:"agentInfo"`
	AuthMethods     []authMethod       `json:"authMethods"`
	Caps            struct {
		LoadSession        bool                   `json:"loadSession"`
		PromptCapabilities acp.PromptCapabilities `json:"promptCapabilities"`
		MCPCapabilities    acp.MCPCapabilities    `json:"mcpCapabilities"`
		Session            struct {
			List                  acp.Flag `json:"list"`
			Resume                acp.Flag `json:"resume"`
			Close                 acp.Flag `json:"close"`
			Fork                  acp.Flag `json:"fork"`
			AdditionalDirectories acp.Flag `json:"additionalDirectories"`
		} `json:"sessionCapabilities"`
		Auth struct {
			Logout acp.Flag `json:"logout"`
			Status acp.Flag `json:"status"`
		} `json:"auth"`
	} `json:"agentCapabilities"`
}

// authMethod is a way to sign in to an agent.
type authMethod struct {
	acp.AuthMethod
	Vars []struct {
		Name string `json:"name"`
	} `json:"vars"`
}

// reloads reports whether the agent can continue a session in another process.
func (h hello) reloads() bool { return h.Caps.LoadSession || bool(h.Caps.Session.Resume) }

// peer is the running program of an agent, and the connection with it.
type peer struct {
	b       *Backend
	proc    *launch.Process
	guard   *child.Guard // ends it
	conn    *wire.Conn
	life    context.Context //nolint:containedctx // ends with the connection; handed to waits of the reading goroutine
	stop    context.CancelCauseFunc
	release func()        // gives its place in the pool back
	gone    chan struct{} // closed when the program and everything of it has ended
	hello   hello         // set before anything else uses the peer
	tools   string        // as in launch.Confined
	proxied bool          // it has a proxy for addresses over HTTP, some use it even for this machine's
	asks    sync.WaitGroup
	room    chan struct{} // of requests that wait for an answer of ours
	making  chan struct{} // held while a session without an id is being made
	ear     *signin.Ear

	mu      sync.Mutex // guards the fields below
	talks   map[string]route
	opening *conversation     // whose session is being made, and has no id yet
	used    time.Time         // when a conversation used it last
	taken   int               // turns and requests outside of sessions that use it
	ended   bool              // it is to be used no more
	status  *acp.AuthStatus   // of its login, as it has said by itself; nil: it has not
	pages   map[string]func() // take back the offers of pages, by the agent's ids
	out     bool              // it has refused a request for want of a login
	why     error             // why it ended; set before gone is closed
}

// route says for whom the messages on one of the agent's sessions are.
type route struct {
	c   *conversation
	sub *subagent // nil: the conversation itself
}

// start starts the agent's program in a folder, and greets it. The guard ends it with us. What it was
// started in is released when it has ended, behind leave.
func (b *Backend) start(ctx context.Context, is launch.Program, dir string, in launch.Confined, leave func()) (*peer, error) {
	p, err := b.startAlone(ctx, is, dir, in, leave, &signin.Ear{})
	if err != nil {
		return nil, err
	}
	b.o.Pool.Add(p)
	if !p.alive() { // it may have been removed before
		b.o.Pool.Remove(p)
	}
	b.wg.Go(b.o.Guards.Spare) // where there is one session, another one may follow
	return p, nil
}

// startAlone is start for a program that others do not use, and with listeners to what it says.
func (b *Backend) startAlone(ctx context.Context, is launch.Program, dir string, in launch.Confined, leave func(), e *signin.Ear) (*peer, error) {
	release := func() {
		leave()
		in.Release()
	}
	proc, err := b.o.Start(is, dir, in, func(text string) { e.Hear(context.Background(), signin.Saying{Text: text}) })
	if err != nil {
		release()
		return nil, err
	}
	p := &peer{
		b: b, proc: proc, guard: in.Guard, release: release, gone: make(chan struct{}), talks: map[string]route{}, pages: map[string]func(){}, used: b.o.Time(),
		room: make(chan struct{}, maxRequests), making: make(chan struct{}, 1), proxied: proxied(proc.Env), tools: in.Tools, ear: e,
	}
	first := &beginning{Reader: proc.Stdout}
	said := &output{ReadCloser: proc.Stdout, frames: wire.Newline.Framer(first, 0), dropped: p.dropped}
	p.conn = wire.NewConn(said, proc.Stdin, wire.Options{
		Framing: wire.Newline, Withdraw: wire.Withdrawal{Method: "$/cancel_request", Member: "requestId"}, MaxBatch: -1,
		Panicked: func(method string, value any, _ []byte) {
			b.log("error", fmt.Sprintf("internal error in %s of agent %s: %v", method, b.o.Name, value))
		},
	})
	p.life, p.stop = context.WithCancelCause(context.Background())
	b.wg.Go(p.serve)
	if err := p.greet(ctx); err != nil {
		p.end(errUnused)
		if stray := first.stray(proc.Hide); stray != "" {
			err = fmt.Errorf("%w; it printed %q instead of ACP messages: an argument such as --acp may be missing", err, stray)
		}
		return nil, err
	}
	_, wanted, _ := b.SignIns()
	b.note(ctx, wanted)
	return p, nil
}

// errUnused ends programs that nobody needs.
var errUnused = errors.New("it is not used any more")

// serve reads the agent's messages until it or we end the connection, and then ends the program.
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
	routes := p.talks
	p.talks = map[string]route{}
	p.mu.Unlock()
	for _, r := range routes {
		r.c.lost(p)
	}
	p.release()
	close(p.gone)
}

// end ends the program, and waits for that.
func (p *peer) end(why error) {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.stop(why)
	<-p.gone
}

// reason returns why the program has ended, once it has.
func (p *peer) reason() error {
	<-p.gone
	return p.why
}

// greet sends initialize.
func (p *peer) greet(ctx context.Context) error {
	limit := p.b.limits.hello
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer initialize within %v", limit))
	defer cancel()
	err := p.conn.Ask(ctx, "initialize", map[string]any{
		"protocolVersion":    acp.Version,
		"clientCapabilities": p.b.capabilities(),
		"clientInfo":         map[string]string{"name": "dragoman", "title": "Dragoman", "version": p.b.o.Version},
	}, &p.hello)
	switch {
	case errors.Is(err, wire.ErrClosed):
		return p.reason()
	case err != nil:
		if last := p.proc.Last(3); last != "" {
			return fmt.Errorf("initialize: %w; it said: %s", err, last)
		}
		return fmt.Errorf("initialize: %w", err)
	case p.hello.ProtocolVersion != acp.Version:
		return fmt.Errorf("it speaks version %d of the protocol, and not %d", p.hello.ProtocolVersion, acp.Version)
	}
	p.b.met(p.hello)
	return nil
}

// capabilities lists what we do for an agent, whichever client is attached.
func (b *Backend) capabilities() any {
	yes := struct{}{}
	caps := map[string]any{
		"terminal":    true,
		"auth":        map[string]any{"terminal": true},
		"elicitation": map[string]any{"form": yes, "url": yes},
		"session":     map[string]any{"configOptions": map[string]any{"boolean": yes}, "compaction": yes, "notices": yes},
		"subagents":   yes,
		"_meta":       map[string]any{"terminal_output": true},
	}
	if !b.o.Known.NoFiles {
		caps["fs"] = map[string]bool{"readTextFile": true, "writeTextFile": true}
	}
	return caps
}

// handle receives a message of the agent, on the reading goroutine. An update may block while
// every client is far behind, which holds the agent back.
func (p *peer) handle(call *wire.Call) {
	switch call.Method {
	case "session/update":
		p.update(call.Params)
		return
	case "$/cancel_request":
		var q struct {
			ID json.RawMessage `json:"requestId"`
		}
		if wire.Unmarshal(call.Params, &q) == nil {
			p.conn.CancelRequest(q.ID)
		}
		return
	}
	if call.IsNotification() {
		p.notified(call.Method, call.Params)
		return
	}
	answer := answers[call.Method]
	if answer == nil && call.Method != permissionMethod {
		call.Reply(nil, jrpc2.Errorf(jrpc2.MethodNotFound, acp.NoMethod, call.Method))
		return
	}
	var q struct {
		SessionID string `json:"sessionId"`
	}
	if err := wire.Unmarshal(call.Params, &q); err != nil {
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %v", call.Method, err))
		return
	}
	c := p.talk(q.SessionID).c
	if call.Method == elicitMethod && (c == nil || q.SessionID == "") && len(p.ear.Listeners()) > 0 {
		if p.admit(call) {
			p.asks.Go(func() {
				defer func() { <-p.room }()
				call.Reply(page(call.Context(), p.ear, call.Params))
			})
		}
		return
	}
	if c == nil {
		call.Reply(nil, jrpc2.Errorf(acp.CodeNotFound, "%s: there is no session %.100q", call.Method, q.SessionID))
		return
	}
	if !p.admit(call) {
		return
	}
	run := func(ctx context.Context) (any, error) { return answer(c, ctx, p, call.Params) }
	if call.Method == permissionMethod {
		run = c.permission(call.Params)
	}
	c.waits(1)
	p.asks.Go(func() {
		defer func() {
			c.waits(-1)
			<-p.room
		}()
		call.Reply(run(call.Context()))
	})
}

// admit takes a place among the requests that wait for an answer, or refuses the request.
func (p *peer) admit(call *wire.Call) bool {
	select {
	case p.room <- struct{}{}:
		return true
	default:
		call.Reply(nil, jrpc2.Errorf(wire.CodeBusy, "%s: %d requests wait for an answer already", call.Method, maxRequests))
		return false
	}
}

// permissionMethod is prepared on the reading goroutine, so that the call is in the log before what
// the agent says next.
const permissionMethod = "session/request_permission"

// answers are the other requests of agents. Each runs on a goroutine of its own.
var answers = map[string]func(c *conversation, ctx context.Context, p *peer, params json.RawMessage) (any, error){
	"fs/read_text_file":      (*conversation).readFile,
	"fs/write_text_file":     (*conversation).writeFile,
	"terminal/create":        (*conversation).createTerminal,
	"terminal/output":        (*conversation).terminalOutput,
	"terminal/wait_for_exit": (*conversation).awaitTerminal,
	"terminal/kill":          (*conversation).killTerminal,
	"terminal/release":       (*conversation).releaseTerminal,
	elicitMethod:             (*conversation).elicit,
}

// talk finds for whom a session's messages are. Those of a session that is being made come
// before its id.
func (p *peer) talk(session string) route {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.talks[session]; ok {
		return r
	}
	return route{c: p.opening}
}

// join routes the messages on a session to a conversation.
func (p *peer) join(session string, r route) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.talks[session] = r
	p.used = p.b.o.Time()
}

// leave ends what join began, and reports whether no conversation is left.
func (p *peer) leave(c *conversation) (unused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, r := range p.talks {
		if r.c == c {
			delete(p.talks, id)
		}
	}
	return len(p.talks) == 0
}

// alive reports whether the program can be used.
func (p *peer) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.ended
}

// touch notes that a conversation uses the program.
func (p *peer) touch() {
	p.mu.Lock()
	p.used = p.b.o.Time()
	p.mu.Unlock()
	p.b.o.Pool.Wake()
}

// IdleSince implements launch.Member. It returns since when nothing goes on in the program. idle is false where something does,
// or where the agent could not continue its sessions in another process.
func (p *peer) IdleSince() (since time.Time, idle bool) {
	p.mu.Lock()
	since, ended := p.used, p.ended
	busy := p.opening != nil || p.taken > 0
	var talks []*conversation
	for _, r := range p.talks {
		talks = append(talks, r.c)
	}
	p.mu.Unlock()
	if ended || busy || !p.hello.reloads() {
		return since, false
	}
	for _, c := range talks {
		if c.busy() {
			return since, false
		}
	}
	return since, true
}

// Retire implements launch.Member. It ends an idle program to make room, and reports whether it has.
func (p *peer) Retire() bool {
	_, idle := p.IdleSince()
	return idle && p.endUnused(errUnused)
}

// endUnused ends the program unless a turn uses it, and reports whether it has.
func (p *peer) endUnused(why error) bool {
	p.mu.Lock()
	used := p.opening != nil || p.taken > 0
	p.ended = p.ended || !used // no turn takes it from here on
	p.mu.Unlock()
	if !used {
		p.end(why)
	}
	return !used
}

// take keeps the program from being retired until it is given back. It reports false if the
// program has ended.
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
