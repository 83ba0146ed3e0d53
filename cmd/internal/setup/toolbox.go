package setup

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	"go.uber.org/zap"

	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/confine"
	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/servers"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/policy"
)

// upstreams are the MCP servers of the configuration. Those of the user's files are one toolbox
// until the process ends. Its servers change with the configuration; a server whose entry is
// unchanged keeps running. Editions whose editors add servers have a toolbox of their own, and
// editions whose editors add the same servers share it.
type upstreams struct {
	options upstream.Options // of the boxes, without the settings that toolbox adds
	env     configs.Env
	run     configs.Run // runs programs that print keys
	log     *zap.Logger
	logs    *logs.Servers
	audit   *logs.Audit
	places  *confine.Places

	mu    sync.Mutex // guards the fields below
	made  int        // number of boxes so far
	boxes []*sharedBox
}

// sharedBox is one box. The lock of upstreams guards its fields except box and layer.
type sharedBox struct {
	box    *upstream.Box // even without any server: clients bring their own
	layer  string        // as Topic.Layer
	added  string        // the editors' servers, in the form of layer.servers
	config *configs.Config
	rev    map[string]int    // number of changes of each server
	users  map[*edition]bool // the editions that use it
}

// toolbox sets the servers of an edition to those of its configuration, and posts them on the
// board. added are the servers that its editor adds. One goroutine at a time calls it.
func (s *upstreams) toolbox(c *configs.Config, added string, e *edition) *upstream.Box {
	s.mu.Lock()
	now := s.served(e)
	i := slices.IndexFunc(s.boxes, func(o *sharedBox) bool { return o.added == added })
	var over *upstream.Box
	switch {
	case now != nil && now.added == added:
	case i >= 0:
		over, now = s.leaveLocked(e), s.boxes[i]
	case now != nil && len(now.users) == 1:
	default:
		over, now = s.leaveLocked(e), &sharedBox{rev: map[string]int{}, users: map[*edition]bool{}}
		if s.made > 0 {
			now.layer = strconv.Itoa(s.made)
		}
		s.made++
		s.boxes = append(s.boxes, now)
	}
	joins := !now.users[e]
	now.users[e], now.added = true, added
	old, rev := now.config, maps.Clone(now.rev)
	s.mu.Unlock()
	if over != nil {
		over.Close()
	}
	changed := old != nil && (len(old.MCPServers) != len(c.MCPServers) || len(old.Unusable) != len(c.Unusable))
	for name := range c.MCPServers {
		if old == nil || !sameServer(old, c, name) {
			rev[name]++
			changed = true
		}
	}
	for name, s := range c.Unusable {
		if old == nil || !sameFault(old.Unusable[name], s) {
			rev[name]++
			changed = true
		}
	}
	list := servers.Of(c, rev, s.env, s.run, func(name string) upstream.Confine { return s.confine(c, now, name) })
	box := now.box
	switch {
	case box == nil:
		o := s.options
		o.Servers, o.Board, o.Layer, o.Log, o.Audit = list, e.board, now.layer, s.logLine, s.audit.Add
		box = upstream.New(o)
		box.Announce()
	case changed:
		box.Set(list)
	case joins: // the new edition's clients have no postings yet
		box.Announce()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now.config, now.rev, now.box = c, rev, box
	return box
}

// confine returns what starts a server's program in a sandbox, by the configuration of the time when it
// starts; nil: it is not confined.
func (s *upstreams) confine(c *configs.Config, in *sharedBox, name string) upstream.Confine {
	server := c.MCPServers[name]
	if !server.Confined() {
		return nil
	}
	return func(id string, m core.Meta, ask upstream.Ask) (*child.Guard, func(), error) {
		s.mu.Lock()
		c := in.config
		s.mu.Unlock()
		rules, err := newPolicy(c, s.env)
		if err != nil {
			return nil, nil, err
		}
		start := s.places.Server(c, name, policy.Rights{Rules: rules, Strict: rules.Strict()})
		if start == nil {
			return nil, nil, errors.New("its sandbox was switched off a moment ago; start it again")
		}
		return start(id, m, ask)
	}
}

// served returns the box of an edition; nil: none was read for it yet. The caller holds the lock.
func (s *upstreams) served(e *edition) *sharedBox {
	i := slices.IndexFunc(s.boxes, func(o *sharedBox) bool { return o.users[e] })
	if i < 0 {
		return nil
	}
	return s.boxes[i]
}

// leaveLocked removes an edition from its box, which is returned if no other edition uses it.
func (s *upstreams) leaveLocked(e *edition) *upstream.Box {
	now := s.served(e)
	if now == nil {
		return nil
	}
	if delete(now.users, e); len(now.users) > 0 {
		return nil
	}
	s.boxes = slices.DeleteFunc(s.boxes, func(o *sharedBox) bool { return o == now })
	return now.box
}

// leave releases the box of an edition.
func (s *upstreams) leave(e *edition) {
	s.mu.Lock()
	over := s.leaveLocked(e)
	s.mu.Unlock()
	if over != nil {
		over.Close()
	}
}

// sameServer reports whether a server has the same settings in two configurations, and the same
// origin.
func sameServer(a, b *configs.Config, name string) bool {
	was, ok := a.MCPServers[name]
	return ok && was.Same(b.MCPServers[name]) &&
		a.FromEditor(servers.Key(name)) == b.FromEditor(servers.Key(name))
}

// sameFault reports whether a server has the same mistakes in two configurations.
func sameFault(a, b configs.UnusableServer) bool {
	return a.Err != nil && a.Err.Error() == b.Err.Error() && a.Entry.Disabled == b.Entry.Disabled
}

// close ends the connections without a session.
func (s *upstreams) close() {
	s.mu.Lock()
	boxes := s.boxes
	s.boxes = nil
	s.mu.Unlock()
	for _, o := range boxes {
		if o.box != nil {
			o.box.Close()
		}
	}
	s.logs.Close()
	s.audit.Close()
}

// commands lists the known commands of a workspace, and the prompts of the servers.
func (p *edition) commands(box *upstream.Box) func(context.Context, core.Meta) []core.Command {
	return func(ctx context.Context, m core.Meta) []core.Command {
		return slices.Concat(p.guides.commands(ctx, m.Roots), box.Commands(m.ID))
	}
}

// logLine logs the messages of servers and the changes of their state.
func (s *upstreams) logLine(server, level, text string) {
	s.logs.Add(server, level, text)
	l, err := logs.ParseLevel(level)
	if err != nil {
		l = zap.InfoLevel
	}
	s.log.Log(l, text, zap.String("server", server))
}

// of returns the toolbox of an edition's servers, or nil.
func (s *upstreams) of(e *edition) *upstream.Box {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.served(e); now != nil {
		return now.box
	}
	return nil
}

// layer returns the Topic.Layer under which an edition's servers are posted on the board.
func (s *upstreams) layer(e *edition) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.served(e); now != nil {
		return now.layer
	}
	return "none"
}
