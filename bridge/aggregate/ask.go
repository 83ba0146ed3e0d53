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

// receive hands on what a server says unasked. It runs on the peer's reading
// goroutine, in the order of the stream, and does not block.
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

// notified hands on a notification.
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
	switch c.Method {
	case proto.NoteResourceUpdated:
		s.updated(c.Params)
		return
	case proto.NoteAcknowledged: // we have said so ourselves
		return
	case proto.NoteMessage:
		if s.modern() && !p.agent() && !p.wantsLog() || s.caller.behind() {
			return
		}
	}
	_ = conn.Notify(c.Method, orNothing(c.Params)) // it has left
}

// wantsLog reports whether a request that is open has asked for log messages, as
// those of 2026-07-28 do.
func (p *part) wantsLog() bool {
	peer := p.running()
	p.mu.Lock()
	defer p.mu.Unlock()
	return peer != nil && peer.Modern() ||
		slices.ContainsFunc(p.open, func(x *pass) bool { return x.q.level != "" })
}

// offersFor reports whether the client can be asked that. A request that is none of the
// protocol's questions is for a client of the older versions to refuse, in its own words; one of
// 2026-07-28 could not be asked.
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

// maxAskingClient is how many questions of one server may be with a client.
const maxAskingClient = 64

// ask counts a question that goes to the client; false: there are too many.
func (p *part) ask() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking >= maxAskingClient {
		return false
	}
	p.asking++
	return true
}

func (p *part) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking--
}

// put asks the client what a server asks, as a request like the server's own.
func (p *part) put(c *wire.Call) {
	if !p.ask() {
		c.Reply(nil, jrpc2.Errorf(wire.CodeBusy, "%d questions are with the client already", maxAskingClient))
		return
	}
	params, forget := p.side.caller.track(p, c.Params)
	a, err := p.side.caller.conn.Start(c.Method, orNothing(params), func(res json.RawMessage, err error) {
		forget()
		p.answered()
		c.Reply(res, err)
	})
	if err != nil {
		forget()
		p.answered()
		c.Reply(nil, err)
		return
	}
	context.AfterFunc(c.Context(), func() { // the server has its answer, takes the question back, or has ended
		if a.Withdraw() {
			forget()
			p.answered()
			c.Drop()
		}
	})
}

// origin is who has asked for progress, under which token.
type origin struct {
	part  *part
	token json.RawMessage
}

// track gives a question a progress token of ours, if it has one: those of several
// servers may be the same.
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

// progressed hands the client's progress on to the server that has asked for it.
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

// setLevel tells a server from which level on it is to log.
func (p *part) setLevel(peer *upstream.Peer, level string) {
	p.mu.Lock()
	same := p.level == level || peer.Modern() || peer.Caps.Logging == nil
	if !same {
		p.level = level
	}
	p.mu.Unlock()
	if same {
		return
	}
	_, _ = peer.Conn.Start(proto.MethodSetLevel, wire.JSON(map[string]string{"level": level}),
		func(json.RawMessage, error) {}) // its end is noticed elsewhere
}

// setLevel has our agent judge a level, and tells it to all.
func (s *side) setLevel(call *wire.Call, q request) {
	var p struct {
		Level string `json:"level"`
	}
	_ = json.Unmarshal(q.params, &p) // the agent says what is wrong
	x := s.newPass(s.agent, call, q)
	x.after = func(res json.RawMessage) json.RawMessage {
		s.mu.Lock()
		s.level = p.Level
		s.mu.Unlock()
		for _, part := range s.parts()[1:] {
			if peer := part.running(); peer != nil {
				part.setLevel(peer, p.Level)
			}
		}
		return res
	}
	x.send()
}
