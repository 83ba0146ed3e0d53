package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/control"
	"dragoman/core/share"
)

// clientSpec describes a connection to another process of the same user, which then makes the same
// profiles. The other process does not lend the models of the connection's clients.
type clientSpec struct {
	People  bool                 `json:"people,omitempty"`
	Quiet   bool                 `json:"quiet,omitempty"`
	Allow   []configs.Rule       `json:"allow,omitempty"`
	Options json.RawMessage      `json:"options,omitempty"` // the editor's, as received
	Agreed  bool                 `json:"agreed,omitempty"`  // the user has agreed to those that allow more
	Routes  map[string]routeSpec `json:"routes,omitempty"`
}

// routeSpec describes a route.
type routeSpec struct {
	Kind    string            `json:"kind,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Share makes the Sharing of this process with others of the same user. It is called once, before the
// first session.
func (p *Process) Share() *share.Sharing {
	p.sharing = share.New(share.Options{
		Node: program.Node(), Config: p.env.ConfigPlace(), Dir: share.Dir(p.env.Getenv),
		Spec: spec, Profiles: p.guest, Present: p.present, Boards: boards{p},
	})
	return p.sharing
}

// present shows the clients of a session on the board.
func (p *Process) present(by core.Principal, id core.SessionID, list []core.Attendee) {
	topic := board.PresentTopic(by, id)
	if len(list) == 0 {
		p.board.Drop(topic)
		return
	}
	p.board.Put(topic, board.Present{Clients: list})
}

// spec describes one of our connections.
func spec(of core.Profiles) (json.RawMessage, error) {
	c, ok := of.(*Client)
	if !ok {
		return nil, errors.New("the rules of this connection cannot be passed to another process")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := clientSpec{
		People: c.layer.people, Quiet: c.layer.quiet, Allow: c.layer.allow,
		Options: c.options, Agreed: c.options != nil && c.wider == nil,
	}
	for name, r := range c.layer.routes {
		if s.Routes == nil {
			s.Routes = map[string]routeSpec{}
		}
		s.Routes[name] = routeSpec{r.kind, r.url, r.headers}
	}
	return json.Marshal(s)
}

// guest makes the profiles of a connection of another process.
func (p *Process) guest(by core.Principal, raw json.RawMessage) (core.Profiles, func(), error) {
	var s clientSpec
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, nil, fmt.Errorf("read the rules of a connection of another process: %w", err)
	}
	c := p.Client(ClientOptions{Principal: by, People: s.People, Quiet: s.Quiet, Allow: s.Allow})
	if s.Options != nil {
		_ = c.Configure(s.Options) // the process whose client it is has shown the mistakes
	}
	c.mu.Lock()
	if w := c.wider; s.Agreed && w != nil {
		c.wider, c.layer.editor = nil, w.whole
		c.layer.setText(w.raw, false)
	}
	c.mu.Unlock()
	for name, r := range s.Routes {
		c.route(name, route{r.Kind, r.URL, r.Headers})
	}
	return c, c.Close, nil
}

// boards connects the boards of processes that use a session together.
type boards struct{ p *Process }

var _ share.Boards = boards{}

// Of implements share.Boards.
func (b boards) Of(of core.Profiles) board.Reader {
	if c, ok := of.(*Client); ok {
		return c.Board()
	}
	return nil
}

// place returns the topic under which a connection sees what another process has posted for it.
func (b boards) place(of core.Profiles, t board.Topic) (board.Topic, bool) {
	c, ok := of.(*Client)
	if !ok {
		return t, false
	}
	if t.Kind == "server" {
		t.Principal, t.Layer = "", b.p.servers.layer(c.edition())
	}
	return t, true
}

// Show implements share.Boards. A server that runs in this process is shown as it is here.
func (b boards) Show(of core.Profiles, t board.Topic, item board.Item) {
	t, ok := b.place(of, t)
	if !ok {
		return
	}
	if t.Kind == "server" {
		b.p.posted.show(b.p.board, t, item)
		return
	}
	b.p.board.Put(t, item)
}

// Hide implements share.Boards.
func (b boards) Hide(of core.Profiles, t board.Topic) {
	t, ok := b.place(of, t)
	if !ok {
		return
	}
	if t.Kind == "server" {
		b.p.posted.hide(b.p.board, t)
		return
	}
	b.p.board.Drop(t)
}

// Control implements share.Boards.
func (b boards) Control(ctx context.Context, of core.Profiles, by core.Client, roots []string, server string, start bool) error {
	c, ok := of.(*Client)
	if !ok {
		return errNotYours
	}
	made, err := c.In(ctx, roots)
	if err != nil {
		return err
	}
	var what control.Action = control.Stop{}
	if start {
		what = control.Start{}
	}
	return made.Servers.(serverControl).here(ctx, by, roots, server, what) //nolint:forcetypeassert // it is ours
}

// postedServers are the states of servers that run in another process for connections of this one.
type postedServers struct {
	mu  sync.Mutex // guards own
	own map[board.Topic]board.Item
}

// show posts the state of a server, unless it runs in this process.
func (l *postedServers) show(on *board.Board, t board.Topic, item board.Item) {
	now := on.Get(t)
	l.mu.Lock()
	_, replaced := l.own[t]
	here, _ := now.(board.Server)
	keep := !replaced && (here.Status == "running" || here.Status == "starting")
	if !keep && !replaced {
		if l.own == nil {
			l.own = map[board.Topic]board.Item{}
		}
		l.own[t] = now
	}
	l.mu.Unlock()
	if !keep {
		on.Put(t, item)
	}
}

// hide posts the state that the server has in this process again.
func (l *postedServers) hide(on *board.Board, t board.Topic) {
	l.mu.Lock()
	own, replaced := l.own[t]
	delete(l.own, t)
	l.mu.Unlock()
	switch {
	case !replaced:
	case own == nil:
		on.Drop(t)
	default:
		on.Put(t, own)
	}
}
