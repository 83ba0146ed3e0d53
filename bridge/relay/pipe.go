package relay

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// pipeSession is the session of a client over a pipe. It outlives connections to the server.
//
// What the client sends is held while the server starts again, and from a call on while its tools
// are listed, without which no call can be judged. Answers are not held: the server may wait for
// one.
type pipeSession struct {
	relay     *Server
	principal core.Principal
	dir       string // the server is started here
	view      *upstream.View
	keeper    *upstream.Keeper
	end       context.CancelCauseFunc // ends the keeping
	down      *wire.Writer            // to the client
	idle      chan struct{}           // closed when the client has sent its last and nothing is open
	idled     sync.Once               // closes it
	stir      chan struct{}           // has a token when something is held
	secret    string                  // begins the ids of our own requests, which no client can guess
	dialogs   *dialogs
	patience  *patience
	first     *upstream.Link // made before the keeper begins, which takes it

	owned sync.WaitGroup // of those who wait for dialogs

	mu     sync.Mutex  // guards the fields below
	server *connection // nil: there is none
	newest *connection
	memory memory
	open   map[string]*request
	order  int             // of the newest request that was sent
	left   bool            // the client has sent its last
	last   bool            // and all of it has been sent or refused
	client string          // as it introduced itself
	offers upstream.Offers // likewise
	greets chan struct{}   // closed when initialize is answered; nil: it was not sent
	asked  int             // requests of our own
	held   []heldLine
	size   int           // of held, in bytes
	freed  chan struct{} // closed when nothing is held any more; nil: nothing is
	closed error         // why nothing is held any more; nil: it may be
}

// request is one that is not answered: the client's, or with own one of ours.
type request struct {
	id       json.RawMessage
	method   string
	params   json.RawMessage // of those that memory keeps
	tool     string          // of tools/call
	cursor   string          // of tools/list
	token    json.RawMessage
	call     *upstream.Record
	line     heldLine          // to send it again; empty: it was one of a batch
	judged   *connection       // at the time when it was judged
	agreed   bool              // the client's user has allowed it
	repeated bool              // it was sent before, on an earlier connection
	own      chan wire.Message // takes the answer
	greeted  func()            // of initialize
	number   string            // of initialize: the version, if it is a number

	on    *connection // that it was sent on; nil: it was not; guarded by pipeSession.mu, like all below
	order int         // of sending
	back  bool        // the client has cancelled it
}

func newPipeSession(r *Server, p core.Principal, dir string, out io.WriteCloser) *pipeSession {
	c := &pipeSession{
		relay: r, principal: p, dir: dir, view: r.export.View(nil), down: wire.NewWriter(out, wire.Newline),
		idle: make(chan struct{}), stir: make(chan struct{}, 1), secret: rand.Text(), dialogs: newDialogs(),
		open: map[string]*request{}, patience: newPatience(r.export.Server),
		memory: memory{subscribed: map[string]json.RawMessage{}},
	}
	c.keeper = r.export.NewVerbatimKeeper(c)
	return c
}

// fromClient sends the client's messages to the server until the client leaves.
func (c *pipeSession) fromClient(ctx context.Context, frames wire.Framer) {
	defer c.leave()
	for {
		line, err := frames.Next()
		if fault, ok := errors.AsType[*wire.FrameError](err); ok {
			c.refuse(nil, jrpc2.Errorf(jrpc2.ParseError, "%s", fault.Msg))
			continue
		}
		if err != nil {
			return
		}
		messages, err := parts(line)
		switch {
		case err != nil && len(messages) == 1 && messages[0].Kind() == wire.Response:
			continue
		case err != nil && len(messages) == 1:
			c.refuse(messages[0].ID, err)
			continue
		case err != nil:
			c.refuse(nil, err)
			continue
		}
		if err = checkPlain(line, messages); err == nil {
			err = checkIDs(messages, c.isEarly)
		}
		if err != nil {
			c.refuse(nil, err)
			continue
		}
		if wait := c.hold(line, messages); wait != nil {
			if !until(ctx, wait) {
				return
			}
		} else if h := (heldLine{line: line, messages: messages}); !c.forward(h) {
			c.holdBack(h)
		}
		if s := c.current(); s != nil {
			_ = s.out.Room(ctx, wire.PumpRoom) // the server may have left
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// isEarly reports whether the client and the server have agreed on the early dialect.
func (c *pipeSession) isEarly() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return numberOf(c.memory.hello) != ""
}

// leave waits until everything that the client has sent is passed on. It ends the session if the
// server would have to be started again for that.
func (c *pipeSession) leave() {
	c.mu.Lock()
	c.left = true
	freed, last := c.freed, c.newest.peer
	down := last.Over() || c.server != nil && !c.server.ready
	c.mu.Unlock()
	switch {
	case !down:
	case last.Over():
		c.end(&leftError{c.failure(last.Why() + "; the client left before it was started again")})
	default:
		c.end(&leftError{c.failure("the client left while it was started again")})
	}
	if freed != nil {
		<-freed
	}
	c.dialogs.close()
	c.owned.Wait()
	c.settle(nil)
}

// current returns the connection if it is ready; nil: there is none, or it is not.
func (c *pipeSession) current() *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil && c.server.ready {
		return c.server
	}
	return nil
}

// parts parses a line: a message, or a batch of them (2025-03-26).
func parts(line []byte) ([]wire.Message, error) {
	if line[0] != '[' {
		m, err := wire.Parse(line)
		return []wire.Message{m}, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(line, &list); err != nil {
		return nil, jrpc2.Errorf(jrpc2.ParseError, "not valid JSON")
	}
	var messages []wire.Message
	for _, item := range list {
		m, err := wire.Parse(item)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// resultOf returns the result of an answer, or its error.
func resultOf(m wire.Message) (json.RawMessage, error) {
	if m.Error == nil {
		return m.Result, nil
	}
	e := &jrpc2.Error{}
	if json.Unmarshal(m.Error, e) != nil {
		return nil, jrpc2.Errorf(jrpc2.InternalError, "an error without words")
	}
	return nil, e
}

// forward sends a line, if nothing refuses its calls. It returns false if the line has to be held.
func (c *pipeSession) forward(h heldLine) bool {
	line, messages := c.dialogs.sift(h.line, h.messages)
	c.mu.Lock()
	at := c.server
	ready := at != nil && at.ready
	c.mu.Unlock()
	if line != nil {
		line, messages = c.answers(at, line, messages)
	}
	if line == nil {
		return true
	}
	if !h.judgeable(at, c.view.Known()) { // of at, since it was asked after at was read
		return false
	}
	batch := line[0] == '['
	var began []*request
	var v upstream.Ruling
	for _, m := range messages {
		switch m.Kind() {
		case wire.Response:
			continue
		case wire.Notification:
			if c.notice(m) && !batch {
				return true // the server has not heard of that call
			}
			continue
		case wire.Request:
			if !ready {
				return false
			}
		}
		p := streamable.ReadParams(m.Params)
		o := c.requestOf(m, p, h)
		if o.judged = at; m.Method == proto.MethodCallTool {
			var err error
			if v, err = c.permits(m, p, o, len(line), h.unlisted(at), batch); err != nil {
				c.refuseCall(o, began, batch, err)
				return true
			}
			if v.Reply != nil {
				o.call.End(upstream.OutcomeOK, 0)                          // the next call records the outcome
				_ = c.down.Put(wire.AppendAnswer(nil, m.ID, v.Reply, nil)) // the client may have left
				return true
			}
			if line = lineOf(v, line); v.Resumed {
				o.agreed = true
				messages, _ = parts(line) // it is ours
			}
		}
		if !batch {
			o.line = heldLine{line: line, messages: messages, request: o}
		}
		began = append(began, o)
	}
	if v.Form != nil {
		c.mu.Lock()
		c.open[string(began[0].id)] = began[0]
		c.mu.Unlock()
		c.asks(line, began[0], v)
		return true
	}
	return c.send(at, line, messages, began)
}

// requestOf returns the request of a message in a held line.
func (c *pipeSession) requestOf(m wire.Message, p streamable.Params, h heldLine) *request {
	o := &request{id: m.ID, method: m.Method, token: tokenOf(p)}
	if before := h.request; before != nil {
		o.call, o.agreed, o.repeated = before.call, before.agreed, before.repeated
	}
	switch m.Method {
	case proto.MethodInitialize:
		c.mu.Lock()
		c.client, c.offers = upstream.ClientOf(m), upstream.OffersOf(m)
		if c.greets == nil {
			c.greets = make(chan struct{})
			greets := c.greets
			o.greeted = sync.OnceFunc(func() { close(greets) })
		}
		c.mu.Unlock()
		o.number, o.params = numberOf(m.Params), m.Params
	case proto.MethodSetLevel, proto.MethodSubscribe, proto.MethodUnsubscribe:
		o.params = m.Params
	case proto.MethodListTools:
		o.cursor = cursorOf(m.Params)
	}
	return o
}

// refuseCall refuses a call, and with it all of its batch.
func (c *pipeSession) refuseCall(o *request, began []*request, batch bool, err error) {
	o.call.End(upstream.OutcomeRefused, 0)
	for _, b := range began {
		b.call.End(upstream.OutcomeRefused, 0)
	}
	id := o.id
	if batch {
		id = nil
	}
	c.refuse(id, err)
}

// answers removes from a line the answers to questions of earlier connections than at, which may be
// nil. It returns nil if nothing is left.
func (c *pipeSession) answers(
	at *connection, line []byte, messages []wire.Message,
) ([]byte, []wire.Message) {
	some := false
	for _, m := range messages {
		if m.Kind() == wire.Response {
			some = true
			c.patience.answered(m.ID)
		}
	}
	if !some || at != nil && at.number == 0 {
		return line, messages
	}
	return editLine(line, messages, at.withoutMark)
}

// send sends a line with the requests began on the connection at, for which they were judged. It
// returns false if that connection has ended.
func (c *pipeSession) send(
	at *connection, line []byte, messages []wire.Message, began []*request,
) bool {
	// A server may need answers before it is ready.
	answers := len(began) == 0 && !slices.ContainsFunc(messages, func(m wire.Message) bool {
		return m.Kind() != wire.Response
	})
	c.mu.Lock()
	if at == nil || c.server != at || !at.ready && !answers {
		c.mu.Unlock()
		return answers // the server that asked has ended
	}
	for _, o := range began {
		c.order++
		o.on, o.order = at, c.order
		c.open[string(o.id)] = o
	}
	if slices.ContainsFunc(messages, isInitialized) {
		c.memory.initialized = line
	}
	c.mu.Unlock()
	for _, o := range began {
		c.await(o)
	}
	_ = at.out.Put(line) // the server may have left
	return true
}

// isInitialized reports whether a message ends the client's handshake.
func isInitialized(m wire.Message) bool {
	return m.Method == proto.NoteInitialized || m.Method == proto.NoteEarlyInitialized
}

// await starts the clock of a request, which is given up if the server is silent for too long.
func (c *pipeSession) await(o *request) {
	c.patience.begin(o.id, o.method, o.token, func(err error) {
		c.mu.Lock()
		open, on := c.open[string(o.id)] == o, o.on
		c.mu.Unlock()
		if !open {
			return
		}
		o.call.End(upstream.OutcomeError, 0)
		c.refuse(o.id, err)
		if o.method != proto.MethodInitialize {
			_ = on.out.Put(withdrawal(o.id, "the call was given up")) // the server may have left
		}
		if o.greeted != nil {
			o.greeted()
		}
		c.settle(o.id)
	})
}

// permits judges a call.
func (c *pipeSession) permits(
	m wire.Message, p streamable.Params, o *request, size int, unknown error, batch bool,
) (upstream.Ruling, error) {
	c.mu.Lock()
	from := visitor{c.client, c.offers}
	c.mu.Unlock()
	asked, err := callOf(m, p, from)
	if batch { // of a version that has no forms
		asked.Offers, asked.Modern = upstream.Offers{}, false
	}
	o.tool, asked.Asked = asked.Tool, o.agreed
	if o.call == nil {
		client := clientOf(p, from.client)
		o.call = c.relay.export.Record(access.Owner(c.principal), client, asked.Tool, size)
	}
	switch {
	case err != nil:
		return upstream.Ruling{}, err
	case unknown != nil:
		return upstream.Ruling{}, jrpc2.Errorf(jrpc2.InternalError, "%v", unknown)
	}
	return c.view.Rule(asked)
}

// notice handles the client's cancellation of a request, and ignores other notifications. It
// reports whether the client's user was being asked about the call.
func (c *pipeSession) notice(m wire.Message) bool {
	if m.Method != proto.NoteCancelled {
		return false
	}
	id := streamable.CancelledID(m.Params)
	c.mu.Lock()
	o := c.open[string(id)]
	if o == nil || o.own != nil {
		c.mu.Unlock()
		return false
	}
	o.back = true
	c.mu.Unlock()
	o.call.End(upstream.OutcomeCancelled, 0)
	c.patience.end(id)
	c.settle(id) // a late answer passes
	return c.dialogs.withdraw(callID{id: string(id)}, wire.ErrCanceled)
}

// settle removes a request that is answered. A nil id means that the client sends no more.
func (c *pipeSession) settle(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id == nil {
		c.last = true
	} else {
		delete(c.open, string(id))
	}
	if c.last && len(c.open) == 0 {
		c.idled.Do(func() { close(c.idle) })
	}
}

// close ends all open requests with err, or without an answer if err is nil: the client has left.
func (c *pipeSession) close(err error) {
	c.mu.Lock()
	open := c.open
	c.open = map[string]*request{}
	c.mu.Unlock()
	for _, o := range open {
		switch {
		case o.own != nil:
		case o.number != "":
			c.refuse(o.id, c.errUndated(o.number))
		case err != nil:
			o.fail(c, err)
		default:
			o.call.End(upstream.OutcomeCancelled, 0)
		}
		if o.greeted != nil {
			o.greeted()
		}
	}
}

// refuse answers the client with an error in the server's place.
func (c *pipeSession) refuse(id json.RawMessage, err error) {
	_ = c.down.Put(wire.AppendAnswer(nil, id, nil, err)) // the client may have left
}
