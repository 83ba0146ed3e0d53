package aggregate

import (
	"context"
	"io"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// Agent is our own agent, as an MCP server in this process.
type Agent interface {
	// Connect connects a client of a holder. hear receives the agent's messages to it, in
	// order, and does not block. The agent's work for the client runs under ctx.
	Connect(ctx context.Context, of access.Holder, hear func(proto.Message)) AgentConn
	// ServeFor serves a client of the early dialect over its own pipe, and returns when the pipe
	// has ended. It makes works report whether a turn runs for the client.
	ServeFor(ctx context.Context, p core.Principal, in io.ReadCloser, out io.WriteCloser, works *wire.Works) error
}

// AgentConn is a client's connection to our agent.
type AgentConn interface {
	// Send passes on a valid message of the client. It may block until the agent has taken the
	// message, but no longer.
	Send(m proto.Message)
	// Works reports whether a turn runs for the client.
	Works() bool
	// Close ends the connection and waits for everything that the agent has started for it.
	Close()
}

// messages adapts a connection to our agent to the messages of package wire.
type messages struct{ AgentConn }

// Send implements upstream.LocalServer.
func (c messages) Send(m wire.Message) { c.AgentConn.Send(decoded(m)) }

func decoded(m wire.Message) proto.Message {
	return proto.Message{ID: m.ID, Method: m.Method, Params: m.Params, Result: m.Result, Error: m.Error}
}

func enveloped(m proto.Message) wire.Message {
	return wire.Message{
		ID:        m.ID,
		HasID:     m.ID != nil,
		Method:    m.Method,
		Params:    m.Params,
		Result:    m.Result,
		Error:     m.Error,
		Versioned: true,
	}
}

// attach connects our agent, which answers the client's initialize itself.
func (p *part) attach(ctx context.Context) {
	c := p.side.caller
	peer := upstream.NewLocalPeer(p.hello(p.side.version, p.hops), func(hear func(wire.Message)) upstream.LocalServer {
		conn := c.agg.agent.Connect(ctx, c.of, func(m proto.Message) { hear(enveloped(m)) })
		p.works = conn.Works
		return messages{conn}
	})
	peer.Version = p.side.version
	peer.Caps = upstream.ServerCaps{
		Tools: &upstream.ListCaps{}, Prompts: &upstream.ListCaps{},
		Resources:   &upstream.ListCaps{ListChanged: true, Subscribe: true},
		Completions: &struct{}{}, Logging: &struct{}{},
	}
	p.own = peer
	c.owned.Go(func() {
		<-ctx.Done()
		peer.Close()
	})
}
