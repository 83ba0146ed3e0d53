package serve

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"dragoman/adapters/gate"
	"dragoman/adapters/mcp"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/aggregate"
	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/setup"
	"dragoman/core/access"
)

// aggregateServer serves our agent and the MCP servers of the configuration as one MCP server.
// Without configured servers it serves the agent alone.
type aggregateServer struct {
	gateway *connection
	agent   *mcp.Server
	cwd     string // for started programs
	// circle: the same configuration has started us as one of its servers, and they would only
	// start each other.
	circle bool
}

// agent adapts our agent to the interface of an aggregate.
type agent struct{ *mcp.Server }

// Connect implements aggregate.Agent.
func (a agent) Connect(ctx context.Context, of access.Holder, hear func(proto.Message)) aggregate.AgentConn {
	return a.Server.Connect(ctx, of, hear)
}

// Serve implements server: one client over a pipe.
func (g aggregateServer) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	g.warn()
	made, err := g.gateway.profiles.Load()
	if err != nil { // which our agent's tools report too
		g.gateway.log.Warn("no MCP servers are offered to MCP clients", zap.Error(err))
		return g.agent.Serve(ctx, in, out)
	}
	all := aggregate.New(g.gateway.profiles.Servers(), g.options(made, g.gateway.profiles.LoadRules))
	if all.Empty() {
		return g.agent.Serve(ctx, in, out)
	}
	return all.Serve(ctx, g.cwd, g.gateway.principal, in, out)
}

// allHTTP serves the same over HTTP. Each session gets either the agent alone or the servers too,
// decided at its beginning; a later change of the configuration does not end it. A client that may
// not call servers' tools gets the agent alone.
type allHTTP struct {
	aggregateServer
	alone *mcp.HTTP // used if there are no servers

	mu     sync.Mutex // guards the fields below
	face   *streamable.Handler
	all    *aggregate.Server // nil: there was no configuration yet
	of     *setup.Profile    // the profile that all serves
	closed bool
}

func (g aggregateServer) HTTP() *allHTTP {
	h := &allHTTP{aggregateServer: g, alone: g.agent.HTTP(gate.Holder)}
	h.face = streamable.NewHandler(streamable.HandlerOptions{
		Connect: func(r *http.Request, c streamable.Visitor, send wire.Send) streamable.Conn {
			h.mu.Lock()
			all := h.all
			h.mu.Unlock()
			return all.Connect(gate.Holder(r), h.cwd, c.Shared, send)
		},
		Owner: func(r *http.Request) string { return gate.Holder(r).Key() },
		All:   maxClients, Each: maxOfClient, Idle: clientIdle, Limit: upstream.MaxMessage,
	})
	return h
}

const (
	// maxClients limits the clients at a time, each with connections of its own to the servers,
	// and maxOfClient those of one program.
	maxClients  = 64
	maxOfClient = 48
	// clientIdle limits the time that a client may be silent, with nothing open.
	clientIdle = 15 * time.Minute
)

// ServeHTTP implements http.Handler.
func (h *allHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	servers := h.look() && gate.Holder(r).Rights.Has(access.Act)
	switch session := r.Header.Get(proto.HeaderSession); {
	case session == "" && servers, session != "" && h.face.Knows(r):
		h.face.ServeHTTP(w, r)
	default:
		h.alone.ServeHTTP(w, r)
	}
}

// look looks at the configuration, and reports whether it has servers. While it has an error the
// previous state stays.
func (h *allHTTP) look() bool {
	made, err := h.gateway.profiles.LoadRules()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return false
	case err != nil:
		h.gateway.log.Warn("the MCP servers offered to MCP clients stay as they were", zap.Error(err))
	case h.all == nil:
		h.all, h.of = aggregate.New(h.gateway.profiles.Servers(), h.options(made, h.gateway.profiles.Last)), made
	case made != h.of:
		h.of = made
		h.all.Update(h.options(made, h.gateway.profiles.Last))
	}
	return h.all != nil && !h.all.Empty()
}

// Close ends all sessions of clients, and the programs that they have started.
func (h *allHTTP) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.face.Close()
	h.alone.Close()
}

// warn logs that nothing is offered because of a circle.
func (g aggregateServer) warn() {
	if g.circle {
		g.gateway.log.Warn(
			"no MCP servers are offered to MCP clients: the configuration has started this process as one of them",
		)
	}
}

// options returns the configuration's options for clients. rules judges their calls.
func (g aggregateServer) options(made *setup.Profile, rules profile) aggregate.Options {
	c := made.Config.MCP
	names := c.Servers
	if names == nil {
		names = []string{"*"}
	}
	if g.circle {
		names = nil
	}
	return aggregate.Options{
		Agent: agent{g.agent}, Check: judged(rules, g.cwd),
		Servers: names, Prefix: aggregate.Prefix(c.Prefix), Tools: c.Tools,
	}
}
