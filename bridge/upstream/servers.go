package upstream

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"dragoman/core"
	"dragoman/core/board"
)

// The states of a server (board.Server).
const (
	statusStopped  = "stopped"
	statusStarting = "starting"
	statusRunning  = "running"
	statusFailed   = "failed"
	statusDisabled = "disabled"
	statusLogin    = "requires-auth"
)

// statusOrder ranks them: of several connections the best one counts.
var statusOrder = []string{statusStopped, statusFailed, statusLogin, statusStarting, statusRunning}

// is reports whether two servers of the configuration are the same one.
func (s Server) is(o Server) bool {
	return s.Name == o.Name && s.Rev == o.Rev && !s.brought && !o.brought
}

// list returns the servers of the configuration.
func (b *Box) list() []Server {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.servers // it is replaced, never modified
}

// Log logs a text about a server.
func (b *Box) Log(server, level, text string) { b.opts.Log(server, level, text) }

// Grace returns the time that a listing waits for servers that are starting.
func (b *Box) Grace() time.Duration { return b.opts.Grace }

// find returns a server of the configuration.
func (b *Box) find(name string) (Server, bool) {
	for _, s := range b.list() {
		if s.Name == name {
			return s, true
		}
	}
	return Server{}, false
}

// configured reports whether a server is in the configuration, unchanged, and not a session's
// own.
func (b *Box) configured(s Server) bool {
	now, ok := b.find(s.Name)
	return ok && now.is(s)
}

// Announce puts the servers on the board before any of them is started.
func (b *Box) Announce() {
	for _, s := range b.list() {
		b.post(s.Name)
	}
}

// Set replaces the servers of the configuration. Those with an unchanged Rev continue;
// connections to the others end at once, and their running calls fail. Sessions use the new
// servers when they list their tools next.
func (b *Box) Set(servers []Server) {
	servers = slices.Clone(servers)
	var over []*upstream
	var exported []*Keeper
	touched := map[string]bool{}
	for _, old := range b.list() {
		if !slices.ContainsFunc(servers, old.is) {
			b.logins.Forget(old.Name)
		}
	}
	b.mu.Lock()
	for _, now := range servers {
		touched[now.Name] = !slices.ContainsFunc(b.servers, now.is)
	}
	for _, old := range b.servers {
		if slices.ContainsFunc(servers, old.is) {
			continue
		}
		touched[old.Name] = true
		over = append(over, b.connectionsLocked(old)...)
		exported = append(exported, b.exportedLocked(old)...)
		delete(b.stopped, old.Name)
		delete(b.roused, old.Name)
		delete(b.known, old.Name)
		delete(b.offers, old.Name)
		delete(b.introduced, old.Name)
	}
	b.servers = servers
	for key, u := range b.sides {
		if slices.Contains(over, u) {
			delete(b.sides, key)
		}
	}
	b.mu.Unlock()
	for _, u := range over {
		u.retire(whyOver)
	}
	for _, k := range exported {
		k.retire(whyChanged)
	}
	for name := range touched {
		if touched[name] {
			b.outages.drop(name)
			b.post(name)
		}
	}
	b.wake()
}

// wake has every session list its tools again.
func (b *Box) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.sets {
		s.wake()
	}
}

// connectionsLocked returns the connections to a server of the configuration.
func (b *Box) connectionsLocked(s Server) (list []*upstream) {
	for _, u := range b.live[s.Name] {
		if u.server.is(s) {
			list = append(list, u)
		}
	}
	return list
}

// exportedLocked returns the connections of clients that the server is exported to.
func (b *Box) exportedLocked(s Server) (list []*Keeper) {
	for k, of := range b.exported {
		if of.is(s) {
			list = append(list, k)
		}
	}
	return list
}

// used returns the servers of the configuration that sessions use: those that are not disabled,
// and those that a user has started anyway.
func (b *Box) used() (list []Server) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.servers {
		if s.Name != core.Native && (!s.Disabled || b.roused[s.Name]) {
			list = append(list, s)
		}
	}
	return list
}

var errUnknown = errors.New("the configuration has no server of that name")

// Start has a server run: in a session that is open in the workspace, or over a connection
// without a session. It does not wait for that: the board shows the progress. A running server
// stays. A disabled one also runs, until Stop.
func (b *Box) Start(roots []string, name string) error {
	s, ok := b.find(name)
	if !ok {
		return errUnknown
	}
	b.mu.Lock()
	delete(b.stopped, name)
	b.roused[name] = s.Disabled
	live, exported := b.connectionsLocked(s), b.exportedLocked(s)
	b.mu.Unlock()
	for _, k := range exported {
		k.release()
	}
	var here *upstream
	for _, u := range live {
		if !u.release() {
			continue
		}
		status, _, _ := u.state()
		if here == nil || status == statusRunning {
			if slices.Equal(u.host.Meta().Roots, roots) {
				here = u
			}
		}
	}
	if here == nil {
		here = b.side(roots, s)
	}
	if here == nil {
		return errClosing
	}
	here.summon()
	b.wake()
	return nil
}

// Stop ends every connection to a server, and prevents starts until Start. Running calls fail.
func (b *Box) Stop(name string) error {
	s, ok := b.find(name)
	if !ok {
		return errUnknown
	}
	b.mu.Lock()
	b.stopped[name] = true
	delete(b.roused, name)
	live, exported := b.connectionsLocked(s), b.exportedLocked(s)
	b.mu.Unlock()
	for _, u := range live {
		u.hold(whyStopped)
	}
	for _, k := range exported {
		k.hold(whyStopped)
	}
	b.post(name)
	b.wake()
	return nil
}

func (b *Box) isStopped(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stopped[name]
}

// remember stores a server's list for sessions that have not started it.
func (b *Box) remember(s Server, list []*listedTool) {
	if !b.configured(s) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[s.Name] = list
}

func (b *Box) recall(s Server) (list []*listedTool, ok bool) {
	if !b.configured(s) {
		return nil, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	list, ok = b.known[s.Name]
	return list, ok
}

// enter and leave record the connections to a server, for the board. A stopped server is held
// from the beginning.
func (b *Box) enter(u *upstream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.enterLocked(u)
}

func (b *Box) enterLocked(u *upstream) {
	b.live[u.server.Name] = append(b.live[u.server.Name], u)
	if b.stopped[u.server.Name] && !u.server.brought {
		u.held = whyStopped // no other goroutine has it yet
	}
}

func (b *Box) leave(u *upstream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live[u.server.Name] = slices.DeleteFunc(b.live[u.server.Name], func(o *upstream) bool { return o == u })
}

// post puts the state of a server of the configuration on the board.
func (b *Box) post(name string) { b.postFor(name, audience{layer: b.opts.Layer}) }

// postFor puts the state of a server on the board: that of its best connection. A removed server
// is taken off.
func (b *Box) postFor(name string, to audience) {
	if b.opts.Board == nil {
		return
	}
	topic := board.Topic{Kind: "server", Name: name, Principal: to.principal, Layer: to.layer}
	for {
		item, ok := b.item(name, to)
		if ok {
			b.opts.Board.Put(topic, item)
		} else {
			b.opts.Board.Drop(topic)
		}
		// If the state has changed since, this post may have replaced a newer one.
		if now, still := b.item(name, to); still == ok && reflect.DeepEqual(now, item) {
			return
		}
	}
}

// audience limits the visibility of a server's state: for a server that a client brings along, a
// principal and the layer of the connection.
type audience struct {
	principal core.Principal
	layer     string
}

// item returns the state of a server; false: it does not exist.
func (b *Box) item(name string, to audience) (board.Server, bool) {
	s, ok := b.find(name)
	ok = ok && to.principal == ""
	b.mu.Lock()
	live, known, offer, stopped := b.connectionsLocked(s), b.known[name], b.offers[name], b.stopped[name]
	exported := b.exportedLocked(s)
	if !ok {
		live = slices.Clone(b.live[name])
	}
	b.mu.Unlock()
	if !ok {
		live = slices.DeleteFunc(live, func(u *upstream) bool { return !u.server.brought || u.to != to })
		if len(live) == 0 {
			return board.Server{}, false
		}
		s = live[0].server
	}
	item := board.Server{
		Name:     s.Name,
		Status:   statusStopped,
		Disabled: s.Disabled,
		Command:  s.Location.Command,
		Args:     s.Location.Args,
		URL:      s.Location.URL,
	}
	best := -1
	for _, k := range exported { // clients of MCP use it
		n := k.now()
		if at := slices.Index(statusOrder, n.status); ok && at > best {
			best, item.Status, item.Why = at, n.status, n.why
		}
	}
	for _, u := range live {
		status, why, list := u.state()
		if at := slices.Index(statusOrder, status); at > best {
			best, item.Status, item.Why = at, status, why
			if len(list) > 0 {
				known = list
			}
		}
	}
	if s.Disabled && item.Status == statusStopped {
		item.Status = statusDisabled
	}
	for _, l := range known {
		item.Tools = append(item.Tools, l.spec)
	}
	if s.brought {
		live[0].mu.Lock()
		offer = live[0].offer
		live[0].mu.Unlock()
	}
	loggedIn, wants := b.logins.Standing(name)
	if item.LoggedIn = loggedIn; wants != nil && item.Status == statusStopped && !stopped {
		item.Status, item.Why = statusLogin, wants.Error()
	}
	for _, p := range offer.prompts {
		item.Prompts = append(item.Prompts, p.command(p.Name))
	}
	item.Resources = offer.resources
	return item, true
}
