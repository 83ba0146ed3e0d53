package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
)

// connection is a session's connection to the server until it breaks. The session's keeper makes
// the next one.
type connection struct {
	link   *upstream.Link
	out    *serverStream
	number int           // of connections before it
	over   chan struct{} // closed when nothing more comes from the server

	peer  *upstream.Peer // guarded by pipeSession.mu, like ready
	ready bool           // the client's messages may be sent on it
}

// memory holds what the client and the server have settled, to be repeated to the next connection.
type memory struct {
	begun       bool            // the server has answered
	hello       json.RawMessage // the parameters of initialize; nil: the client has sent none
	version     json.RawMessage // that the server has answered with
	initialized []byte          // the client's notification; nil: it has sent none
	changes     []string        // notifications of changed lists that the server has announced
	level       json.RawMessage // the parameters of logging/setLevel
	subscribed  map[string]json.RawMessage
}

// listChanges are the notifications of changed lists, by the capability that announces them.
var listChanges = []struct{ capability, note string }{
	{"tools", proto.NoteToolsChanged},
	{"prompts", proto.NotePromptsChanged},
	{"resources", proto.NoteResourcesChanged},
}

// note updates the memory by the server's answer m to o.
func (k *memory) note(o *request, m wire.Message) {
	if m.Result == nil {
		return
	}
	var about struct {
		URI string `json:"uri"`
	}
	switch o.method {
	case proto.MethodInitialize:
		k.hello, k.version, k.changes = o.params, versionOf(m.Result), nil
		var r struct {
			Caps map[string]struct {
				ListChanged bool `json:"listChanged"`
			} `json:"capabilities"`
		}
		_ = json.Unmarshal(m.Result, &r) // malformed capabilities announce nothing
		for _, l := range listChanges {
			if r.Caps[l.capability].ListChanged {
				k.changes = append(k.changes, l.note)
			}
		}
	case proto.MethodSetLevel:
		k.level = o.params
	case proto.MethodSubscribe, proto.MethodUnsubscribe:
		_ = json.Unmarshal(o.params, &about) // the server has accepted it
		delete(k.subscribed, about.URI)
		if o.method == proto.MethodSubscribe {
			k.subscribed[about.URI] = o.params
		}
	}
	k.begun = k.begun || k.hello != nil || o.method != proto.MethodInitialize
}

// Begin implements upstream.Job: it connects to the server, and introduces the client if it has
// introduced itself before.
func (c *pipeSession) Begin(ctx context.Context) (*upstream.Peer, error) {
	if first := c.first; first != nil {
		c.first = nil
		return c.connect(ctx, first, true), nil
	}
	if err := c.relay.export.Usable(); err != nil {
		c.end(c.failure(err.Error()))
		return nil, err
	}
	limit := c.relay.export.Server.StartFor()
	late := fmt.Sprintf("it did not answer within %v of its start", limit)
	within, cancel := upstream.Within(ctx, limit, late)
	defer cancel()
	l, err := c.relay.dial(within, c.dir)
	if err != nil {
		return nil, err
	}
	p := c.connect(ctx, l, false)
	if err := c.introduce(within); err != nil {
		p.Close()
		if errors.Is(err, wire.ErrClosed) {
			err = errors.New(p.Why())
		} else if why, ok := streamable.Unreached(err); ok {
			err = errors.New(why)
		}
		c.settleOpen(err.Error())
		return nil, err
	}
	return p, nil
}

// connect begins to read from a link. The client's messages are sent on it once it is ready.
func (c *pipeSession) connect(ctx context.Context, l *upstream.Link, ready bool) *upstream.Peer {
	s := &connection{
		link:  l,
		out:   newServerStream(l),
		over:  make(chan struct{}),
		ready: ready,
	}
	c.mu.Lock()
	if c.newest != nil {
		s.number = c.newest.number + 1
	}
	c.server, c.newest = s, s
	c.mu.Unlock()
	p := upstream.NewVerbatimPeer(l, func() {
		var writing sync.WaitGroup
		writing.Go(func() { _ = s.out.Run(ctx) }) // the reading end notices
		c.fromServer(ctx, s)
		c.mu.Lock()
		if c.server == s {
			c.server = nil
		}
		c.mu.Unlock()
		close(s.over)
		l.In.Close()
		s.out.Close()
		writing.Wait()
	})
	c.mu.Lock()
	s.peer = p
	c.mu.Unlock()
	return p
}

// introduce repeats the client's handshake and settings to a server that was started again. It
// notifies the client that the lists may have changed.
func (c *pipeSession) introduce(ctx context.Context) error {
	c.mu.Lock()
	s, known := c.newest, c.memory
	var wants []json.RawMessage
	for _, uri := range slices.Sorted(maps.Keys(known.subscribed)) {
		wants = append(wants, known.subscribed[uri])
	}
	c.mu.Unlock()
	c.view.Stale() // it may be another program by now
	if known.hello != nil {
		res, err := c.ask(ctx, s, proto.MethodInitialize, known.hello)
		if err != nil {
			return err
		}
		version := versionOf(res)
		if string(version) != string(known.version) {
			return fmt.Errorf("it speaks version %.40s of the protocol now, and the client %.40s; "+
				"connect the client again", version, known.version)
		}
		c.settled(s, version)
	}
	if known.initialized != nil {
		_ = s.out.Put(known.initialized) // the reader notices a server that has left
	}
	if known.level != nil {
		_, _ = c.ask(ctx, s, proto.MethodSetLevel, known.level) // calls wait for it; an error changes nothing
	}
	for _, params := range wants {
		c.request(s, proto.MethodSubscribe, params) // the answer is ignored
	}
	if known.initialized != nil {
		for _, method := range known.changes {
			_ = c.down.Put(wire.Edit(nil,
				wire.Set("jsonrpc", wire.JSON("2.0")), wire.Set("method", wire.JSON(method))))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.ready = true
	return nil
}

// settled notes the version that the server has answered initialize with.
func (c *pipeSession) settled(s *connection, version json.RawMessage) {
	c.view.Settled(version)
	var date string
	if json.Unmarshal(version, &date) == nil {
		s.link.Settled(date)
	}
}

// Follow implements upstream.Job: it waits for the end of the connection, and settles the requests
// that are open.
func (c *pipeSession) Follow(ctx context.Context, p *upstream.Peer) string {
	select {
	case <-ctx.Done():
	case <-p.Done:
	}
	ours := !p.Over()
	p.Close()
	if !ours {
		c.settleOpen(p.Why())
	}
	return p.Why()
}

// Failed implements upstream.Job: the server is started again after a pause, unless the client has
// left, the server never answered, or the keeper has given up.
func (c *pipeSession) Failed(why string) {
	c.mu.Lock()
	left, begun := c.left, c.memory.begun
	c.mu.Unlock()
	err := c.failure(why)
	switch {
	case left:
		c.end(&leftError{err})
	case !begun:
		c.end(err)
	case c.keeper.GaveUp():
		c.end(fmt.Errorf("%w; it has failed too often in a row and is not started again; %s", err, advice))
	default:
		c.relay.export.Log("warn", "ended, and will be started again for its client: "+why)
	}
}

// failure returns the error of a session whose server has ended for good.
func (c *pipeSession) failure(why string) error {
	return fmt.Errorf("the MCP server %s: %s", c.relay.export.Server.Name, why)
}

// leftError means that the server ended after the client had left.
type leftError struct{ error }

// settleOpen settles what was open on the newest connection, which has ended. It withdraws the
// server's questions, holds requests that may be repeated, and answers the others with an error.
func (c *pipeSession) settleOpen(why string) {
	name := c.relay.export.Server.Name
	for _, id := range c.patience.cut() {
		_ = c.down.Put(withdrawal(json.RawMessage(id), "the MCP server "+name+" has ended"))
	}
	c.mu.Lock()
	var open []*request
	for id, o := range c.open {
		if o.on == c.newest {
			delete(c.open, id)
			open = append(open, o)
		}
	}
	final := c.left || !c.memory.begun
	c.mu.Unlock()
	slices.SortFunc(open, func(x, y *request) int { return x.order - y.order })
	var again []heldLine
	for _, o := range open {
		if o.greeted != nil {
			o.greeted()
		}
		harmless := c.view.MayRepeat(o.method, o.tool)
		switch {
		case o.own != nil:
		case o.number != "":
			c.refuse(o.id, c.errUndated(o.number))
		case final:
			o.fail(c, c.failure(why))
		case harmless && o.line.line != nil && !o.repeated:
			o.repeated = true
			again = append(again, o.line)
		default:
			o.fail(c, upstream.EndedError(name, harmless, why))
		}
	}
	c.holdBack(again...)
}

// fail ends a request with an error.
func (o *request) fail(c *pipeSession, err error) {
	o.call.End(upstream.OutcomeError, 0)
	c.refuse(o.id, jrpc2.Errorf(jrpc2.InternalError, "%v", err))
}

// withMark returns a message of the server's as the client gets it. Servers number their questions
// from the same id at each start. On later connections the ids are marked, so that a late answer
// to an earlier question is not taken for the answer to a new one.
func (s *connection) withMark(raw []byte, m wire.Message) []byte {
	switch {
	case m.Kind() == wire.Request:
		return wire.Edit(raw, wire.Set("id", s.mark(m.ID)))
	case m.Method == proto.NoteCancelled:
		return withParam(raw, m, "requestId", s.mark(streamable.CancelledID(m.Params)))
	}
	return raw
}

// isMarked reports whether marked changes a message.
func isMarked(m wire.Message) bool {
	return m.Kind() == wire.Request || m.Method == proto.NoteCancelled
}

func (s *connection) mark(id json.RawMessage) json.RawMessage {
	return wire.JSON(strconv.Itoa(s.number) + "/" + string(id))
}

// withoutMark returns a message of the client's as the server gets it. It returns nil for the answer
// to a question of an earlier connection. A nil connection has asked nothing.
func (s *connection) withoutMark(raw []byte, m wire.Message) []byte {
	if m.Kind() != wire.Response {
		return raw
	}
	var id string
	if s == nil || json.Unmarshal(m.ID, &id) != nil {
		return nil
	}
	number, id, ok := strings.Cut(id, "/")
	if !ok || number != strconv.Itoa(s.number) || !json.Valid([]byte(id)) {
		return nil
	}
	return wire.Edit(raw, wire.Set("id", json.RawMessage(id)))
}
