package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

const (
	// maxOpen is how many requests of the client's may be without an answer; one more is refused.
	maxOpen = 1024
	// maxBatch is how many messages one batch may hold, at the version that has batches.
	maxBatch = 100
	// drainTime is how long open calls may still be answered when the client has sent its last: a shell's pipe.
	drainTime = time.Second
)

// link is a client's pipe. run reads it and hands each message to the lane that it belongs to; answers go the other way.
// The SDK sees ids of ours, the client its own, byte for byte.
type link struct {
	frames wire.Framer
	out    *wire.Writer
	order  order
	// ownTools says that all tools are ours: they read large arguments from the call, and not from the SDK.
	ownTools bool
	legacy   *lane
	modern   *lane

	mu      sync.Mutex // guards the fields below
	last    int64
	calls   map[jsonrpc.ID]*call
	byRaw   map[string]*call
	byExtra map[*mcp.RequestExtra]*call
	open    int             // calls whose answers are not queued yet
	idle    chan struct{}   // closed when open comes to 0; nil: nobody waits for that
	hello   *call           // the initialize that counts: the first that was not refused
	version string          // that was negotiated
	early   json.RawMessage // the number that the early dialect has for a version; nil: another one
}

// call is a request of the client's that has not been answered.
type call struct {
	raw    json.RawMessage // its id as the client wrote it
	id     jsonrpc.ID      // as the SDK knows it
	lane   *lane
	method string
	place  *place
	in     *batch
	slot   int               // of the answer in its batch
	extra  *mcp.RequestExtra // by which a tool finds its call
	// ctx ends with core.ErrCanceled when the client takes the call back while it is open, on the goroutine that reads;
	// else never, so that a turn may outlive the call that began it.
	ctx      context.Context //nolint:containedctx // the call's own, as in http.Request
	cancel   context.CancelCauseFunc
	args     json.RawMessage // of a tool of ours; nil: the request has them
	progress *progress
	watch    func() // looks whether the client has taken it back; nil: that is seen where it is read
}

// canceled reports whether the client has taken the call back.
func (c *call) canceled() bool {
	if c.watch != nil {
		c.watch()
	}
	return c.ctx.Err() != nil
}

func newLink(frames wire.Framer, out *wire.Writer) *link {
	l := &link{
		frames: frames, out: out,
		calls: map[jsonrpc.ID]*call{}, byRaw: map[string]*call{}, byExtra: map[*mcp.RequestExtra]*call{},
	}
	gone := make(chan struct{})
	l.legacy, l.modern = newLane(l, gone), newLane(l, gone)
	return l
}

// run reads until the stream or ctx ends; its error is the stream's.
func (l *link) run(ctx context.Context) error {
	for {
		if err := l.out.Room(ctx, wire.DefaultMaxReplyBytes); err != nil {
			return err
		}
		b, err := l.frames.Next()
		if fault, ok := errors.AsType[*wire.FrameError](err); ok {
			l.refuse(nil, nil, jrpc2.Errorf(jrpc2.ParseError, "%s", fault.Msg))
			continue
		}
		if err != nil {
			return err
		}
		if b[0] == '[' && json.Valid(b) {
			err = l.batch(ctx, b)
		} else {
			err = l.message(ctx, b, nil)
		}
		if err != nil {
			return err
		}
	}
}

// message handles one message. Its error means that the connection has ended.
func (l *link) message(ctx context.Context, b []byte, in *batch) error {
	if len(b) > largeArgs {
		collect() // what it was read into
	}
	m, err := wire.Parse(b)
	switch {
	case m.Kind() == wire.Response: // never answered, valid or not
		if err == nil {
			return l.answered(ctx, m)
		}
		return nil
	case err != nil:
		l.refuse(in, m.ID, err)
		return nil
	case m.ID == nil:
		return l.notified(ctx, m)
	}
	return l.request(ctx, m, in)
}

// answered hands on an answer to a request of the SDK's, whose ids are integers. Only the legacy lane makes requests.
func (l *link) answered(ctx context.Context, m wire.Message) error {
	var n int64
	if json.Unmarshal(m.ID, &n) != nil {
		return nil
	}
	id, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		return nil
	}
	r := &jsonrpc.Response{ID: id, Result: m.Result}
	if m.Error != nil {
		e := new(jsonrpc.Error)
		if json.Unmarshal(m.Error, e) != nil {
			e = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client's error cannot be read"}
		}
		r.Error = e
	}
	return l.legacy.hand(ctx, r)
}

// notified hands a notification on. A cancel has its effect here, before anything behind it is read.
func (l *link) notified(ctx context.Context, m wire.Message) error {
	if m.Method != proto.NoteCancelled {
		method := m.Method
		if l.dialect() != nil {
			method = earlyMethod(method)
		}
		return l.legacy.hand(ctx, &jsonrpc.Request{Method: method, Params: m.Params})
	}
	var p struct {
		ID     json.RawMessage `json:"requestId"`
		Reason string          `json:"reason,omitempty"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return nil
	}
	l.mu.Lock()
	c := l.byRaw[string(p.ID)]
	l.mu.Unlock()
	if c == nil || c.method == proto.MethodInitialize { // which must not be cancelled (Basic, Cancellation)
		return nil
	}
	c.cancel(core.ErrCanceled)
	params, err := json.Marshal(map[string]any{"requestId": c.id.Raw(), "reason": p.Reason})
	if err != nil {
		return nil
	}
	return c.lane.hand(ctx, &jsonrpc.Request{Method: proto.NoteCancelled, Params: params})
}

// peek holds the parameters of a request that we read before the SDK does.
type peek struct {
	name    string
	task    string
	args    json.RawMessage
	thread  string // the session that the arguments name, by whatever name a tool has for it
	version string
	client  proto.Implementation
}

// peekAt looks at parameters, which are JSON or absent. It copies nothing but what it returns.
func peekAt(params json.RawMessage) (p peek) {
	for name, value := range wire.Members(params) {
		switch string(name) {
		case "name":
			p.name = text(value)
		case "taskId":
			p.task = text(value)
		case "arguments":
			p.args = value
			for name, value := range wire.Members(value) {
				switch string(name) {
				case "session_id", "threadId":
					p.thread = text(value)
				case "conversationId":
					p.thread = cmp.Or(p.thread, text(value))
				}
			}
		case "clientInfo":
			_ = json.Unmarshal(value, &p.client) // what does not fit is left empty
		case "_meta":
			for name, value := range wire.Members(value) {
				switch string(name) {
				case proto.MetaVersion:
					p.version = text(value)
				case proto.MetaClient:
					_ = json.Unmarshal(value, &p.client) // as above
				}
			}
		}
	}
	return p
}

// largeArgs is the size in bytes above which a tool's arguments are kept from the SDK, which would copy them several
// times, and memory is collected in between.
const largeArgs = 1 << 20

// withoutArguments returns the parameters of tools/call with empty arguments.
func withoutArguments(params json.RawMessage) json.RawMessage {
	b := []byte{'{'}
	for name, value := range wire.Members(params) {
		if string(name) == "arguments" {
			value = json.RawMessage("{}")
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(wire.AppendString(b, name), ':'), value...)
	}
	return append(b, '}')
}

// text decodes a value that is a string; any other value is "".
func text(value json.RawMessage) (s string) {
	_ = json.Unmarshal(value, &s) // what is none is left empty
	return s
}

// session is the session whose calls keep their order, or "".
func (p peek) session() core.SessionID {
	if isTool(p.name) || p.name == toolCodexReply {
		return core.SessionID(p.thread)
	}
	return ""
}

// request gives a request its place among those that are open and hands it on.
func (l *link) request(ctx context.Context, m wire.Message, in *batch) error {
	p := peekAt(m.Params)
	to := l.legacy
	if p.version >= proto.Modern || m.Method == proto.MethodDiscover {
		to = l.modern
	}
	c := &call{raw: bytes.Clone(m.ID), lane: to, method: m.Method, in: in, extra: new(mcp.RequestExtra)}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.slot = in.begin()
	err := l.enter(c)
	if err == nil {
		if _, known := methods[m.Method]; !known {
			err = jrpc2.Errorf(jrpc2.MethodNotFound, "method not found: %q", m.Method)
		} else if offered(m.Method, to == l.modern) {
			err = checkParams(m.Method, m.Params)
		}
		if err != nil {
			l.take(c.id)
			defer l.left()
		}
	}
	if err != nil {
		return l.put(in, c.slot, appendError(nil, m.ID, err, l.dialect() != nil))
	}
	if id := p.session(); m.Method == proto.MethodCallTool && id != "" {
		c.place = l.order.enter(id)
	}
	params := m.Params
	if m.Method == proto.MethodCallTool && len(p.args) > largeArgs && l.ownTools {
		c.args, params = p.args, withoutArguments(params)
	}
	if m.Method == proto.MethodInitialize && to == l.legacy {
		var number json.RawMessage
		params, number = begins(params)
		l.begun(c, number)
	}
	return to.hand(ctx, &jsonrpc.Request{ID: c.id, Method: m.Method, Params: params, Extra: c.extra})
}

func (l *link) enter(c *call) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.byRaw[string(c.raw)]; ok {
		return jrpc2.Errorf(jrpc2.InvalidRequest, "a request with the id %.60s is still open", c.raw)
	}
	if len(l.calls) >= maxOpen {
		return jrpc2.Errorf(wire.CodeBusy, "more than %d requests are open", maxOpen)
	}
	l.last++
	if c.id, err = jsonrpc.MakeID(float64(l.last)); err != nil {
		return jrpc2.Errorf(jrpc2.InternalError, "internal error")
	}
	l.calls[c.id], l.byRaw[string(c.raw)], l.byExtra[c.extra] = c, c, c
	l.open++
	return nil
}

// call finds a tool's call. A request that did not come over this link has one that nobody cancels.
func (l *link) call(extra *mcp.RequestExtra) *call {
	l.mu.Lock()
	c := l.byExtra[extra]
	l.mu.Unlock()
	if c == nil {
		c = &call{ctx: context.Background()}
	}
	return c
}

// take ends a call that is being answered; its id is free from here on.
func (l *link) take(id jsonrpc.ID) *call {
	l.mu.Lock()
	c := l.calls[id]
	if c != nil {
		delete(l.calls, id)
		delete(l.byRaw, string(c.raw))
		delete(l.byExtra, c.extra)
	}
	l.mu.Unlock()
	if c != nil {
		c.place.leave()
	}
	return c
}

// left notes that a call's answer is queued.
func (l *link) left() {
	l.mu.Lock()
	idle := l.idle
	if l.open--; l.open > 0 {
		idle = nil
	} else {
		l.idle = nil
	}
	l.mu.Unlock()
	if idle != nil {
		close(idle)
	}
}

// drain waits until no call is open, for at most drainTime.
func (l *link) drain(ctx context.Context) {
	idle := make(chan struct{})
	l.mu.Lock()
	open := l.open
	if open > 0 {
		l.idle = idle
	}
	l.mu.Unlock()
	if open == 0 {
		return
	}
	t := time.NewTimer(drainTime)
	defer t.Stop()
	select {
	case <-idle:
	case <-t.C:
	case <-ctx.Done():
	}
}

// subscription puts the client's own id of a subscriptions/listen in the place of the SDK's, in what belongs to it.
func (l *link) subscription(params json.RawMessage) json.RawMessage {
	if !bytes.Contains(params, []byte(proto.MetaSubscription)) {
		return params
	}
	var p, meta map[string]json.RawMessage
	var n int64
	if json.Unmarshal(params, &p) != nil || json.Unmarshal(p["_meta"], &meta) != nil || json.Unmarshal(meta[proto.MetaSubscription], &n) != nil {
		return params
	}
	id, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		return params
	}
	l.mu.Lock()
	c := l.calls[id]
	l.mu.Unlock()
	if c == nil {
		return params
	}
	return withSubscription(p, meta, c.raw)
}

// withSubscription puts an id into a message's parameters, or result.
func withSubscription(p, meta map[string]json.RawMessage, id json.RawMessage) json.RawMessage {
	meta[proto.MetaSubscription] = id
	p["_meta"], _ = json.Marshal(meta) // it was read from JSON
	b, _ := json.Marshal(p)            // as above
	return b
}

// dialect is the number that the early dialect has for a version, or nil.
func (l *link) dialect() json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.early
}

// hangUp ends both lanes: to the SDK the client has left.
func (l *link) hangUp() { close(l.legacy.gone) }

// stalled reports whether the client leaves so much unread that what can be left out should be.
func (l *link) stalled() bool { return l.out.Queued() > wire.PumpRoom }

// lane is one life cycle on the link: to the SDK a transport, and the connection that it makes.
type lane struct {
	link   *link
	in     chan jsonrpc.Message // unbuffered: a message is read when the one before has been taken
	gone   chan struct{}        // closed by hangUp; both lanes share it
	closed chan struct{}        // closed by the SDK
	once   sync.Once
}

var (
	_ mcp.Transport  = (*lane)(nil)
	_ mcp.Connection = (*lane)(nil)
)

func newLane(l *link, gone chan struct{}) *lane {
	return &lane{link: l, in: make(chan jsonrpc.Message), gone: gone, closed: make(chan struct{})}
}

// hand gives a message to the SDK, which takes it at once.
func (n *lane) hand(ctx context.Context, m jsonrpc.Message) error {
	select {
	case n.in <- m:
		return nil
	case <-n.closed:
		return wire.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Connect implements mcp.Transport.
func (n *lane) Connect(context.Context) (mcp.Connection, error) { return n, nil }

// Read implements mcp.Connection.
func (n *lane) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-n.in:
		return m, nil
	case <-n.gone:
		return nil, io.EOF
	case <-n.closed:
		return nil, io.EOF
	}
}

// Write implements mcp.Connection. It never blocks.
func (n *lane) Write(_ context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok {
		return n.link.answer(r)
	}
	if r, ok := m.(*jsonrpc.Request); ok && n.link.dialect() != nil && !r.IsCall() && !earlyNotification(r.Method) {
		return nil
	}
	if r, ok := m.(*jsonrpc.Request); ok && n == n.link.modern {
		if r.Method == proto.NoteResourcesChanged && !bytes.Contains(r.Params, []byte(proto.MetaSubscription)) {
			return nil // the SDK takes a lane that nobody has used for one of the other life cycle
		}
		r.Params = n.link.subscription(r.Params)
	}
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return n.link.out.Put(b)
}

// Close implements mcp.Connection.
func (n *lane) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

// SessionID implements mcp.Connection; over a pipe there is none.
func (n *lane) SessionID() string { return "" }
