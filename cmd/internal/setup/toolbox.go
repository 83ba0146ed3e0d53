package setup

import (
	"context"
	"maps"
	"slices"
	"sync"

	"go.uber.org/zap"

	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/servers"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/board"
)

// upstreams are the MCP servers of the configuration: one toolbox for as long
// as the process lives, whose servers change with the configuration. One of which it
// says the same as before goes on.
type upstreams struct {
	options upstream.Options // of the box, without what toolbox adds
	env     configs.Env
	run     configs.Run // of programs that give keys
	log     *zap.Logger
	logs    *logs.Servers
	audit   *logs.Audit

	mu  sync.Mutex // guards the fields below
	of  *configs.Config
	rev map[string]int // how often each has changed
	box *upstream.Box  // also without any: clients bring their own; nil: nothing was read yet
}

// toolbox has the servers be those of a configuration, and the board tell of them. It
// is called by one goroutine at a time.
func (s *upstreams) toolbox(c *configs.Config, b *board.Board) *upstream.Box {
	s.mu.Lock()
	old, box, rev := s.of, s.box, maps.Clone(s.rev)
	s.mu.Unlock()
	if rev == nil {
		rev = map[string]int{}
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
	list := servers.Of(c, rev, s.env, s.run)
	switch {
	case box == nil:
		o := s.options
		o.Servers, o.Board, o.Log, o.Audit = list, b, s.logLine, s.audit.Add
		box = upstream.New(o)
		box.Announce()
	case changed:
		box.Set(list)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of, s.rev, s.box = c, rev, box
	return box
}

// sameServer reports whether two configurations say the same of a server, and whether
// it is the user's in both.
func sameServer(a, b *configs.Config, name string) bool {
	was, ok := a.MCPServers[name]
	return ok && was.Same(b.MCPServers[name]) &&
		a.FromEditor(servers.Key(name)) == b.FromEditor(servers.Key(name))
}

// sameFault reports whether the same is wrong with a server of two configurations.
func sameFault(a, b configs.UnusableServer) bool {
	return a.Err != nil && a.Err.Error() == b.Err.Error() && a.Disabled == b.Disabled
}

// close ends what belongs to no session.
func (s *upstreams) close() {
	if box := s.current(); box != nil {
		box.Close()
	}
	s.logs.Close()
	s.audit.Close()
}

// commands lists what is known of a workspace's, with the prompts of the servers.
func (p *Profiles) commands(box *upstream.Box) func(context.Context, core.Meta) []core.Command {
	return func(ctx context.Context, m core.Meta) []core.Command {
		return slices.Concat(p.guides.commands(ctx, m.Roots), box.Commands(m.ID))
	}
}

// logLine logs what servers say, and what becomes of them.
func (s *upstreams) logLine(server, level, text string) {
	s.logs.Add(server, level, text)
	l, err := logs.ParseLevel(level)
	if err != nil {
		l = zap.InfoLevel
	}
	s.log.Log(l, text, zap.String("server", server))
}

// current is the toolbox of the servers, or nil.
func (s *upstreams) current() *upstream.Box {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.box
}
