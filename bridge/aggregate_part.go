package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/core"
	"dragoman/core/display"
)

// part is a server behind a side, or our agent. run makes its connection when it is
// first needed, and makes it again when it breaks.
type part struct {
	side   *side
	server Server  // core.Native by name: our agent
	export *Export // nil: our agent
	view   *View   // what of its tools may be used; nil: our agent's may
	hops   int     // of the client's requests
	want   chan struct{}
	works  wire.Works // of our agent

	mu     sync.Mutex // guards the fields below
	status string
	why    string
	moved  chan struct{} // closed at the next change of the fields above
	peer   *peer         // nil: it does not run
	fails  int
	after  time.Time // no new start before
	late   bool      // a list has waited for it in vain
	known  [allKinds][]item
	busy   [allKinds]int          // listings that are under way
	again  map[string]bool        // tools whose calls may be repeated
	open   []*pass                // calls in which it may ask, oldest first
	asking int                    // questions that are with the client
	level  string                 // of its log messages, as it was told
	subs   map[string]*wire.Asked // what it was asked to tell of, by URI; nil at the older versions
	kept   map[string]bool        // what the client has subscribed to
}

// newPart makes the part of an export, or of our agent where that is nil.
func newPart(s *side, export *Export, hops int) *part {
	p := &part{side: s, server: Server{Name: core.Native}, export: export, hops: hops, status: statusStopped, want: make(chan struct{}, 1), moved: make(chan struct{}), subs: map[string]*wire.Asked{}, kept: map[string]bool{}}
	if export != nil {
		p.server, p.view = export.Server, export.View(&s.consents)
	}
	return p
}

func (p *part) agent() bool { return p.export == nil }

func (p *part) box() *Box { return p.side.caller.agg.box }

func (p *part) log(level, text string) { p.box().Log(p.server.Name, level, text) }

// attach starts our agent, which says its hello to the client itself.
func (p *part) attach(ctx context.Context) {
	c := p.side.caller
	in, agentOut := io.Pipe()
	agentIn, out := io.Pipe()
	ended := make(chan struct{})
	c.owned.Go(func() {
		defer close(ended)
		if err := c.agg.opts.Agent(ctx, c.principal, agentIn, agentOut, &p.works); err != nil && ctx.Err() == nil {
			p.log("error", err.Error())
		}
	})
	l := &Link{
		In: in, Out: out, Settled: func(string) {},
		Close: func() {
			in.Close()
			out.Close()
			<-ended
		},
		Why: func() string { return "the connection has ended" },
	}
	peer := newPeer(l, hello{client: p.side.client, caps: p.side.caps, version: p.side.version, hops: p.hops, handle: p.receive})
	peer.version = p.side.version
	peer.caps = serverCaps{Tools: &listCaps{}, Prompts: &listCaps{}, Resources: &listCaps{ListChanged: true, Subscribe: true}, Completions: &struct{}{}, Logging: &struct{}{}}
	p.peer, p.status = peer, statusRunning
	c.owned.Go(func() {
		select {
		case <-ctx.Done():
		case <-peer.done:
		}
		peer.close()
	})
}

// run keeps the connection until ctx ends.
func (p *part) run(ctx context.Context) {
	for p.awaitWant(ctx) {
		peer, err := p.begin(ctx)
		if err != nil {
			if ctx.Err() == nil {
				p.failed(err)
			}
			continue
		}
		p.started(peer)
		since := time.Now()
		select {
		case <-ctx.Done():
		case <-peer.done:
		}
		peer.close()
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		if time.Since(since) >= steadyFor {
			p.fails = 0
		}
		p.subs, p.level = map[string]*wire.Asked{}, ""
		p.mu.Unlock()
		p.failed(errors.New(peer.link.Why()))
	}
}

// awaitWant waits until the server is to be started, and says that it is: somebody
// needs it, or it has ended and its pause is over. false: ctx has ended.
func (p *part) awaitWant(ctx context.Context) bool {
	p.mu.Lock()
	left := time.Until(p.after)
	retry := p.status == statusFailed && p.fails <= maxTries
	p.mu.Unlock()
	var pause <-chan time.Time
	if retry {
		t := time.NewTimer(max(left, 0))
		defer t.Stop()
		pause = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-pause:
		case <-p.want:
			p.mu.Lock()
			early := time.Now().Before(p.after)
			p.mu.Unlock()
			if early {
				continue
			}
		}
		p.move(statusStarting, "", nil)
		return ctx.Err() == nil
	}
}

// begin starts the server, and agrees with it on a version.
func (p *part) begin(ctx context.Context) (*peer, error) {
	limit := p.server.StartFor()
	ctx, cancel := Within(ctx, limit, fmt.Sprintf("it did not answer within %v of its start", limit))
	defer cancel()
	if err := p.export.Usable(); err != nil {
		return nil, err
	}
	e, err := p.server.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	e.Dir = cmp.Or(e.Dir, p.side.caller.dir)
	version := p.side.version
	if known := p.export.Introduction().Version; version == proto.Modern && known != "" && known < proto.Modern {
		version = proto.Legacy // it has refused the other before
	}
	peer, err := p.meet(ctx, e, version)
	if err != nil && version == proto.Modern && ctx.Err() == nil { // some end at what they do not know
		peer, err = p.meet(ctx, e, proto.Legacy)
	}
	return peer, err
}

func (p *part) meet(ctx context.Context, e Endpoint, version string) (*peer, error) {
	l, err := p.export.Dial(e, &p.side.caller.guard)
	if err != nil {
		return nil, err
	}
	return meet(ctx, l, hello{client: p.side.client, caps: p.side.caps, version: version, hops: p.hops + 1, handle: p.receive})
}

// started makes the connection known, and tells it what the client wants of all.
func (p *part) started(peer *peer) {
	s := p.side
	p.export.Introduce(Introduction{Instructions: peer.instructions, Version: peer.version})
	p.view.Stale() // it may be another program by now
	p.log("info", fmt.Sprintf("runs for a client: %s, protocol %s", peer.name, peer.version))
	s.mu.Lock()
	level := s.level
	s.mu.Unlock()
	p.mu.Lock()
	late := p.late
	p.late = false
	p.mu.Unlock()
	p.move(statusRunning, "", peer)
	if level != "" {
		p.setLevel(peer, level)
	}
	p.followLists(peer)
	s.followAgain(p)
	if !late {
		return
	}
	for k := range kind(allKinds) {
		if p.has(k, peer) {
			s.changed(k)
		}
	}
}

// failed notes why the server does not run, and when it may be started again. One
// that waits for a login is tried whenever it is needed.
func (p *part) failed(err error) {
	why := display.Plain(err.Error())
	login := p.export.WantsLogin()
	p.mu.Lock()
	p.fails++
	p.after = time.Now().Add(p.export.Pause(p.fails))
	if login != nil {
		why, p.fails, p.after = login.Error(), maxTries+1, time.Time{}
	}
	p.late = true
	p.mu.Unlock()
	p.log("warn", "does not run for a client: "+why)
	p.move(statusFailed, why, nil)
}

// move changes the state, for everybody who waits for that.
func (p *part) move(status, why string, peer *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.why, p.peer = status, why, peer
	close(p.moved)
	p.moved = make(chan struct{})
}

// running is the connection; nil: there is none.
func (p *part) running() *peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.peer == nil || p.peer.over() {
		return nil
	}
	return p.peer
}

// acquire returns the connection, and has it made where there is none. It waits for
// a start that is under way; a pause it waits out only if patient.
func (p *part) acquire(ctx context.Context, patient bool) (*peer, error) {
	for tried := false; ; {
		p.mu.Lock()
		peer, status, why, moved, left := p.peer, p.status, p.why, p.moved, time.Until(p.after)
		p.mu.Unlock()
		switch {
		case peer != nil && !peer.over():
			return peer, nil
		case p.agent():
			return nil, &downError{p.server.Name, "the connection has ended", 0}
		case peer != nil: // its end is about to be noted
		case status == statusStarting:
			tried = true
		case status == statusFailed && (tried || left > 0 && !patient):
			return nil, &downError{p.server.Name, why, max(left, 0)}
		case left > 0:
			if !sleep(ctx, left) {
				return nil, context.Cause(ctx)
			}
			continue
		default:
			poke(p.want)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tell hands on a notification of the client's, if there is anybody to hear it.
func (p *part) tell(method string, params json.RawMessage) {
	peer := p.running()
	if peer == nil || peer.modern() && !p.agent() {
		return
	}
	_ = peer.conn.Notify(method, orNothing(params)) // it has ended
}

// orNothing are parameters for a wire.Conn, which leaves out nothing but nil.
func orNothing(params json.RawMessage) any {
	if params == nil {
		return nil
	}
	return params
}

// wrong is an error of a server's as the client gets it: as it was written, unless we
// made it.
func (p *part) wrong(err error) error {
	var e *jrpc2.Error
	if errors.As(err, &e) && e.Code == streamable.CodeUnreached {
		return jrpc2.Errorf(jrpc2.InternalError, "the MCP server %s: %s", p.server.Name, e.Message)
	}
	return err
}
