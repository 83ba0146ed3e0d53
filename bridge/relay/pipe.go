package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
	"dragoman/core"
)

// relayed is one client over a pipe.
//
// Before its first call the server's tools have to be known. While they are asked
// for, the call and what the client says behind it are held, but for answers: the
// server may wait for one.
type relayed struct {
	relay     *Server
	principal core.Principal
	view      *upstream.View
	link      *upstream.Link
	up, down  *wire.Writer  // to the server, to the client
	idle      chan struct{} // closed when the client has sent its last and nothing is open
	secret    string        // begins the ids of our own requests, which no client can guess
	dialogs   *dialogs
	patience  *patience

	owned sync.WaitGroup // of the listing of tools, and of who waits for dialogs

	mu     sync.Mutex // guards the fields below
	open   map[string]*opened
	last   bool
	client string          // as it introduced itself
	offers upstream.Offers // likewise
	greets chan struct{}   // closed when initialize is answered; nil: it was not sent
	asked  int             // requests of our own
	held   [][]byte
	size   int           // of held, in bytes
	freed  chan struct{} // closed when nothing is held any more; nil: nothing is
}

// opened is a request that is not answered: the client's, or with own one of ours.
type opened struct {
	id      json.RawMessage
	method  string
	cursor  string // of tools/list
	token   json.RawMessage
	call    *upstream.Record
	back    bool              // the client has taken it back; guarded by relayed.mu
	own     chan wire.Message // closed when the server has left
	greeted func()            // of initialize
	number  string            // of initialize: the version, if it is a number
}

func newRelayed(r *Server, p core.Principal, l *upstream.Link, out io.WriteCloser) *relayed {
	return &relayed{
		relay: r, principal: p, view: r.export.View(nil), link: l,
		up: wire.NewWriter(l.Out, wire.Newline), down: wire.NewWriter(out, wire.Newline),
		idle: make(chan struct{}), secret: rand.Text(), dialogs: newDialogs(), open: map[string]*opened{},
		patience: newPatience(r.export.Server),
	}
}

// run writes what is queued, until both writers are closed or ctx ends; then the
// channel is closed.
func (c *relayed) run(ctx context.Context) <-chan struct{} {
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.up.Run(ctx) })   // the reading end notices
	wg.Go(func() { _ = c.down.Run(ctx) }) // as above
	written := make(chan struct{})
	go func() {
		defer close(written)
		wg.Wait()
	}()
	return written
}

// fromClient hands on what the client says, until it leaves.
func (c *relayed) fromClient(ctx context.Context, frames wire.Framer) {
	defer func() {
		c.dialogs.close()
		c.owned.Wait()
		c.settle(nil)
	}()
	for {
		line, err := frames.Next()
		var fault *wire.FrameError
		if errors.As(err, &fault) {
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
		if err := plainly(line, messages); err != nil {
			c.refuse(nil, err)
			continue
		}
		if wait := c.hold(ctx, line, messages); wait == nil {
			c.forward(line, messages, nil)
		} else if !until(ctx, wait) {
			return
		}
		if c.up.Room(ctx, wire.PumpRoom) != nil {
			return
		}
	}
}

// parts takes a line apart: a message, or those of a batch (2025-03-26).
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

// resultOf is what an answer brings.
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

// forward hands a line on, if nothing refuses its calls. unknown: why the
// tools could not be listed.
func (c *relayed) forward(line []byte, messages []wire.Message, unknown error) {
	if line, messages = c.dialogs.sift(line, messages); line == nil {
		return
	}
	batch := line[0] == '['
	var began []*opened
	var v upstream.Ruling
	for _, m := range messages {
		if m.Kind() == wire.Response {
			c.patience.answered(m.ID)
		}
		if m.Kind() != wire.Request {
			if c.notice(m) && !batch {
				return // the server has not heard of that call
			}
			continue
		}
		o := &opened{id: m.ID, method: m.Method, token: upstream.ProgressToken(m.Params)}
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
			o.number = numberOf(m)
		case proto.MethodListTools:
			o.cursor = cursorOf(m.Params)
		case proto.MethodCallTool:
			var err error
			if o.call, v, err = c.permits(m, len(line), unknown, batch); err != nil {
				o.call.End(upstream.OutcomeRefused, 0)
				for _, b := range began { // with it all of its batch is
					b.call.End(upstream.OutcomeRefused, 0)
				}
				id := m.ID
				if batch {
					id = nil
				}
				c.refuse(id, err)
				return
			}
			if v.Reply != nil {
				o.call.End(upstream.OutcomeOK, 0)                          // the next call records the outcome
				_ = c.down.Put(wire.AppendAnswer(nil, m.ID, v.Reply, nil)) // a client that has left is noticed by its stream
				return
			}
			line = lineOf(v, line)
		}
		began = append(began, o)
	}
	c.mu.Lock()
	for _, o := range began {
		c.open[string(o.id)] = o
	}
	c.mu.Unlock()
	if v.Form != nil {
		c.asks(line, began[0], v)
		return
	}
	for _, o := range began {
		c.await(o)
	}
	_ = c.up.Put(line) // a server that has left is noticed by its stream
}

// await has a request given up if the server shows no sign of life for too long.
func (c *relayed) await(o *opened) {
	c.patience.begin(o.id, o.method, o.token, func(err error) {
		c.mu.Lock()
		open := c.open[string(o.id)] == o
		c.mu.Unlock()
		if !open {
			return
		}
		o.call.End(upstream.OutcomeError, 0)
		c.refuse(o.id, err)
		if o.method != proto.MethodInitialize {
			_ = c.up.Put(withdrawal(o.id, "the call was given up")) // a server that has left is noticed by its stream
		}
		if o.greeted != nil {
			o.greeted()
		}
		c.settle(o.id)
	})
}

// permits judges a call.
func (c *relayed) permits(
	m wire.Message,
	size int,
	unknown error,
	batch bool,
) (*upstream.Record, upstream.Ruling, error) {
	c.mu.Lock()
	from := visitor{c.client, c.offers}
	c.mu.Unlock()
	asked, err := callOf(m, from)
	if batch { // of a version that has no forms
		asked.Offers, asked.Modern = upstream.Offers{}, false
	}
	call := c.relay.export.Record(c.principal, cmp.Or(upstream.ClientOf(m), from.client), asked.Tool, size)
	switch {
	case err != nil:
		return call, upstream.Ruling{}, err
	case unknown != nil:
		return call, upstream.Ruling{}, jrpc2.Errorf(jrpc2.InternalError, "%v", unknown)
	}
	v, err := c.view.Rule(asked)
	return call, v, err
}

// notice looks at what the client says without asking: a call that it takes back has
// ended for it. It reports whether that call was with the client's user.
func (c *relayed) notice(m wire.Message) bool {
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
	c.settle(id) // an answer that comes all the same passes
	return c.dialogs.withdraw(callID{id: string(id)}, wire.ErrCanceled)
}

// fromServer hands on what the server says, until it leaves.
func (c *relayed) fromServer(ctx context.Context) {
	frames := wire.Lines(c.link.In, upstream.MaxMessage)
	for {
		line, err := frames.Next()
		var fault *wire.FrameError
		if errors.As(err, &fault) {
			continue
		}
		if err != nil {
			return
		}
		messages, err := parts(line)
		if err != nil {
			messages = nil // it is the client's to judge
		}
		var answered []json.RawMessage
		for i, m := range messages {
			if c.patience.heard(m) && len(messages) == 1 {
				line = nil // the client has its error
				break
			}
			if m.Kind() != wire.Response {
				if m.Method == proto.NoteToolsChanged {
					c.view.Stale()
				}
				continue
			}
			c.mu.Lock()
			o := c.open[string(m.ID)]
			c.mu.Unlock()
			if o == nil {
				continue
			}
			if o.own != nil {
				o.own <- m // there is one answer: settle takes o out below
				c.settle(m.ID)
				line = nil
				break
			}
			answered = append(answered, m.ID)
			line = c.answered(line, messages, i, o)
		}
		if line == nil {
			continue
		}
		if c.down.Room(ctx, wire.PumpRoom) != nil {
			return
		}
		_ = c.down.Put(line) // a client that has left is noticed by its stream
		for _, id := range answered {
			c.settle(id)
		}
	}
}

// answered looks at the answer to o, the message at i of those of the line, which it
// returns as the client gets it.
func (c *relayed) answered(line []byte, messages []wire.Message, i int, o *opened) []byte {
	m := messages[i]
	switch o.method {
	case proto.MethodInitialize:
		if o.greeted != nil {
			defer o.greeted()
		}
		if o.number != "" && m.Error != nil && line[0] != '[' {
			return wire.AppendAnswer(nil, m.ID, nil, c.undated(o.number))
		}
		version := agreedVersion(m)
		c.view.Settled(version)
		var date string
		if json.Unmarshal(version, &date) == nil {
			c.link.Settled(date)
		}
	case proto.MethodCallTool:
		o.call.Answered(m, len(line))
	case proto.MethodListTools:
		if m.Result == nil {
			return line
		}
		result := c.view.Shown(o.cursor, m.Result)
		if sameBytes(result, m.Result) {
			return line
		}
		if line[0] != '[' {
			return wire.Edit(line, wire.Set("result", result))
		}
		var list []json.RawMessage
		if json.Unmarshal(line, &list) == nil {
			list[i] = wire.AppendAnswer(nil, m.ID, result, nil)
			return wire.JSON(list)
		}
	}
	return line
}

// numberOf returns the version in a client's initialize if it is a number, as in the first
// days of the protocol; "" if it is not.
func numberOf(m wire.Message) string {
	var p struct {
		Version json.RawMessage `json:"protocolVersion"`
	}
	if json.Unmarshal(m.Params, &p) != nil || len(p.Version) == 0 || p.Version[0] < '0' || p.Version[0] > '9' {
		return ""
	}
	return string(p.Version)
}

// undated is the error for a client whose version is a number, at a server that refused it.
// What servers answer to that is about their parsers and of no use to a user.
func (c *relayed) undated(number string) error {
	return jrpc2.Errorf(
		jrpc2.InvalidParams,
		"the MCP server %s does not speak version %.20s of the protocol; the client must ask for a version that is a date, such as %s",
		c.relay.export.Server.Name,
		number,
		proto.Legacy,
	)
}

// agreedVersion is what an answer to initialize has for a version.
func agreedVersion(m wire.Message) json.RawMessage {
	var r struct {
		Version json.RawMessage `json:"protocolVersion"`
	}
	_ = json.Unmarshal(m.Result, &r) // an error has none
	return r.Version
}

// settle notes that a request is answered, or with nil that no more will come.
func (c *relayed) settle(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.last && len(c.open) == 0
	if id == nil {
		c.last = true
	} else {
		delete(c.open, string(id))
	}
	if !was && c.last && len(c.open) == 0 {
		close(c.idle)
	}
}

// waits reports whether a request of the client's is open.
func (c *relayed) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > 0
}

// lost answers what the server did not, when it was the one to leave: err says how.
func (c *relayed) lost(err error) {
	c.mu.Lock()
	open := c.open
	c.open = map[string]*opened{}
	c.mu.Unlock()
	for _, o := range open {
		switch {
		case o.own != nil:
			close(o.own)
		case o.number != "":
			c.refuse(o.id, c.undated(o.number))
		case err != nil:
			o.call.End(upstream.OutcomeError, 0)
			c.refuse(o.id, jrpc2.Errorf(jrpc2.InternalError, "%v", err))
		default:
			o.call.End(upstream.OutcomeCancelled, 0)
		}
		if o.greeted != nil {
			o.greeted()
		}
	}
}

// refuse answers the client in the server's place.
func (c *relayed) refuse(id json.RawMessage, err error) {
	_ = c.down.Put(wire.AppendAnswer(nil, id, nil, err)) // a client that has left is noticed by its stream
}
