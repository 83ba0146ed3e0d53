package aggregate

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
	"dragoman/core"
)

// part is a server behind a side, or our agent. A keeper makes its connection when it is
// first needed, and makes it again when it breaks.
type part struct {
	side   *side
	server upstream.Server  // core.Native by name: our agent
	export *upstream.Export // nil: our agent
	view   *upstream.View   // what of its tools may be used; nil: our agent's may
	hops   int              // of the client's requests
	keeper *upstream.Keeper // nil: our agent
	cancel func()           // ends the keeping; nil: our agent
	own    *upstream.Peer   // our agent; set before anything is asked of it
	works  func() bool      // of our agent: whether a turn of the client's runs
	// owes: a list has waited in vain for the start that is under way, or the last. It is of
	// the keeper's goroutine.
	owes    bool
	silence silence

	mu     sync.Mutex // guards the fields below
	late   bool       // a list has waited for it in vain
	known  [allKinds][]item
	busy   [allKinds]int          // listings that are under way
	open   []*pass                // calls in which it may ask, oldest first
	asking int                    // questions that are with the client
	level  string                 // of its log messages, as it was told
	subs   map[string]*wire.Asked // what it was asked to tell of, by URI; nil at the older versions
	kept   map[string]bool        // what the client has subscribed to
}

// newPart makes the part of an export, or of our agent where that is nil.
func newPart(s *side, export *upstream.Export, hops int) *part {
	p := &part{
		side: s, server: upstream.Server{Name: core.Native}, export: export, hops: hops,
		subs: map[string]*wire.Asked{}, kept: map[string]bool{},
	}
	if export != nil {
		p.server, p.view, p.keeper = export.Server, export.View(&s.consents), export.NewKeeper(p)
		p.silence.limit = p.server.CallTimeout
	}
	return p
}

func (p *part) agent() bool { return p.export == nil }

func (p *part) box() *upstream.Box { return p.side.caller.agg.box }

func (p *part) log(level, text string) { p.box().Log(p.server.Name, level, text) }

// Begin implements Job: it starts the server, and agrees with it on a version.
func (p *part) Begin(ctx context.Context) (*upstream.Peer, error) {
	limit := p.server.StartFor()
	ctx, cancel := upstream.Within(ctx, limit, fmt.Sprintf("it did not answer within %v of its start", limit))
	defer cancel()
	e, err := p.server.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	e = e.In(p.side.caller.dir)
	version := p.side.version
	refused := p.export.Introduction().Refused
	if version == proto.Modern && refused {
		version = proto.Legacy
	}
	peer, err := p.meet(ctx, e, version)
	if err != nil && version == proto.Modern && ctx.Err() == nil { // some end at what they do not know
		peer, err = p.meet(ctx, e, proto.Legacy)
	}
	if err != nil {
		return nil, err
	}
	p.export.Introduce(upstream.Introduction{
		Instructions: peer.Instructions, Known: true, Refused: refused || p.side.modern() && !peer.Modern(),
	})
	p.view.Stale() // it may be another program by now
	p.log("info", fmt.Sprintf("runs for a client: %s, protocol %s", peer.Name, peer.Version))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owes, p.late = p.owes || p.late, false
	return peer, nil
}

func (p *part) meet(ctx context.Context, e upstream.Endpoint, version string) (*upstream.Peer, error) {
	l, err := p.export.Dial(e, &p.side.caller.guard)
	if err != nil {
		return nil, err
	}
	return upstream.Meet(ctx, l, p.hello(version, p.hops+1))
}

// hello is what a server is told of the client.
func (p *part) hello(version string, hops int) upstream.Hello {
	s := p.side
	return upstream.Hello{Client: s.client, Caps: s.caps, Version: version, Hops: hops, Handle: p.receive}
}

// Follow implements Job: it tells the server what the client wants of all.
func (p *part) Follow(ctx context.Context, peer *upstream.Peer) string {
	s := p.side
	s.mu.Lock()
	level := s.level
	s.mu.Unlock()
	if level != "" {
		p.setLevel(peer, level)
	}
	p.followLists(peer)
	s.followAgain(p)
	if p.owes {
		p.owes = false
		for k := range kind(allKinds) {
			if p.has(k, peer) {
				s.changed(k)
			}
		}
	}
	select {
	case <-ctx.Done():
	case <-peer.Done:
	}
	peer.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subs, p.level = map[string]*wire.Asked{}, ""
	return peer.Why()
}

// Failed implements Job.
func (p *part) Failed(why string) {
	p.mu.Lock()
	p.late = true
	p.mu.Unlock()
	p.log("warn", "does not run for a client: "+why)
	if notice := p.loginNotice(); notice != "" {
		p.side.logNotice(notice)
	}
}

// running is the connection; nil: there is none.
func (p *part) running() *upstream.Peer {
	switch {
	case !p.agent():
		return p.keeper.Running()
	case p.own == nil || p.own.Over():
		return nil
	}
	return p.own
}

// acquire returns the connection, and has it made where there is none. It waits for
// a start that is under way; a pause it waits out only if patient.
func (p *part) acquire(ctx context.Context, patient bool) (*upstream.Peer, error) {
	if !p.agent() {
		return p.keeper.Acquire(ctx, patient)
	}
	if peer := p.running(); peer != nil {
		return peer, nil
	}
	return nil, &upstream.DownError{Server: p.server.Name, Why: "the connection has ended"}
}

// tell hands on a notification of the client's, if there is anybody to hear it.
func (p *part) tell(method string, params json.RawMessage) {
	peer := p.running()
	if peer == nil || peer.Modern() && !p.agent() {
		return
	}
	_ = peer.Conn.Notify(method, orNothing(params)) // it has ended
}

// orNothing are parameters for a wire.Conn, which leaves out nothing but nil. They are from a
// message that was parsed.
func orNothing(params json.RawMessage) any {
	if params == nil {
		return nil
	}
	return wire.Checked(params)
}

// wrong is an error of a server's as the client gets it: as it was written, unless we
// made it.
func (p *part) wrong(err error) error {
	if why, ok := streamable.Unreached(err); ok {
		return jrpc2.Errorf(jrpc2.InternalError, "the MCP server %s: %s", p.server.Name, why)
	}
	return err
}
