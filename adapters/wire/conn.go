package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"
)

// Conn is one JSON-RPC connection, in both directions. Its methods may be used by many
// goroutines, and before Serve.
type Conn struct {
	in     io.Closer
	frames Framer
	out    *Writer
	opts   Options
	send   Send // receives the output of a connection without a stream; nil: there is a stream
	bare   atomic.Bool
	edge   atomic.Pointer[Edge]
	bufs   sync.Pool // *[]byte, for one message each

	mu    sync.Mutex // guards the fields below
	calls map[string]*Call
	asked map[int64]*Ask
	last  int64         // the id of our latest request
	wraps bool          // ids have started again from 1
	open  int           // calls whose answers are not queued yet
	idle  chan struct{} // closed when open comes to 0; nil: nothing waits for it
	ended bool
	stats Stats
}

// NewConn returns a connection that reads in and writes out, and closes both at its end.
// A Close of in must end a Read that is under way. Where in is a [Framer] itself it is not
// read, but asked for the next message.
func NewConn(in io.ReadCloser, out io.WriteCloser, o Options) *Conn {
	o.MaxOpen = orDefault(o.MaxOpen, DefaultMaxOpen)
	o.MaxReplies = orDefault(o.MaxReplies, DefaultMaxReplies)
	o.MaxReplyBytes = orDefault(o.MaxReplyBytes, DefaultMaxReplyBytes)
	if o.MaxBatch == 0 {
		o.MaxBatch = DefaultMaxBatch
	}
	frames, ok := in.(Framer)
	if !ok {
		frames = o.Framing.Framer(in, o.MaxMessage)
	}
	c := &Conn{
		in:     in,
		frames: frames,
		opts:   o,
		calls:  map[string]*Call{},
		asked:  map[int64]*Ask{},
	}
	if o.Recorder != nil {
		c.frames = o.Recorder.Framer(c.frames)
	}
	c.out = NewWriter(out, o.Framing)
	c.out.Linger, c.out.Recorder = o.Linger, o.Recorder
	c.bare.Store(o.Bare)
	return c
}

// Writer is the connection's output. What is put there passes no [Edge].
func (c *Conn) Writer() *Writer { return c.out }

// SetBare sets whether messages omit "jsonrpc" from now on.
func (c *Conn) SetBare(bare bool) { c.bare.Store(bare) }

// Stats returns the counters.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Serve reads until the stream or ctx ends, and calls handle for each request and
// notification: on this goroutine, in the order of the stream. handle must not block; it
// answers the call, or passes it on.
//
// At the end the contexts of all open calls end, with the cause ErrClosed or ctx's own;
// all our requests fail with ErrClosed; what is queued is written, for at most
// Options.Linger; both streams are closed. With Options.Drain, a peer that has only
// ended its own side, as a shell's pipe does, gets the answers to its open calls first, and
// all that is queued for as long as it reads on.
// Serve returns after all that it started has ended: nil when the peer left, in whatever
// way, the cause of ctx when that ended, else what failed.
func (c *Conn) Serve(ctx context.Context, handle func(*Call)) error {
	serving, end := context.WithCancelCause(ctx)
	var owner sync.WaitGroup
	var written error
	owner.Go(func() {
		written = c.out.Run(context.WithoutCancel(ctx)) // it ends by Close, so that the queue is still written
		end(ErrClosed)
	})
	owner.Go(func() {
		<-serving.Done()
		c.in.Close() // ends a Read in progress, which handles the error
	})
	read := c.read(serving, handle)
	if serving.Err() != nil {
		read = ErrClosed // it was ended
	}
	draining := errors.Is(read, io.EOF) && c.opts.Drain > 0
	if draining {
		c.drain(serving)
	}
	end(ErrClosed)
	c.release()
	if draining {
		c.out.Drain(ctx)
	}
	c.out.Close()
	owner.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case written != nil && !PeerLeft(written):
		return written
	case !PeerLeft(read):
		return fmt.Errorf("read: %w", read)
	}
	return nil
}

// PeerLeft reports whether an error of a stream only means that the peer has left: the stream's
// end, also within a message, or a broken pipe.
func PeerLeft(err error) bool {
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return hungUp(err)
}

// drain waits until no call is open, for at most Options.Drain.
func (c *Conn) drain(ctx context.Context) {
	idle := make(chan struct{})
	c.mu.Lock()
	open := c.open
	if open > 0 {
		c.idle = idle
	}
	c.mu.Unlock()
	if open == 0 {
		return
	}
	t := time.NewTimer(c.opts.Drain)
	defer t.Stop()
	select {
	case <-idle:
	case <-t.C:
	case <-ctx.Done():
	}
}

// leave frees the id of a call that is being answered.
func (c *Conn) leave(call *Call) {
	c.mu.Lock()
	delete(c.calls, call.key)
	c.mu.Unlock()
}

// left notes that a call's answer is queued.
func (c *Conn) left() {
	c.mu.Lock()
	idle := c.idle
	if c.open--; c.open > 0 {
		idle = nil
	} else {
		c.idle = nil
	}
	c.mu.Unlock()
	if idle != nil {
		close(idle)
	}
}

// release ends the open calls and our own requests.
func (c *Conn) release() {
	c.mu.Lock()
	c.ended = true
	asked, open := c.asked, slices.Collect(maps.Values(c.calls))
	c.asked = nil
	c.mu.Unlock()
	for _, call := range open {
		call.end(ErrClosed)
	}
	for _, a := range asked {
		c.finish(a, nil, ErrClosed)
	}
}

func (c *Conn) read(ctx context.Context, handle func(*Call)) error {
	limit := tally{c.opts.MaxReplies, c.opts.MaxReplyBytes}
	for {
		if err := c.out.answersRoom(ctx, limit); err != nil {
			return err
		}
		b, err := c.frames.Next()
		if fault, ok := errors.AsType[*FrameError](err); ok {
			c.broken(fault)
		} else if err != nil {
			return err
		} else if m, ok := c.parsed(); ok {
			c.dispatch(ctx, m, nil, nil, handle)
		} else {
			c.frame(ctx, b, handle)
		}
	}
}

// broken answers a frame that could not be read; with its id if it can be seen all the same.
func (c *Conn) broken(fault *FrameError) {
	m, err := Message{}, error(nil)
	if fault.Body != nil {
		m, err = Parse(fault.Body)
	}
	if err == nil && m.Kind() == Response {
		c.answered(m, fault) // an answer is never answered, but whoever waits for it hears why it is none
		return
	}
	c.reject(nil, m.ID, jrpc2.Errorf(jrpc2.ParseError, "%s", fault.Msg))
}

func (c *Conn) frame(ctx context.Context, b []byte, handle func(*Call)) {
	if err := checkJSON(b); err != nil {
		if r, ok := c.frames.(Resyncer); ok {
			r.Resync(b)
		}
		c.reject(nil, nil, err)
		return
	}
	b = bytes.Trim(b, space)
	if b[0] != '[' {
		c.message(ctx, b, nil, handle)
		return
	}
	c.batch(ctx, b, handle)
}

func (c *Conn) message(ctx context.Context, b []byte, in *batch, handle func(*Call)) {
	if e := c.edge.Load(); e != nil {
		b = (*e).Read(b)
	}
	m, err := parseValid(b)
	c.dispatch(ctx, m, err, in, handle)
}

// parsed is the message that was read last, if its framer has parsed it.
func (c *Conn) parsed() (m Message, ok bool) {
	if p, is := c.frames.(Parser); is && c.edge.Load() == nil {
		return p.Parsed()
	}
	return m, false
}

// dispatch handles a parsed message; if err is not nil, the message is invalid.
func (c *Conn) dispatch(ctx context.Context, m Message, err error, in *batch, handle func(*Call)) {
	switch m.Kind() {
	case Response:
		c.answered(m, err)
		return
	case Request, Notification:
	}
	if err != nil {
		c.reject(in, m.ID, err)
		return
	}
	if c.opts.NullIDs && m.HasID && m.ID == nil {
		m.ID = json.RawMessage("null")
	}
	m.ID = bytes.Clone(m.ID) // a call may be open for long, and shall not hold a large message by its id
	c.start(&Call{ID: m.ID, Method: m.Method, Params: m.Params, conn: c, ctx: ctx, in: in, key: string(m.ID)}, handle)
}

// start hands a valid request or notification to the handler, unless the request must be refused.
func (c *Conn) start(call *Call, handle func(*Call)) {
	m, in := call, call.in
	if m.ID == nil {
		c.run(call, handle)
		return
	}
	in.begin()
	switch c.enter(call) {
	case entered:
		c.run(call, handle)
	case taken:
		c.answer(call, nil, jrpc2.Errorf(jrpc2.InvalidRequest, "a request with the id %.60s is still open", m.ID))
	case crowded:
		c.answer(call, nil, jrpc2.Errorf(CodeBusy, "more than %d requests are open", c.opts.MaxOpen))
	}
}

type entry uint8

const (
	entered entry = iota
	taken         // a request with the same id is open
	crowded       // too many are open
)

func (c *Conn) enter(call *Call) entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.calls[call.key]; ok {
		c.stats.Broken++
		return taken
	}
	if len(c.calls) >= c.opts.MaxOpen {
		c.stats.Refused++
		return crowded
	}
	c.calls[call.key] = call
	c.open++
	return entered
}

func (c *Conn) run(call *Call, handle func(*Call)) {
	defer func() {
		if v := recover(); v != nil {
			c.panicked(call.Method, v)
			call.Reply(nil, jrpc2.Errorf(jrpc2.InternalError, "internal error"))
		}
	}()
	handle(call)
}

// panicked must be called by the deferred function that recovered.
func (c *Conn) panicked(method string, value any) {
	c.mu.Lock()
	c.stats.Panics++
	c.mu.Unlock()
	if c.opts.Panicked != nil {
		c.opts.Panicked(method, value, debug.Stack())
	}
}

// reject answers what never became a call.
func (c *Conn) reject(in *batch, id json.RawMessage, err error) {
	c.mu.Lock()
	c.stats.Broken++
	c.mu.Unlock()
	in.begin()
	c.put(in, id, nil, err)
}

// answer sends a call's answer, or adds it to its batch. It never waits.
func (c *Conn) answer(call *Call, result any, err error) {
	if c.send != nil {
		c.send(answerOf(call.ID, result, err), call)
		return
	}
	c.put(call.in, call.ID, result, err)
}

// put queues an answer, or adds it to its batch. It never waits.
func (c *Conn) put(in *batch, id json.RawMessage, result any, err error) {
	if large := sizeOf(result); large > chunk && in == nil && c.edge.Load() == nil {
		b := make([]byte, 0, large+len(id)+len(`{"jsonrpc":"2.0","id":,"result":}`)+1)
		c.out.give(appendAnswer(b, c.bare.Load(), id, result, err))
		return
	}
	buf := c.buffer()
	*buf = appendAnswer(*buf, c.bare.Load(), id, result, err)
	whole := *buf
	if e := c.edge.Load(); e != nil {
		whole = (*e).Answer(whole)
	}
	if in != nil {
		whole = in.end(whole)
	}
	if whole != nil {
		c.out.put(whole, true) //nolint:errcheck // the connection has ended
	}
	c.giveBack(buf)
}

// sizeOf returns the size of a value that is JSON already; 0: it is not.
func sizeOf(v any) int {
	switch v := v.(type) {
	case json.RawMessage:
		return len(v)
	case ValidJSON:
		return len(v)
	}
	return 0
}

func (c *Conn) buffer() *[]byte {
	if b, ok := c.bufs.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (c *Conn) giveBack(b *[]byte) {
	if cap(*b) > keep {
		return
	}
	*b = (*b)[:0]
	c.bufs.Put(b)
}

// Notify queues a notification. It never blocks; params are encoded as [AppendJSON]
// does, and left out when nil.
func (c *Conn) Notify(method string, params any) error { return c.notify(method, params, nil) }

func (c *Conn) notify(method string, params any, within *Call) error {
	if c.send != nil {
		m, err := messageOf(0, method, params)
		if err != nil {
			return fmt.Errorf("notify %s: %w", method, err)
		}
		c.send(m, within)
		return nil
	}
	buf := c.buffer()
	defer c.giveBack(buf)
	msg, err := appendMethod(appendHead(*buf, c.bare.Load()), method, params)
	if *buf = msg; err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return c.queue(msg)
}

// CancelRequest ends the context of the peer's open request with that id, as it was
// written, with the cause ErrCanceled. It reports whether there is such a request, which must
// still be answered.
func (c *Conn) CancelRequest(id json.RawMessage) bool { return c.CancelRequestFor(id, "") }

// CanceledError is an ErrCanceled with the peer's reason.
type CanceledError struct{ Reason string }

func (e *CanceledError) Error() string { return ErrCanceled.Error() + ": " + e.Reason }

// Unwrap returns ErrCanceled.
func (e *CanceledError) Unwrap() error { return ErrCanceled }

// CancelRequestFor is CancelRequest with the peer's reason, which the cause then has, as a
// *CanceledError; "": none.
func (c *Conn) CancelRequestFor(id json.RawMessage, reason string) bool {
	id = bytes.Trim(id, space)
	c.mu.Lock()
	call := c.calls[string(id)]
	c.mu.Unlock()
	if call == nil {
		return false
	}
	if reason != "" {
		call.end(&CanceledError{reason})
	} else {
		call.end(ErrCanceled)
	}
	return true
}
