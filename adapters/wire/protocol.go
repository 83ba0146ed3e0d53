package wire

import "context"

// Protocol serves the calls of one connection.
type Protocol interface {
	// Begin is called on the reading goroutine, before the first call is handled. handle is
	// the handler of [Conn.Serve]; end is called when that has returned: it waits for what
	// Begin and handle started. ctx is that of Serve.
	Begin(ctx context.Context, c *Conn) (handle func(*Call), end func())
}

// ServeFirst is [Conn.Serve] for a stream on which the peer's first call shows which
// protocol it speaks: choose is given its method, once. What is no call is answered
// before that as it is behind it.
func (c *Conn) ServeFirst(ctx context.Context, choose func(method string) Protocol) error {
	var handle func(*Call)
	end := func() {}
	err := c.Serve(ctx, func(call *Call) {
		if handle == nil {
			handle, end = choose(call.Method).Begin(ctx, c)
		}
		handle(call)
	})
	end()
	return err
}
