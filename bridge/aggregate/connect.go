package aggregate

import (
	"context"
	"encoding/json"

	"dragoman/adapters/wire"
	"dragoman/core"
)

// Client is the connection of a client that has no pipe, as over HTTP. It is a
// streamable.Conn.
type Client struct {
	caller *caller
	take   func(key string, m wire.Message)
	close  func()
}

// Connect connects a client that has no pipe; send takes what is said to it, and programs are
// started in dir. shared: several clients' requests of 2026-07-28 come over the connection.
func (a *Server) Connect(p core.Principal, dir string, shared bool, send wire.Send) *Client {
	ctx, end := context.WithCancelCause(context.Background())
	c := a.newCaller(dir, p)
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

// Take says a message of the client's, which is valid.
func (c *Client) Take(key string, m wire.Message) { c.take(key, m) }

// Cancel takes back a request.
func (c *Client) Cancel(key string) { c.caller.conn.CancelRequest(json.RawMessage(key)) }

// Works reports whether a turn of the client's runs in our agent.
func (c *Client) Works() bool { return c.caller.works() }

// Close ends the connection and waits for all that it has started.
func (c *Client) Close() { c.close() }
