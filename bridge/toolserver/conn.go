package toolserver

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/gate"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/core"
)

// owner tells holders of the pool's gate apart.
func owner(r *http.Request) string { return gate.Holder(r).Key() }

// conn is a connection of the agent's. It implements streamable.Conn.
type conn struct {
	session *Session
	wire    *wire.Conn
	modern  bool            // requests of 2026-07-28 come over it, and no others
	ctx     context.Context //nolint:containedctx // the connection's life, ended by Close
	end     context.CancelCauseFunc
	owned   sync.WaitGroup
	took    *catalog // the list that it was given last; nil: none. Session.mu guards it

	mu      sync.Mutex // guards the fields below
	open    int        // requests that are being answered
	listens map[*wire.Call]struct{}
	closed  bool
}

// connect connects a client of the agent's. It is streamable.HandlerOptions.Connect.
func (s *Session) connect(_ *http.Request, v streamable.Visitor, send wire.Send) streamable.Conn {
	c := &conn{session: s, modern: v.Shared, listens: map[*wire.Call]struct{}{}}
	c.ctx, c.end = context.WithCancelCause(context.Background())
	c.wire = wire.NewLocal(send, wire.Options{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	return c
}

// Take implements streamable.Conn.
func (c *conn) Take(key string, m wire.Message) { c.wire.Take(c.ctx, key, m, c.receive) }

// Cancel implements streamable.Conn.
func (c *conn) Cancel(key string) { c.wire.CancelRequest(json.RawMessage(key)) }

// Works implements streamable.Conn.
func (c *conn) Works() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open > 0
}

// Close implements streamable.Conn.
func (c *conn) Close() {
	s := c.session
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	for _, call := range c.listeners() {
		call.Reply(listened(call), nil)
	}
	c.end(wire.ErrClosed)
	c.wire.End()
	c.owned.Wait()
}

// receive handles a message. It does not block.
func (c *conn) receive(call *wire.Call) {
	if call.IsNotification() {
		if id, reason := streamable.Cancelled(call.Params); call.Method == proto.NoteCancelled && id != nil {
			c.wire.CancelRequestFor(id, reason)
		}
		return
	}
	if version := streamable.VersionOf(call.Params); c.modern && version != proto.Modern {
		call.Reply(nil, &jrpc2.Error{
			Code:    proto.CodeUnsupportedVersion,
			Message: "the version is not supported",
			Data:    wire.JSON(map[string]any{"supported": proto.Versions(), "requested": version}),
		})
		return
	}
	switch {
	case call.Method == proto.MethodListTools:
		c.aside(call, c.list)
	case call.Method == proto.MethodCallTool:
		c.aside(call, c.call)
	case c.modern && call.Method == proto.MethodDiscover:
		call.Reply(c.discovered(), nil)
	case c.modern && call.Method == proto.MethodListen:
		c.listen(call)
	case !c.modern && call.Method == proto.MethodInitialize:
		call.Reply(c.initialized(call.Params), nil)
	case !c.modern && call.Method == proto.MethodPing:
		call.Reply(json.RawMessage(`{}`), nil)
	default:
		call.Reply(nil, jrpc2.Errorf(jrpc2.MethodNotFound, "there is no method %.100q", call.Method))
	}
}

// aside answers a request in a goroutine of its own.
func (c *conn) aside(call *wire.Call, f func(*wire.Call)) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.open++
		c.owned.Go(func() {
			defer func() {
				c.mu.Lock()
				c.open--
				c.mu.Unlock()
			}()
			f(call)
		})
	}
	c.mu.Unlock()
	if closed {
		call.Reply(nil, wire.ErrClosed)
	}
}

const (
	// capabilities are the same at every version.
	capabilities = `{"tools":{"listChanged":true}}`
	instructions = "The tools of the user's MCP servers, named SERVER__TOOL, and of the user's editor."
	// uncached belongs to each list of 2026-07-28.
	uncached = `,"resultType":"complete","ttlMs":0,"cacheScope":"private"`
)

func (c *conn) introduction() json.RawMessage {
	return wire.JSON(proto.Implementation{Name: c.session.client.Name, Version: c.session.pool.opts.Version})
}

// initialized answers initialize.
func (c *conn) initialized(params json.RawMessage) json.RawMessage {
	var hello struct {
		Version string `json:"protocolVersion"`
	}
	_ = wire.Unmarshal(params, &hello) // without one it gets ours
	if !proto.IsLegacy(hello.Version) {
		hello.Version = proto.Legacy
	}
	return wire.Edit(nil,
		wire.Set("protocolVersion", wire.JSON(hello.Version)),
		wire.Set("capabilities", json.RawMessage(capabilities)),
		wire.Set("serverInfo", c.introduction()),
		wire.Set("instructions", wire.JSON(instructions)),
	)
}

// discovered answers server/discover.
func (c *conn) discovered() json.RawMessage {
	b := append([]byte(`{"supportedVersions":`), wire.JSON(proto.Versions())...)
	b = append(append(append(b, `,"capabilities":`+capabilities+`,"instructions":`...), wire.JSON(instructions)...), uncached...)
	return wire.Edit(append(b, '}'), wire.Set("_meta", wire.Edit(nil, wire.Set(proto.MetaServer, c.introduction()))))
}

// list answers tools/list, with all tools on one page. A turn is asked for news; if that fails, the
// last list is the answer.
func (c *conn) list(call *wire.Call) {
	s := c.session
	if w := s.enter(); w != nil {
		ctx, stop := w.within(call.Context())
		_ = s.look(ctx, w) // the turn reports it when it makes a call
		stop()
		w.leave()
	}
	b := append([]byte(`{"tools":[`), strings.Join(s.take(c).list, ",")...)
	b = append(b, ']')
	if c.modern {
		b = append(b, uncached...)
	}
	call.Reply(wire.ValidJSON(append(b, '}')), nil)
}

// call answers tools/call.
func (c *conn) call(call *wire.Call) {
	var p struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
		Meta json.RawMessage `json:"_meta"`
	}
	if err := wire.Unmarshal(call.Params, &p); err != nil {
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams, "%v", err))
		return
	}
	if p.Args = present(p.Args); p.Args != nil && p.Args[0] != '{' {
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams, "arguments must be an object"))
		return
	}
	spec, ok := c.session.current().by[p.Name]
	if !ok {
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams, "there is no tool %.100q", p.Name))
		return
	}
	w := c.session.enter()
	if w == nil {
		c.reply(call, failed(errNoTurn.Error()))
		return
	}
	defer w.leave()
	ctx, stop := w.within(call.Context())
	defer stop()
	if token := present(wire.Object(p.Meta)[proto.MetaToken]); token != nil {
		defer c.showProgress(ctx, call, token)()
	}
	_ = c.session.look(ctx, w) // Invoke reports it
	res, err := w.Invoke(ctx, core.Call{ID: c.session.callID(w, spec, p.Args, p.Meta), Server: spec.Server, Tool: spec.Name, Args: p.Args})
	if err != nil {
		call.Reply(nil, err)
		return
	}
	_ = c.session.look(ctx, w) // as above, and the agent gets its result
	c.reply(call, resultOf(res))
}

// callID returns the id of a call: the announced one, or a new one.
func (s *Session) callID(w *work, spec core.Spec, args, meta json.RawMessage) core.CallID {
	if s.client.CallID != nil {
		if id := s.client.CallID(spec, args, meta); id != "" {
			return id
		}
	}
	return w.NewCall()
}

// present returns nil for null and for nothing.
func present(b json.RawMessage) json.RawMessage {
	if len(b) == 0 || string(b) == "null" {
		return nil
	}
	return b
}

// reply answers with a result of tools/call.
func (c *conn) reply(call *wire.Call, res json.RawMessage) {
	if c.modern && wire.Object(res)["resultType"] == nil {
		res = wire.Edit(res, wire.Set("resultType", wire.JSON(proto.ResultComplete)))
	}
	call.Reply(wire.ValidJSON(res), nil)
}

// progressEvery is the time between two signs of life of a call. Some clients give up one that is
// silent for a minute, and a person who is asked may take longer.
const progressEvery = 10 * time.Second

// showProgress sends signs of life to a caller until the function that it returns is called.
func (c *conn) showProgress(ctx context.Context, call *wire.Call, token json.RawMessage) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			_ = call.Notify(proto.NoteProgress, wire.Edit(nil, wire.Set("progressToken", token), wire.Set("progress", wire.JSON(n)))) // it has left
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}
