package aggregate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/inference"
	"dragoman/core/toolsearch"
)

// side is a client as servers see it: with the version, name and capabilities of its initialize,
// or, at 2026-07-28, of its requests. Each side has its own connections to the servers.
type side struct {
	caller       *caller
	version      string
	client, caps json.RawMessage
	program      string // the client's name and version, as it says
	offers       upstream.Offers
	agent        *part
	tools        int         // Options.Tools
	keep         func(*part) // keeps a server connected until the part's cancel is called; nil: no servers
	end          context.CancelFunc
	busy         atomic.Int64 // open requests, and calls that wait for answers to questions
	used         atomic.Int64 // the time of the last request, in ns; at 2026-07-28
	consents     upstream.Consents

	all      atomic.Pointer[[]*part] // our agent, then the servers by name
	changing sync.Mutex              // held while the servers change; only leaves are locked within

	mu      sync.Mutex // guards the fields below
	level   string     // the client's log level; "": it has set none
	names   [namedKinds]*names
	lists   [allKinds]*snapshot
	routes  []route
	parked  map[string]*pass
	listens map[string]*listener // by the request's id
	hidden  []inference.ToolSpec // tools that the client finds by searching
	stirred [allKinds]bool       // a notification of its change is due
}

// newSide makes a side and connects our agent to it. Servers are started when they are needed.
func (c *caller) newSide(ctx context.Context, version string, client, caps json.RawMessage, hops int) *side {
	ctx, end := context.WithCancel(ctx)
	s := &side{
		caller:  c,
		version: version,
		client:  orObject(client),
		caps:    orObject(caps),
		end:     end,
		parked:  map[string]*pass{},
		listens: map[string]*listener{},
	}
	var who proto.Implementation
	_ = json.Unmarshal(s.client, &who) // missing members stay empty
	s.program = who.String()
	s.offers = upstream.ReadOffers(caps)
	o, exports := c.agg.shown()
	s.names[toolList] = newNames(o.Prefix, true)
	s.names[promptList] = newNames(o.Prefix, false)
	if s.tools = o.Tools; s.tools > 0 {
		s.names[toolList].assign([]ref{{core.Native, toolsearch.Search}, {core.Native, toolsearch.Call}}, nil)
	}
	s.agent = newPart(s, nil, hops)
	s.all.Store(&[]*part{s.agent})
	s.agent.attach(ctx)
	if hops >= maxHops {
		c.agg.box.Log(
			core.Native,
			"warn",
			fmt.Sprintf("a client that is %d gateways away is shown no servers: it may be one of them", hops),
		)
		return s
	}
	s.keep = func(p *part) {
		ctx, end := context.WithCancel(ctx)
		p.cancel = end
		c.owned.Go(func() {
			defer end()
			defer p.silence.Close()
			p.export.Keep(ctx, p.keeper)
		})
	}
	s.show(exports)
	return s
}

// parts returns our agent, then the servers by name.
func (s *side) parts() []*part { return *s.all.Load() }

// show switches to the servers given. Connections to servers that have not changed stay open,
// with their calls; the others end. It reports whether anything has changed.
func (s *side) show(exports []*upstream.Export) bool {
	if s.keep == nil {
		return false // the client is too many gateways away
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	before := s.parts()
	now := before[:1:1]
	for _, e := range exports {
		i := slices.IndexFunc(before, func(p *part) bool { return !p.agent() && p.export.Same(e) })
		if i >= 0 {
			now = append(now, before[i])
			continue
		}
		p := newPart(s, e, s.agent.hops)
		s.keep(p)
		now = append(now, p)
	}
	if slices.Equal(before, now) {
		return false
	}
	s.all.Store(&now)
	for _, p := range before[1:] {
		if !slices.Contains(now, p) {
			p.cancel()
		}
	}
	return true
}

// changedServers notifies the client of changed servers.
func (s *side) changedServers() {
	for _, k := range []kind{resourceList, templateList} {
		s.put(k) // so that resources are looked for at the new servers
	}
	for _, k := range []kind{toolList, promptList, resourceList} {
		s.changed(k)
	}
}

func orObject(b json.RawMessage) json.RawMessage {
	if b = bytes.TrimSpace(b); len(b) == 0 || b[0] != '{' {
		return json.RawMessage(`{}`)
	}
	return b
}

func (s *side) modern() bool { return s.version == proto.Modern }

// partOf finds a server by name; nil: there is none.
func (s *side) partOf(server string) *part {
	for _, p := range s.parts() {
		if p.server.Name == server {
			return p
		}
	}
	return nil
}

// receive handles a request. It does not block.
func (s *side) receive(ctx context.Context, call *wire.Call, q request) {
	agent := s.agent
	if s.modern() && (q.version != proto.Modern || q.caps == nil) {
		s.relay(agent, call, q) // it reports the error
		return
	}
	if s.modern() && isOver(call.Method) || !s.modern() && call.Method == proto.MethodListen {
		call.Reply(nil, jrpc2.Errorf(jrpc2.MethodNotFound, "there is no method %q at this version", call.Method))
		return
	}
	switch call.Method {
	case proto.MethodDiscover:
		s.discover(call, q)
	case proto.MethodListTools,
		proto.MethodListPrompts,
		proto.MethodListResources,
		proto.MethodListTemplates,
		proto.MethodListTasks:
		s.list(ctx, call, q)
	case proto.MethodCallTool, proto.MethodGetPrompt:
		s.named(ctx, call, q)
	case proto.MethodReadResource, proto.MethodSubscribe, proto.MethodUnsubscribe:
		s.located(ctx, call, q)
	case proto.MethodComplete:
		s.complete(ctx, call, q)
	case proto.MethodSetLevel:
		s.setLevel(call, q)
	case proto.MethodListen:
		s.listen(ctx, call, q)
	case proto.MethodGetTask, proto.MethodUpdateTask, proto.MethodCancelTask, proto.MethodTaskResult:
		s.task(call, q)
	case proto.MethodInitialize: // a second one
		s.relay(agent, call, q)
	default:
		call.Reply(nil, jrpc2.Errorf(jrpc2.MethodNotFound, "there is no method %.100q", call.Method))
	}
}

// aside calls f, which answers a request and may block, in a goroutine of its own.
func (s *side) aside(f func()) {
	s.busy.Add(1)
	s.caller.owned.Go(func() {
		defer s.busy.Add(-1)
		f()
	})
}

// isOver reports whether 2026-07-28 has removed a method.
func isOver(method string) bool {
	switch method {
	case proto.MethodInitialize,
		proto.MethodPing,
		proto.MethodSubscribe,
		proto.MethodUnsubscribe,
		proto.MethodSetLevel,
		proto.MethodListTasks,
		proto.MethodTaskResult:
		return true
	}
	return false
}

// discover answers server/discover, which replaces initialize at 2026-07-28.
func (s *side) discover(call *wire.Call, q request) {
	s.aside(func() {
		s.meet(call.Context())
		x := s.newPass(s.agent, call, q)
		x.after = s.introduced
		x.send()
	})
}

// introduced adds the capabilities and instructions of the servers to those of our agent.
func (s *side) introduced(res json.RawMessage) json.RawMessage {
	var r struct {
		Caps         map[string]json.RawMessage `json:"capabilities"`
		Instructions string                     `json:"instructions"`
	}
	if json.Unmarshal(res, &r) != nil {
		return res // it is the agent's, and always valid
	}
	if r.Caps == nil {
		r.Caps = map[string]json.RawMessage{}
	}
	for name, value := range map[string]string{
		"tools": `{"listChanged":true}`, "prompts": `{"listChanged":true}`, "resources": `{"subscribe":true,"listChanged":true}`, "logging": `{}`, "completions": `{}`,
	} {
		r.Caps[name] = json.RawMessage(value)
	}
	if s.hasTasks() { // each tool declares whether it can run as a task
		r.Caps["tasks"] = json.RawMessage(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)
	}
	return wire.Edit(res, wire.Set("capabilities", wire.JSON(r.Caps)), wire.Set("instructions", wire.JSON(s.instructions(r.Instructions))))
}
