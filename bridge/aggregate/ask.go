package aggregate

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
)

// receive handles a request or notification of a server. It runs on the peer's reading goroutine,
// in the order of the stream, and does not block.
func (p *part) receive(c *wire.Call) {
	if c.IsNotification() {
		p.notified(c)
		return
	}
	s := p.side
	switch {
	case !s.offersFor(c.Method):
		c.Reply(nil, jrpc2.Errorf(jrpc2.MethodNotFound, "the client does not offer %.100s", c.Method))
	case s.modern():
		p.park(c)
	default:
		p.put(c)
	}
}

// notified passes a notification to the client.
func (p *part) notified(c *wire.Call) {
	s := p.side
	if name, ok := strings.CutSuffix(c.Method, "/list_changed"); ok {
		if p.view != nil && name == "notifications/tools" {
			p.view.Stale()
		}
		for k, l := range kinds {
			if l.changed != "" && strings.HasPrefix(l.changed, name+"/") {
				s.changed(kind(k))
			}
		}
		return
	}
	conn := s.caller.conn
	params := s.addressed(p, inNote, c.Params)
	switch c.Method {
	case proto.NoteResourceUpdated:
		s.updated(params)
		return
	case proto.NoteAcknowledged: // the client has got ours
		return
	case proto.NoteMessage:
		if s.modern() && !p.agent() && !p.wantsLog() || s.caller.behind() {
			return
		}
	}
	_ = conn.Notify(c.Method, orNothing(params)) // it has left
}

// wantsLog reports whether an open request has asked for log messages, as requests of 2026-07-28
// can.
func (p *part) wantsLog() bool {
	peer := p.running()
	p.mu.Lock()
	defer p.mu.Unlock()
	return peer != nil && peer.Modern() ||
		slices.ContainsFunc(p.open, func(x *pass) bool { return x.q.level != "" })
}

// offersFor reports whether a server's request can be passed to the client. Requests outside of
// the protocol are passed to clients of the older versions, which can refuse them; at 2026-07-28
// there is no way to pass them.
func (s *side) offersFor(method string) bool {
	switch method {
	case proto.MethodRoots:
		return s.offers.Roots != nil
	case proto.MethodSample:
		return s.offers.Sampling != nil
	case proto.MethodElicit:
		return s.offers.Elicitation != nil
	}
	return !s.modern()
}

// maxAskingClient limits the questions of one server that a client has not answered.
const maxAskingClient = 64

// put passes a server's request to the client as a request of our own.
func (p *part) put(c *wire.Call) {
	if !p.silence.Ask(maxAskingClient) {
		c.Reply(nil, jrpc2.Errorf(wire.CodeBusy, "%d questions are with the client already", maxAskingClient))
		return
	}
	params, forget := p.side.caller.track(p, p.side.addressed(p, inQuestion, c.Params))
	a, err := p.side.caller.conn.Start(c.Method, orNothing(params), func(res json.RawMessage, err error) {
		forget()
		p.silence.Answered()
		c.Reply(p.side.own(inQuestion, res), err)
	})
	if err != nil {
		forget()
		p.silence.Answered()
		c.Reply(nil, err)
		return
	}
	context.AfterFunc(c.Context(), func() { // the server has its answer, has cancelled the question, or has ended
		if a.Withdraw() {
			forget()
			p.silence.Answered()
			c.Drop()
		}
	})
}

// origin is the server that has asked for progress, and its token.
type origin struct {
	part  *part
	token json.RawMessage
}

// track replaces the progress token of a question by one of ours, because several servers may
// use the same.
func (c *caller) track(p *part, params json.RawMessage) (_ json.RawMessage, forget func()) {
	token := upstream.ProgressToken(params)
	if token == nil {
		return params, func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	ours := strconv.FormatInt(c.last, 10)
	if c.tokens == nil {
		c.tokens = map[string]origin{}
	}
	c.tokens[ours] = origin{p, token}
	return upstream.EditMeta(params, wire.Set(proto.MetaToken, json.RawMessage(ours))), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.tokens, ours)
	}
}

// progressed passes the client's progress to the server that has asked for it.
func (c *caller) progressed(params json.RawMessage) {
	var n upstream.Progress
	if wire.Unmarshal(params, &n) != nil {
		return
	}
	c.mu.Lock()
	o := c.tokens[string(n.Token)]
	c.mu.Unlock()
	if o.part != nil {
		o.part.tell(proto.NoteProgress, wire.Edit(params, wire.Set(proto.MetaToken, o.token)))
	}
}
