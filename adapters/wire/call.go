package wire

import (
	"context"
	"encoding/json"
	"sync"
)

// Call is one request or notification of the peer's. Params are a part of the message as
// it was read; whoever keeps a call for long, and has read them, may set them to nil,
// and so let go of the message.
type Call struct {
	ID     json.RawMessage // as it was written; nil: a notification
	Method string
	Params json.RawMessage // nil: absent or null

	conn *Conn
	in   *batch
	key  string // among the calls of the connection

	mu      sync.Mutex              // guards the fields below
	ctx     context.Context         //nolint:containedctx // the call's own, as in http.Request: it ends with the call
	cancel  context.CancelCauseFunc // of ctx; nil until somebody asks for it
	watcher Watcher
	ended   bool
	cause   error // why it ended
	replied bool
}

// Context ends when the call is answered, when the peer takes it back (cause
// ErrCanceled), or with the connection (cause ErrClosed, or that of Serve's context). A
// notification's is the connection's.
func (c *Call) Context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ID != nil && c.cancel == nil {
		// Made on demand: most calls are answered before anybody could want to end them.
		c.ctx, c.cancel = context.WithCancelCause(c.ctx)
		if c.ended {
			c.cancel(c.cause)
		}
	}
	return c.ctx
}

// connection returns a context that ends with the connection, for calls that are answered before
// more is read.
func (c *Call) connection() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ctx
}

// IsNotification reports whether the peer expects no answer.
func (c *Call) IsNotification() bool { return c.ID == nil }

// Reply answers the call: with err's error object if err is not nil, else with result,
// where nil is null. The order of calls of Reply is the order of the answers in the stream;
// Reply does not wait until the answer is written. Only the first Reply counts, and none on a notification
// or after the connection's end. Any goroutine may call it.
//
// An error that wraps a *jrpc2.Error is sent as that, with its data. Others have the
// code that jrpc2.ErrorCode finds, or jrpc2.InternalError, and their own text.
func (c *Call) Reply(result any, err error) {
	if c.ID == nil || c.answered() {
		return
	}
	c.conn.leave(c) // the id is free again before the peer can see the answer
	c.conn.answer(c, result, err)
	c.conn.left()
	c.end(nil)
}

// Drop ends the call without an answer, as protocols want it of one that the peer has
// taken back. It counts as its Reply.
func (c *Call) Drop() {
	if c.ID == nil || c.answered() {
		return
	}
	c.conn.leave(c)
	if c.in != nil {
		if whole := c.in.end(nil); whole != nil {
			c.conn.out.put(whole, true) //nolint:errcheck // the connection has ended
		}
	}
	c.conn.left()
	c.end(nil)
}

// answered notes an answer, and reports whether there was one before.
func (c *Call) answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	again := c.replied
	c.replied = true
	return again
}

// Watcher hears of a call that ends before it is answered.
type Watcher interface {
	// Ended is called once, with the cause that the call's context would have. It must not
	// block: what else arrives waits for it.
	Ended(cause error)
}

// Watch makes w the call's watcher, instead of any earlier one; nil: the call has none. A watcher
// costs less than a context. If the call has already ended without an answer, w is called at
// once.
func (c *Call) Watch(w Watcher) {
	c.mu.Lock()
	tell := w != nil && c.ended && !c.replied
	if c.watcher = w; tell {
		c.watcher = nil
	}
	cause := c.cause
	c.mu.Unlock()
	if tell {
		w.Ended(cause)
	}
}

// end ends the call's context.
func (c *Call) end(cause error) {
	c.mu.Lock()
	cancel, w := c.cancel, c.watcher
	c.watcher = nil
	if w != nil && !c.replied {
		defer w.Ended(cause)
	}
	if !c.ended {
		c.ended, c.cause = true, cause
	}
	c.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}
