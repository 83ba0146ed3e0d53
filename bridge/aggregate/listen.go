package aggregate

import (
	"context"
	"encoding/json"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
)

// listener is a client's open request of 2026-07-28 for notifications of changes. Servers of that
// version get such a request too; at others we subscribe to resources, and they send the other
// notifications anyway.
type listener struct {
	call  *wire.Call
	id    json.RawMessage
	key   string // the call's key
	wants changes
	uris  map[string]bool

	asked map[*part]*wire.Ask // guarded by the side's mutex
}

// changes are the kinds of changes that a client wants to be notified of.
type changes struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

func (c changes) empty() bool { return !c.Tools && !c.Prompts && !c.Resources && len(c.URIs) == 0 }

// listen acknowledges the request, and subscribes at the servers.
func (s *side) listen(ctx context.Context, call *wire.Call, q request) {
	l := &listener{
		call:  call,
		id:    call.ID,
		key:   call.Key(),
		uris:  map[string]bool{},
		asked: map[*part]*wire.Ask{},
	}
	if q.changes == nil || json.Unmarshal(q.changes, &l.wants) != nil {
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams, "notifications must say what to listen to"))
		return
	}
	for _, uri := range l.wants.URIs {
		l.uris[uri] = true
	}
	s.busy.Add(1)
	s.mu.Lock()
	s.listens[l.key] = l
	s.mu.Unlock()
	context.AfterFunc(call.Context(), func() { s.endListener(l) })
	_ = call.Notify(proto.NoteAcknowledged, wire.Edit(nil,
		wire.Set("_meta", l.meta()), wire.Set("notifications", wire.JSON(l.wants)))) // it has left
	if l.wants.empty() {
		call.Reply(l.result(), nil)
		return
	}
	for _, p := range s.parts() {
		if peer := p.running(); peer != nil {
			p.follow(peer, l)
		}
	}
	if len(l.wants.URIs) == 0 {
		return
	}
	s.caller.owned.Go(func() {
		for _, uri := range l.wants.URIs {
			if p, _ := s.owner(uri); p != nil {
				continue
			}
			if p, own := s.locate(ctx, call.Context(), uri); p != nil {
				s.addressOf(p, own)
				if peer := p.running(); peer != nil {
					p.follow(peer, l)
				}
			}
		}
	})
}

func (l *listener) meta() json.RawMessage {
	return wire.Edit(nil, wire.Set(proto.MetaSubscription, l.id))
}

func (l *listener) result() json.RawMessage {
	return wire.Edit(nil, wire.Set("resultType", wire.JSON(proto.ResultComplete)), wire.Set("_meta", l.meta()))
}

// endListener ends a listener whose request has ended.
func (s *side) endListener(l *listener) {
	s.mu.Lock()
	_, was := s.listens[l.key]
	if was = was && s.listens[l.key] == l; was {
		delete(s.listens, string(l.id))
	}
	asked := l.asked
	l.asked = nil
	s.mu.Unlock()
	if !was {
		return
	}
	for _, a := range asked {
		a.Withdraw()
	}
	for uri := range l.uris {
		if s.wanted(uri) {
			continue
		}
		for _, p := range s.parts() { // the lists may have changed since
			p.unfollow(s.ownOf(p, uri))
		}
	}
	l.call.Drop()
	s.busy.Add(-1)
}

// wanted reports whether a client of 2026-07-28 still listens to a resource.
func (s *side) wanted(uri string) bool {
	return len(s.listeners(func(l *listener) bool { return l.uris[uri] })) > 0
}

// endListeners answers the requests of all listeners, which never end by themselves.
func (s *side) endListeners() {
	for _, l := range s.listeners(anything) {
		l.call.Reply(l.result(), nil)
		s.endListener(l)
	}
}

// follow subscribes a listener to the changes of one server.
func (p *part) follow(peer *upstream.Peer, l *listener) {
	s := p.side
	wants := l.wants
	wants.URIs = nil
	for _, uri := range l.wants.URIs {
		if owner, own := s.owner(uri); owner == p {
			wants.URIs = append(wants.URIs, own)
		}
	}
	if !peer.Modern() {
		for _, uri := range wants.URIs {
			p.followOne(peer, uri)
		}
		return
	}
	if wants.Tools = wants.Tools && peer.Caps.Tools != nil; wants.empty() {
		return
	}
	a, err := hear(peer, wants)
	if err != nil {
		return // it has ended
	}
	s.mu.Lock()
	before, over := l.asked[p], l.asked == nil
	if !over {
		l.asked[p] = a
	}
	s.mu.Unlock()
	if over {
		a.Withdraw()
	}
	if before != nil {
		before.Withdraw()
	}
}

// hear requests notifications of changes from a server of 2026-07-28. The answer comes when the
// subscription ends, and needs no handling.
func hear(peer *upstream.Peer, wants changes) (*wire.Ask, error) {
	return peer.Conn.Start(proto.MethodListen, peer.With(nil, wire.Set("notifications", wire.JSON(wants))),
		func(json.RawMessage, error) {})
}

// followLists subscribes a client of an older version to the lists of a server of 2026-07-28:
// such a client gets notifications of lists without asking.
func (p *part) followLists(peer *upstream.Peer) {
	if !peer.Modern() || p.side.modern() {
		return
	}
	c := peer.Caps
	wants := changes{
		Tools: c.Tools != nil && c.Tools.ListChanged, Prompts: c.Prompts != nil && c.Prompts.ListChanged,
		Resources: c.Resources != nil && c.Resources.ListChanged,
	}
	if !wants.empty() {
		_, _ = hear(peer, wants) // it has ended
	}
}

// followAgain renews all subscriptions at a server that was started.
func (s *side) followAgain(p *part) {
	peer := p.running()
	if peer == nil {
		return
	}
	for _, l := range s.listeners(anything) {
		p.follow(peer, l)
	}
	p.mu.Lock()
	var uris []string
	for uri := range p.wanted {
		uris = append(uris, uri)
	}
	p.mu.Unlock()
	for _, uri := range uris {
		p.followOne(peer, uri)
	}
}

// followOne subscribes to a resource in the way of the server's version.
func (p *part) followOne(peer *upstream.Peer, uri string) {
	p.mu.Lock()
	_, have := p.subs[uri]
	if !have {
		p.subs[uri] = nil
	}
	p.mu.Unlock()
	if have {
		return
	}
	if !peer.Modern() {
		_, _ = peer.Conn.Start(proto.MethodSubscribe, wire.JSON(map[string]string{"uri": uri}),
			func(json.RawMessage, error) {}) // the peer's end is handled elsewhere
		return
	}
	if a, err := hear(peer, changes{URIs: []string{uri}}); err == nil {
		p.mu.Lock()
		p.subs[uri] = a
		p.mu.Unlock()
	}
}

func (p *part) unfollow(uri string) {
	p.mu.Lock()
	a, have := p.subs[uri]
	delete(p.subs, uri)
	delete(p.wanted, uri)
	p.mu.Unlock()
	peer := p.running()
	switch {
	case !have || peer == nil:
	case a != nil:
		a.Withdraw()
	case !peer.Modern():
		_, _ = peer.Conn.Start(proto.MethodUnsubscribe, wire.JSON(map[string]string{"uri": uri}),
			func(json.RawMessage, error) {}) // as above
	}
}

// subscribe passes on resources/subscribe, and remembers it in case the server is started again.
// A server of 2026-07-28 gets a request of its own version instead.
func (s *side) subscribe(call *wire.Call, q request, p *part) {
	x := s.newPass(p, call, q)
	x.after = func(res json.RawMessage) json.RawMessage {
		p.mu.Lock()
		p.wanted[q.uri] = true
		p.subs[q.uri] = nil
		p.mu.Unlock()
		return res
	}
	peer := p.running()
	if peer == nil || !peer.Modern() {
		x.send()
		return
	}
	p.mu.Lock()
	p.wanted[q.uri] = true
	p.mu.Unlock()
	p.followOne(peer, q.uri)
	x.finish(json.RawMessage(`{}`), nil)
}

func (s *side) unsubscribe(call *wire.Call, q request, p *part) {
	x := s.newPass(p, call, q)
	if peer := p.running(); peer == nil || peer.Modern() {
		p.unfollow(q.uri)
		x.finish(json.RawMessage(`{}`), nil)
		return
	}
	p.mu.Lock()
	delete(p.wanted, q.uri)
	delete(p.subs, q.uri)
	p.mu.Unlock()
	x.send()
}

// updated notifies the client of a changed resource, under the address that the client knows.
func (s *side) updated(params json.RawMessage) {
	const method = proto.NoteResourceUpdated
	if !s.modern() {
		_ = s.caller.conn.Notify(method, orNothing(params)) // it has left
		return
	}
	var n struct {
		URI string `json:"uri"`
	}
	if json.Unmarshal(params, &n) != nil {
		return
	}
	for _, l := range s.listeners(func(l *listener) bool { return l.uris[n.URI] }) {
		s.tellListening(l, method, params)
	}
}

// tellChanged notifies the client of a changed list.
func (s *side) tellChanged(k kind) {
	method := kinds[k].changed
	if !s.modern() {
		_ = s.caller.conn.Notify(method, nil) // it has left
		return
	}
	for _, l := range s.listeners(func(l *listener) bool {
		return k == toolList && l.wants.Tools || k == promptList && l.wants.Prompts || k == resourceList && l.wants.Resources
	}) {
		s.tellListening(l, method, nil)
	}
}

// anything selects every listener.
func anything(*listener) bool { return true }

// listeners returns the listeners that wants selects.
func (s *side) listeners(wants func(*listener) bool) []*listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*listener
	for _, l := range s.listens {
		if wants(l) {
			list = append(list, l)
		}
	}
	return list
}

func (s *side) tellListening(l *listener, method string, params json.RawMessage) {
	_ = l.call.Notify(method, upstream.EditMeta(params, wire.Set(proto.MetaSubscription, l.id))) // it has left
}
