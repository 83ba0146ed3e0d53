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
	"dragoman/bridge/upstream/silence"
	"dragoman/core"
)

// part is a server behind a side, or our agent. A keeper connects it when it is first needed, and
// again when the connection breaks.
type part struct {
	side   *side
	server upstream.Server  // core.Native by name: our agent
	export *upstream.Export // nil: our agent
	view   *upstream.View   // the tools that may be used; nil: our agent
	hops   int              // gateways that the client's requests have passed
	keeper *upstream.Keeper // nil: our agent
	cancel func()           // ends the keeping; nil: our agent
	own    *upstream.Peer   // our agent's connection, set before any request; nil: a server
	works  func() bool      // reports whether our agent runs a turn for the client; nil: a server
	// owes: a list has waited in vain for the current start, or the last one. Only the keeper's
	// goroutine uses it.
	owes    bool
	silence silence.Watch

	mu     sync.Mutex // guards the fields below
	late   bool       // a list has waited for the server in vain
	known  [allKinds][]item
	kept   keptTools
	held   []string             // new tools that must be agreed to first, and are not in known
	looks  [allKinds][]*listing // that are open, oldest first
	judges *listing             // that calls wait for; nil: none do
	open   []*pass              // calls in which the server may ask, oldest first
	level  level                // that the server was given
	subs   map[string]*wire.Ask // subscriptions at the server, by URI; values are nil at the older versions
	wanted map[string]bool      // URIs that the client has subscribed to
}

// newPart makes the part of an export, or of our agent if export is nil.
func newPart(s *side, export *upstream.Export, hops int) *part {
	p := &part{
		side: s, server: upstream.Server{Name: core.Native}, export: export, hops: hops,
		subs: map[string]*wire.Ask{}, wanted: map[string]bool{},
	}
	if export != nil {
		p.server, p.view, p.keeper = export.Server, export.View(&s.consents), export.NewKeeper(p, s.caller.dir)
		p.late = export.Introduction().Late
	}
	return p
}

func (p *part) agent() bool { return p.export == nil }

func (p *part) box() *upstream.Box { return p.side.caller.agg.box }

func (p *part) log(level, text string) { p.box().Log(p.server.Name, level, text) }

// Begin implements upstream.Job: it starts the server and agrees on a version.
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
	if err != nil && version == proto.Modern && ctx.Err() == nil { // some servers end when they see an unknown method
		peer, err = p.meet(ctx, e, proto.Legacy)
	}
	if err != nil {
		return nil, err
	}
	p.export.Introduce(upstream.Introduction{
		Instructions: peer.Instructions,
		Known:        true,
		Refused:      refused || p.side.modern() && !peer.Modern(),
	})
	p.view.Stale()                           // it may be another program by now
	p.setLevel(ctx, peer, p.side.logLevel()) // before any call
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

// hello returns the introduction of the client to a server.
func (p *part) hello(version string, hops int) upstream.Hello {
	s := p.side
	return upstream.Hello{
		Client:  s.client,
		Caps:    s.caps,
		Version: version,
		Hops:    hops,
		Handle:  p.receive,
	}
}

// Follow implements upstream.Job: it gives the server the client's log level and subscriptions.
func (p *part) Follow(ctx context.Context, peer *upstream.Peer) string {
	s := p.side
	p.setLevel(ctx, peer, s.logLevel()) // the client may have set another since
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
	p.subs = map[string]*wire.Ask{}
	return peer.Why()
}

// Failed implements upstream.Job.
func (p *part) Failed(why string) {
	p.mu.Lock()
	p.late = true
	p.mu.Unlock()
	p.log("warn", "does not run for a client: "+why)
	if notice := p.loginNotice(); notice != "" {
		p.side.logNotice(notice)
	}
}

// running returns the connection; nil: there is none.
func (p *part) running() *upstream.Peer {
	switch {
	case !p.agent():
		return p.keeper.Running()
	case p.own == nil || p.own.Over():
		return nil
	}
	return p.own
}

// acquire returns the connection, and starts the server if there is none. It waits for a start in
// progress; if patient, also for the end of a pause between starts.
func (p *part) acquire(ctx context.Context, patient bool) (*upstream.Peer, error) {
	if !p.agent() {
		return p.keeper.Acquire(ctx, patient)
	}
	if peer := p.running(); peer != nil {
		return peer, nil
	}
	return nil, &upstream.DownError{Server: p.server.Name, Why: "the connection has ended"}
}

// tell passes on a notification of the client, if the server runs and takes it.
func (p *part) tell(method string, params json.RawMessage) {
	peer := p.running()
	if peer == nil || peer.Modern() && !p.agent() {
		return
	}
	_ = peer.Conn.Notify(method, orNothing(params)) // it has ended
}

// orNothing prepares parameters of a parsed message for a wire.Conn, which leaves out only nil.
func orNothing(params json.RawMessage) any {
	if params == nil {
		return nil
	}
	return wire.ValidJSON(params)
}

// wrong returns an error of a server for the client: as it was written, unless it is ours.
func (p *part) wrong(err error) error {
	if why, ok := streamable.Unreached(err); ok {
		return jrpc2.Errorf(jrpc2.InternalError, "the MCP server %s: %s", p.server.Name, why)
	}
	return err
}
