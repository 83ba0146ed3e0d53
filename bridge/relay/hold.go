package relay

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
)

// until waits; false: ctx ended first.
func until(ctx context.Context, wait <-chan struct{}) bool {
	select {
	case <-wait:
		return true
	case <-ctx.Done():
		return false
	}
}

// noWait is closed.
var noWait = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// heldLine is a line of the client's that waits to be sent.
type heldLine struct {
	line     []byte
	messages []wire.Message // of the line
	request  *request       // its request, if it was sent or allowed by the user before; nil: it was not
	listing  *listing       // the newest that began after the line had come; nil: none did
}

// listing is a list of tools that was requested for held lines.
type listing struct {
	on  *connection
	err error // why there is no list
}

// judgeable reports whether the calls of the line can be judged for a connection: the tools are known,
// or were listed there after the line had come.
func (h heldLine) judgeable(on *connection, known bool) bool {
	return known || h.listing != nil && h.listing.on == on || !slices.ContainsFunc(h.messages, isCall)
}

// unlisted returns the reason why the tools could not be listed on a connection for the line; nil:
// they were, or they are known.
func (h heldLine) unlisted(on *connection) error {
	if h.listing == nil || h.listing.on != on {
		return nil
	}
	return h.listing.err
}

func isCall(m wire.Message) bool { return m.Method == proto.MethodCallTool }

// hold holds a line while there is no connection, or the tools have to be listed for its call. The
// channel that it returns is closed when the next line may be read; nil: the line is not held.
func (c *pipeSession) hold(line []byte, messages []wire.Message) <-chan struct{} {
	if !slices.ContainsFunc(messages, func(m wire.Message) bool { return m.Kind() != wire.Response }) {
		return nil
	}
	unknown := slices.ContainsFunc(messages, isCall) && !c.view.Known()
	c.mu.Lock()
	held := c.freed != nil || unknown || c.server == nil || !c.server.ready
	c.mu.Unlock()
	if !held {
		return nil
	}
	if c.unhold(messages) {
		return noWait
	}
	return c.holdBack(heldLine{line: line, messages: messages})
}

// unhold drops the held request that the messages cancel. It reports whether there was one.
func (c *pipeSession) unhold(messages []wire.Message) bool {
	if len(messages) != 1 || messages[0].Method != proto.NoteCancelled {
		return false
	}
	id := streamable.CancelledID(messages[0].Params)
	c.mu.Lock()
	i := slices.IndexFunc(c.held, func(h heldLine) bool {
		return len(h.messages) == 1 && h.messages[0].Kind() == wire.Request &&
			string(h.messages[0].ID) == string(id)
	})
	var of *request
	if i >= 0 {
		of = c.held[i].request
		c.size -= len(c.held[i].line)
		c.held = slices.Delete(c.held, i, i+1)
	}
	c.mu.Unlock()
	if of != nil {
		of.call.End(upstream.OutcomeCancelled, 0)
	}
	return i >= 0
}

// holdBack holds lines until they can be sent; those that were sent before come first. The channel
// that it returns is closed when the next line may be read. It refuses the lines if there will be no
// connection.
func (c *pipeSession) holdBack(lines ...heldLine) <-chan struct{} {
	if len(lines) == 0 {
		return noWait
	}
	c.mu.Lock()
	if err := c.closed; err != nil {
		c.mu.Unlock()
		for _, h := range lines {
			c.refuseHeld(h, err)
		}
		return noWait
	}
	if lines[0].request != nil {
		c.held = append(lines, c.held...)
	} else {
		c.held = append(c.held, lines...)
	}
	for _, h := range lines {
		c.size += len(h.line)
	}
	if c.freed == nil {
		c.freed = make(chan struct{})
	}
	wait := noWait
	if c.size > wire.PumpRoom {
		wait = c.freed
	}
	c.mu.Unlock()
	select {
	case c.stir <- struct{}{}:
	default:
	}
	return wait
}

// refuseHeld answers the requests of a line that will not be sent.
func (c *pipeSession) refuseHeld(h heldLine, err error) {
	if h.request != nil {
		h.request.call.End(upstream.OutcomeError, 0)
	}
	for _, m := range h.messages {
		if m.Kind() == wire.Request {
			c.refuse(m.ID, jrpc2.Errorf(jrpc2.InternalError, "%v", err))
		}
	}
}

// releaseHeld sends the held lines whenever that is possible, until ctx ends. Then it refuses them.
func (c *pipeSession) releaseHeld(ctx context.Context) {
	for until(ctx, c.stir) {
		c.release(ctx)
	}
	c.mu.Lock()
	c.closed = context.Cause(ctx)
	c.mu.Unlock()
	c.release(ctx)
}

// release waits for a connection, has the tools listed if a call is held, and sends the held lines.
// If the next start fails, or two connections end while the tools are listed, it refuses their
// requests.
func (c *pipeSession) release(ctx context.Context) {
	for ended := 0; c.holds(); {
		s, down := c.connected(ctx)
		held, call := c.takeHeld(s, down != nil || c.view.Known())
		if call.Method != "" {
			l := c.beginListing(s)
			l.err = c.learn(ctx, s, call)
			if l.err == nil || c.current() == s {
				continue
			}
			if ended++; ended < 2 {
				continue
			}
			held, _ = c.takeHeld(s, true)
			down = l.err
		}
		ended = 0
		for i, h := range held {
			if down != nil {
				c.refuseHeld(h, down)
			} else if !c.forward(h) {
				c.restore(held[i:])
				break
			}
		}
	}
}

// beginListing notes for all held lines that the tools are listed on a connection now.
func (c *pipeSession) beginListing(on *connection) *listing {
	l := &listing{on: on}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.held {
		c.held[i].listing = l
	}
	return l
}

// restore holds lines again that were taken and could not be sent. They come before all others but
// those that were sent.
func (c *pipeSession) restore(lines []heldLine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := 0
	for at < len(c.held) && c.held[at].request != nil {
		at++
	}
	c.held = slices.Insert(c.held, at, lines...)
	for _, h := range lines {
		c.size += len(h.line)
	}
}

// holds reports whether a line is held. If none is, it wakes whoever waits for that.
func (c *pipeSession) holds() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.held) > 0 {
		return true
	}
	if c.freed != nil {
		close(c.freed)
		c.freed = nil
	}
	return false
}

// takeHeld removes the lines that can be sent on a connection, and returns them; known: the tools are
// known. If the first line is a call for which the tools have to be listed there, it removes nothing
// and returns the call.
func (c *pipeSession) takeHeld(on *connection, known bool) (held []heldLine, call wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.held {
		if !h.judgeable(on, known) {
			break
		}
		held = append(held, h)
		c.size -= len(h.line)
	}
	if c.held = slices.Delete(c.held, 0, len(held)); len(held) == 0 && len(c.held) > 0 {
		call = c.held[0].messages[slices.IndexFunc(c.held[0].messages, isCall)]
	}
	return held, call
}

// connected waits for a connection that is ready.
func (c *pipeSession) connected(ctx context.Context) (*connection, error) {
	for {
		p, err := c.keeper.Acquire(ctx, true)
		if err != nil {
			return nil, err
		}
		if s := c.current(); s != nil && s.peer == p {
			return s, nil
		}
		if !until(ctx, p.Done) { // the connection is about to end
			return nil, context.Cause(ctx)
		}
	}
}

// learn has the tools listed on a connection, for a call.
func (c *pipeSession) learn(ctx context.Context, s *connection, call wire.Message) error {
	ctx, cancel := upstream.Within(ctx, c.relay.export.Server.StartFor(), "it took too long")
	defer cancel()
	c.mu.Lock()
	greets := c.greets
	c.mu.Unlock()
	if greets != nil {
		until(ctx, greets)
	}
	err := c.view.Know(ctx, func(ctx context.Context, cursor string) (json.RawMessage, error) {
		return c.ask(ctx, s, proto.MethodListTools, listParams(cursor, metaOf(streamable.ReadParams(call.Params))))
	})
	if streamable.SessionLost(err) {
		until(ctx, s.over) // the connection ends now
	}
	return err
}

// metaOf returns the metadata of a call without its progress token, for a request of our own: at
// 2026-07-28 each request describes the client.
func metaOf(call streamable.Params) json.RawMessage {
	meta := wire.Object(call.Meta)
	delete(meta, proto.MetaToken)
	return wire.JSON(meta)
}

// listParams asks for a page of the tools.
func listParams(cursor string, meta json.RawMessage) json.RawMessage {
	p := map[string]json.RawMessage{}
	if cursor != "" {
		p["cursor"] = wire.JSON(cursor)
	}
	if len(meta) > len("{}") {
		p["_meta"] = meta
	}
	return wire.JSON(p)
}

// request sends the server a request of our own.
func (c *pipeSession) request(s *connection, method string, params json.RawMessage) *request {
	o := &request{method: method, on: s, own: make(chan wire.Message, 1)}
	c.mu.Lock()
	c.asked++
	o.id = wire.JSON(c.secret + strconv.Itoa(c.asked))
	c.open[string(o.id)] = o
	c.mu.Unlock()
	_ = s.out.Put(requestLine(o.id, method, params)) // a server that has left is noticed by its stream
	return o
}

// ask sends the server a request of our own, and waits for the answer.
func (c *pipeSession) ask(
	ctx context.Context, s *connection, method string, params json.RawMessage,
) (json.RawMessage, error) {
	o := c.request(s, method, params)
	defer c.settle(o.id)
	select {
	case m := <-o.own:
		return resultOf(m)
	case <-s.over:
		return nil, wire.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
