package aggregate

import (
	"context"
	"encoding/json"

	"dragoman/adapters/wire"
	"dragoman/core/access"
)

// Client is the connection of a client without a pipe, as over HTTP. It implements
// streamable.Conn.
type Client struct {
	caller *caller
	take   func(key string, m wire.Message)
	close  func()
}

// Connect connects a client of a holder without a pipe. send receives the messages to it; servers' programs
// are started in dir. shared: requests of several clients of 2026-07-28 arrive on the connection.
func (a *Server) Connect(of access.Holder, dir string, shared bool, send wire.Send) *Client {
	ctx, end := context.WithCancelCause(context.Background())
	c := a.newCaller(dir, of)
	c.shared, c.posted = shared, true
	c.conn = wire.NewLocal(send, clientOptions())
	receive := func(call *wire.Call) { c.receive(ctx, call) }
	return &Client{
		caller: c,
		take: func(key string, m wire.Message) {
			if !c.bypass.take(ctx, c, m, send) {
				c.conn.Take(ctx, key, m, receive)
			}
		},
		close: func() {
			end(wire.ErrClosed)
			c.conn.End()
			c.left()
		},
	}
}

// Take handles a valid message of the client.
func (c *Client) Take(key string, m wire.Message) { c.take(key, m) }

// Cancel cancels the request with that key.
func (c *Client) Cancel(key string) { c.caller.conn.CancelRequest(json.RawMessage(key)) }

// Works reports whether our agent runs a turn for the client.
func (c *Client) Works() bool { return c.caller.works() }

// Close ends the connection and waits for everything that it has started.
func (c *Client) Close() { c.close() }
