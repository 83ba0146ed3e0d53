package edge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/jsonscan"
)

const (
	// maxOpen limits the unanswered requests of the client; one more is refused.
	maxOpen = 1024
	// maxBatch limits the messages of one batch, at the version that has batches.
	maxBatch = 100
	// drainTime limits the time in which open calls may still be answered after the client's last
	// message: in a shell's pipe.
	drainTime = time.Second
)

// Options describe the server and the client of a link.
type Options struct {
	// OwnTools means that all tools are ours: they read large arguments from the call, and not
	// from the SDK.
	OwnTools bool
	// Ordered reports whether the calls of a tool that name the same session keep their order.
	Ordered func(tool string) bool
	// Templates is the list of resource templates, for a Filter.
	Templates any
}

// Link is a client's pipe. Run reads it and passes each message to its lane; answers go the other
// way. The SDK sees ids of ours, the client its own, byte for byte.
type Link struct {
	frames wire.Framer
	out    *wire.Writer        // nil: the client is in this process
	hear   func(proto.Message) // receives the messages to such a client
	opts   Options
	order  order
	legacy *lane
	modern *lane

	mu      sync.Mutex // guards the fields below
	last    int64
	calls   map[jsonrpc.ID]*Call
	byRaw   map[string]*Call
	byExtra map[*mcp.RequestExtra]*Call
	open    int           // calls whose answers are not queued yet
	idle    chan struct{} // closed when open reaches 0; nil: not waited for
	hello   *Call         // the effective initialize: the first that was not refused
	version string        // that was negotiated
	filter  *Filter       // the result of hello
}

// Call is an unanswered request of the client.
type Call struct {
	Place *Place // in the line of the named session; nil: it names none

	raw    json.RawMessage // its id as the client wrote it
	id     jsonrpc.ID      // its id for the SDK
	lane   *lane
	method string
	in     *batch
	slot   int               // of the answer in its batch
	extra  *mcp.RequestExtra // a tool finds its call by it
	ctx    context.Context   //nolint:containedctx // the call's own, as in http.Request
	cancel context.CancelCauseFunc
	args   json.RawMessage // for a tool of ours; nil: the request has them
	watch  func()          // checks for a cancellation by the client; nil: the reading goroutine notices it
}

// NewCall returns a call that did not come over a link. watch, if not nil, is called to check
// whether the client has cancelled the call; then it calls Cancel.
func NewCall(watch func(*Call)) *Call {
	c := new(Call)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	if watch != nil {
		c.watch = func() { watch(c) }
	}
	return c
}

// Context ends with core.ErrCanceled when the client cancels the call while it is open, on the
// goroutine that reads; otherwise never, so that a turn may outlive the call that began it.
func (c *Call) Context() context.Context { return c.ctx }

// Cancel cancels the call.
func (c *Call) Cancel() { c.cancel(core.ErrCanceled) }

// Canceled reports whether the client has cancelled the call.
func (c *Call) Canceled() bool {
	if c.watch != nil {
		c.watch()
	}
	return c.ctx.Err() != nil
}

// TakeArguments returns the arguments that were withheld from the SDK, once; nil: the request has
// them.
func (c *Call) TakeArguments() json.RawMessage {
	args := c.args
	c.args = nil
	return args
}

// NewLink returns a link over the two halves of a connection. Run reads it.
func NewLink(frames wire.Framer, out *wire.Writer, o Options) *Link {
	l := newLink(o)
	l.frames, l.out = frames, out
	return l
}

func newLink(o Options) *Link {
	l := &Link{
		opts:  o,
		calls: map[jsonrpc.ID]*Call{}, byRaw: map[string]*Call{}, byExtra: map[*mcp.RequestExtra]*Call{},
	}
	gone := make(chan struct{})
	l.legacy, l.modern = newLane(l, gone), newLane(l, gone)
	return l
}

// Lanes returns the two life cycles on the link, each for an SDK session.
func (l *Link) Lanes() (legacy, modern mcp.Transport) { return l.legacy, l.modern }

// Run reads until the stream or ctx ends; its error is the stream's.
func (l *Link) Run(ctx context.Context) error {
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
func (l *Link) message(ctx context.Context, b []byte, in *batch) error {
	if len(b) > LargeArgs {
		Collect() // the memory it was read into
	}
	m, err := wire.Parse(b)
	if err == nil && l.filtered() == nil {
		err = m.CheckID()
	}
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

// answered passes on an answer to a request of the SDK, whose ids are integers. Only the legacy
// lane sends requests.
func (l *Link) answered(ctx context.Context, m wire.Message) error {
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

// notified passes on a notification. A cancel takes effect here, before the next message is read.
func (l *Link) notified(ctx context.Context, m wire.Message) error {
	if m.Method != proto.NoteCancelled {
		return l.legacy.hand(ctx, &jsonrpc.Request{Method: l.filtered().heard(m.Method), Params: m.Params})
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
	if c == nil || c.method == proto.MethodInitialize { // initialize must not be cancelled (Basic, Cancellation)
		return nil
	}
	c.Cancel()
	params := encoded(map[string]any{"requestId": c.id.Raw(), "reason": p.Reason})
	return c.lane.hand(ctx, &jsonrpc.Request{Method: proto.NoteCancelled, Params: params})
}

// Peek holds the parameters of a request that we read before the SDK does.
type Peek struct {
	Task    string // its id
	Version string // of 2026-07-28
	Client  proto.Implementation

	name   string
	args   json.RawMessage
	thread string // the session named in the arguments, under any of the tools' names for it
}

// PeekAt reads parameters, which are JSON or absent. It copies only its result.
func PeekAt(params json.RawMessage) (p Peek) {
	for name, value := range wire.Members(params) {
		switch string(name) {
		case "name":
			p.name = jsonscan.Text(value)
		case "taskId":
			p.Task = jsonscan.Text(value)
		case "arguments":
			p.args = value
			for name, value := range wire.Members(value) {
				switch string(name) {
				case "session_id", "threadId":
					p.thread = jsonscan.Text(value)
				case "conversationId":
					p.thread = cmp.Or(p.thread, jsonscan.Text(value))
				}
			}
		case "clientInfo":
			_ = json.Unmarshal(value, &p.Client) // invalid members stay empty
		case "_meta":
			for name, value := range wire.Members(value) {
				switch string(name) {
				case proto.MetaVersion:
					p.Version = jsonscan.Text(value)
				case proto.MetaClient:
					_ = json.Unmarshal(value, &p.Client) // as above
				}
			}
		}
	}
	return p
}

// LargeArgs is the size in bytes above which a tool's arguments are withheld from the SDK, which
// would copy them several times without a garbage collection in between.
const LargeArgs = 1 << 20

// Collect frees the memory of a large message before the next copy of it is made. Without it
// memory use would double. It gives the memory back to the system, because the gaps between other
// objects may have no room for a copy in one piece.
func Collect() { debug.FreeOSMemory() }

// request gives a request its place among the open ones and passes it on.
func (l *Link) request(ctx context.Context, m wire.Message, in *batch) error {
	p := PeekAt(m.Params)
	to := l.legacy
	if p.Version >= proto.Modern || m.Method == proto.MethodDiscover {
		to = l.modern
	}
	c := NewCall(nil)
	c.raw, c.lane, c.method, c.in, c.extra = bytes.Clone(m.ID), to, m.Method, in, new(mcp.RequestExtra)
	c.slot = in.begin()
	err := l.enter(c)
	if err == nil {
		if !Known(m.Method) {
			err = jrpc2.Errorf(jrpc2.MethodNotFound, "method not found: %q", m.Method)
		} else if Offered(m.Method, to == l.modern) {
			err = CheckParams(m.Method, m.Params)
		}
		if err != nil {
			l.take(c.id)
			defer l.left()
		}
	}
	if err != nil {
		return l.fault(in, c.slot, m.ID, err)
	}
	if m.Method == proto.MethodCallTool && p.thread != "" && l.opts.Ordered(p.name) {
		c.Place = l.order.enter(core.SessionID(p.thread))
	}
	params := m.Params
	if m.Method == proto.MethodCallTool && len(p.args) > LargeArgs && l.opts.OwnTools {
		c.args, params = p.args, wire.Edit(params, wire.Set("arguments", json.RawMessage("{}")))
	}
	if m.Method == proto.MethodInitialize && to == l.legacy {
		var f *Filter
		params, f = begins(params, l.opts.Templates)
		l.begun(c, f)
	}
	return to.hand(ctx, &jsonrpc.Request{ID: c.id, Method: m.Method, Params: params, Extra: c.extra})
}

func (l *Link) enter(c *Call) (err error) {
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

// Call finds a tool's call. A request that did not come over this link gets a call that is never
// cancelled.
func (l *Link) Call(extra *mcp.RequestExtra) *Call {
	l.mu.Lock()
	c := l.byExtra[extra]
	l.mu.Unlock()
	if c == nil {
		c = NewCall(nil)
	}
	return c
}

// take ends a call that is being answered; its id is free from here on.
func (l *Link) take(id jsonrpc.ID) *Call {
	l.mu.Lock()
	c := l.calls[id]
	if c != nil {
		delete(l.calls, id)
		delete(l.byRaw, string(c.raw))
		delete(l.byExtra, c.extra)
	}
	l.mu.Unlock()
	if c != nil {
		c.Place.Leave()
	}
	return c
}

// left records that a call's answer is queued.
func (l *Link) left() {
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

// Drain waits until no call is open, for at most drainTime.
func (l *Link) Drain(ctx context.Context) {
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

// subscription replaces the SDK's id of a subscriptions/listen by the client's own, in the
// messages of that subscription.
func (l *Link) subscription(params json.RawMessage) json.RawMessage {
	if !bytes.Contains(params, []byte(proto.MetaSubscription)) {
		return params
	}
	var p, meta map[string]json.RawMessage
	var n int64
	if json.Unmarshal(params, &p) != nil || json.Unmarshal(p["_meta"], &meta) != nil ||
		json.Unmarshal(meta[proto.MetaSubscription], &n) != nil {
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
	p["_meta"] = encoded(meta)
	return encoded(p)
}

// filtered returns the filter of the client; nil: it needs none.
func (l *Link) filtered() *Filter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.filter
}

// begun records the filter of an initialize. A later initialize is refused, and has none.
func (l *Link) begun(c *Call, f *Filter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hello == nil {
		l.hello, l.filter = c, f
	}
}

// refusedHello records that an initialize was refused: the next one takes its place.
func (l *Link) refusedHello(c *Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hello == c {
		l.hello, l.filter = nil, nil
	}
}

// HangUp ends both lanes: for the SDK the client has left.
func (l *Link) HangUp() { close(l.legacy.gone) }

// Stalled reports whether the client leaves so much unread that optional messages should be
// dropped.
func (l *Link) Stalled() bool { return l.out != nil && l.out.Queued() > wire.PumpRoom }

// lane is one life cycle on the link: a transport and its connection for the SDK.
type lane struct {
	link   *Link
	in     chan jsonrpc.Message // unbuffered: a message is read when the SDK has taken the one before
	gone   chan struct{}        // closed by HangUp; both lanes share it
	closed chan struct{}        // closed by the SDK
	once   sync.Once
}

var (
	_ mcp.Transport  = (*lane)(nil)
	_ mcp.Connection = (*lane)(nil)
)

func newLane(l *Link, gone chan struct{}) *lane {
	return &lane{link: l, in: make(chan jsonrpc.Message), gone: gone, closed: make(chan struct{})}
}

// hand passes a message to the SDK, which takes it at once.
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
	if r, ok := m.(*jsonrpc.Request); ok && !r.IsCall() && !n.link.filtered().sends(r.Method) {
		return nil
	}
	if r, ok := m.(*jsonrpc.Request); ok && n == n.link.modern {
		if r.Method == proto.NoteResourcesChanged && !bytes.Contains(r.Params, []byte(proto.MetaSubscription)) {
			return nil // the SDK takes an unused lane for one of the other life cycle
		}
		r.Params = n.link.subscription(r.Params)
	}
	return n.link.say(m)
}

// Close implements mcp.Connection.
func (n *lane) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

// SessionID implements mcp.Connection; over a pipe there is none.
func (n *lane) SessionID() string { return "" }
