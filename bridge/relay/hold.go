package relay

import (
	"context"
	"encoding/json"
	"strconv"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
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

// hold keeps a line back while the tools are not known; nil: it is not held. What it
// returns is closed when the next line may be read.
func (c *relayed) hold(ctx context.Context, line []byte, messages []wire.Message) <-chan struct{} {
	calls, answers := false, true
	for _, m := range messages {
		calls = calls || m.Method == proto.MethodCallTool
		answers = answers && m.Kind() == wire.Response
	}
	if answers {
		return nil
	}
	begin := calls && !c.view.Known()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.freed == nil && !begin {
		return nil
	}
	if c.held = append(c.held, line); c.freed == nil {
		c.freed = make(chan struct{})
		meta := metaOf(messages)
		c.owned.Go(func() { c.learn(ctx, meta) })
	}
	if c.size += len(line); c.size > wire.PumpRoom {
		return c.freed
	}
	return noWait
}

// metaOf is what the first call in messages says of its sender, for a request of our
// own: at 2026-07-28 each says that.
func metaOf(messages []wire.Message) json.RawMessage {
	for _, m := range messages {
		if m.Method == proto.MethodCallTool {
			meta := wire.Object(wire.Object(m.Params)["_meta"])
			delete(meta, proto.MetaToken)
			return wire.JSON(meta)
		}
	}
	return json.RawMessage("{}")
}

// learn has the tools listed and hands on what was held meanwhile.
func (c *relayed) learn(ctx context.Context, meta json.RawMessage) {
	within, cancel := upstream.Within(ctx, c.relay.export.Server.StartFor(), "it took too long")
	c.mu.Lock()
	greets := c.greets
	c.mu.Unlock()
	if greets != nil {
		until(within, greets)
	}
	err := c.view.Know(within, func(ctx context.Context, cursor string) (json.RawMessage, error) {
		return c.ask(ctx, listParams(cursor, meta))
	})
	cancel()
	for {
		c.mu.Lock()
		held := c.held
		c.held, c.size = nil, 0
		if len(held) == 0 {
			close(c.freed)
			c.freed = nil
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		for _, line := range held {
			if messages, bad := parts(line); bad == nil {
				c.forward(line, messages, err)
			}
		}
	}
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

// ask asks the server for a page of its tools.
func (c *relayed) ask(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	o := &opened{method: proto.MethodListTools, own: make(chan wire.Message, 1)}
	c.mu.Lock()
	c.asked++
	o.id = wire.JSON(c.secret + strconv.Itoa(c.asked))
	c.open[string(o.id)] = o
	c.mu.Unlock()
	defer c.settle(o.id)
	if err := c.up.Put(requestLine(o.id, proto.MethodListTools, params)); err != nil {
		return nil, err
	}
	select {
	case m, ok := <-o.own:
		if !ok {
			return nil, wire.ErrClosed
		}
		return resultOf(m)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
