package setup

import (
	"encoding/json"
	"errors"
	"fmt"

	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/board"
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

// Share returns a Sharing of this process with others of the same user.
func (p *Process) Share() *share.Sharing {
	return share.New(share.Options{
		Node: program.Node(), Config: p.env.SharedConfig(), Dir: share.Dir(p.env.Getenv),
		Spec: spec, Profiles: p.guest, Present: p.present,
	})
}

// present shows the clients of a session on the board.
func (p *Process) present(by core.Principal, id core.SessionID, list []core.Attendee) {
	topic := board.Topic{Kind: "present", Name: string(id), Principal: by}
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
