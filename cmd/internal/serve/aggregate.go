package serve

import (
	"context"
	"io"
	"net/http"
	"sync"

	"go.uber.org/zap"

	"dragoman/adapters/gate"
	"dragoman/adapters/mcp"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/aggregate"
	"dragoman/bridge/relay"
	"dragoman/core"
)

// aggregated is our agent as an MCP server, and beside it the MCP servers of the
// configuration. Without any it is the agent alone.
type aggregated struct {
	gateway *connection
	agent   *mcp.Server
	cwd     string // where programs are started
	// circle: the same configuration has started us as one of its servers, which would
	// only start each other.
	circle bool
}

// agent is our agent as an aggregate has it.
type agent struct{ *mcp.Server }

// Connect implements aggregate.Agent.
func (a agent) Connect(ctx context.Context, p core.Principal, hear func(proto.Message)) aggregate.AgentConn {
	return a.Server.Connect(ctx, p, hear)
}

// Serve implements server: one client over a pipe.
func (g aggregated) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	g.warn()
	all, err := g.load(g.gateway.profiles.Load)
	if err != nil { // which our agent's tools say too
		g.gateway.log.Warn("no MCP servers are offered to MCP clients", zap.Error(err))
	}
	if err != nil || all.Empty() {
		return g.agent.Serve(ctx, in, out)
	}
	return all.Serve(ctx, g.cwd, g.gateway.principal, in, out)
}

// allHTTP is that over HTTP. While the configuration says the same of the servers they
// are the same connections.
type allHTTP struct {
	aggregated
	alone *mcp.HTTP // where there are no servers

	mu     sync.Mutex // guards the fields below
	face   *relay.HTTP
	of     *aggregate.Server
	closed bool
}

func (g aggregated) HTTP() *allHTTP {
	return &allHTTP{aggregated: g, alone: g.agent.HTTP(gate.Principal)}
}

// ServeHTTP implements http.Handler.
func (h *allHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.current().ServeHTTP(w, r) }

// current is what the configuration says now. While it is wrong what was there stays.
func (h *allHTTP) current() http.Handler {
	all, err := h.load(h.gateway.profiles.Last)
	if err != nil {
		h.gateway.log.Warn("no other MCP servers are offered to MCP clients", zap.Error(err))
	}
	h.mu.Lock()
	old := h.face
	switch {
	case h.closed || err != nil && old == nil:
		h.mu.Unlock()
		return h.alone
	case err != nil || old != nil && h.of.Same(all):
		h.mu.Unlock()
		return old
	case all.Empty():
		h.face, h.of = nil, nil
	default:
		h.face, h.of = relay.Local(all.Dial).HTTP(h.cwd, gate.Principal), all
	}
	next := h.face
	h.mu.Unlock()
	if old != nil {
		old.Close() // its servers are not those of the configuration any more
	}
	if next == nil {
		return h.alone
	}
	return next
}

// Close ends all sessions of clients, and what they have started.
func (h *allHTTP) Close() {
	h.mu.Lock()
	face := h.face
	h.closed = true
	h.mu.Unlock()
	if face != nil {
		face.Close()
	}
	h.alone.Close()
}

// warn logs that nothing is handed on because of a circle.
func (g aggregated) warn() {
	if g.circle {
		g.gateway.log.Warn("no MCP servers are offered to MCP clients: the configuration has started this process as one of them")
	}
}

// load is what the configuration says now. rules is what judges the calls of clients.
func (g aggregated) load(rules profile) (*aggregate.Server, error) {
	made, err := g.gateway.profiles.Load()
	if err != nil {
		return nil, err
	}
	c := made.Config.MCP
	names := c.Servers
	if names == nil {
		names = []string{"*"}
	}
	if g.circle {
		names = nil
	}
	return aggregate.New(g.gateway.profiles.Servers(), aggregate.Options{
		Agent: agent{g.agent}, Servers: names, Prefix: aggregate.Prefix(c.Prefix), Tools: c.Tools, Check: judged(rules, g.cwd),
	}), nil
}
