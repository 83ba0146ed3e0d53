package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"dragoman/bridge/upstream/silence"
	"dragoman/core"
	"dragoman/core/child"
)

// upstream is a session's connection to one server, maintained by a keeper.
type upstream struct {
	*Keeper
	box     *Box
	server  Server
	host    core.ToolHost
	to      audience // for a server that a client brings along
	guard   *child.Guard
	wake    func()             // the list has changed
	stale   chan struct{}      // the server announces that its list has changed
	missed  chan struct{}      // the server can announce changes from now on; earlier ones may be unknown
	stop    context.CancelFunc // ends run; set before run begins
	used    time.Time          // outside of sessions: its last use; guarded by the box's mu
	asks    sync.WaitGroup
	silence silence.Watch

	mu      sync.Mutex // guards the fields below
	list    []*listedTool
	guessed bool      // list is that of the pins
	begun   time.Time // the beginning of the start that listings wait for
	offer   offer
	calls   int      // running
	roots   []string // the session's folders that the server knows, or can ask for
}

// Reasons for keeping a connection from running.
const (
	whyStopped = "it was stopped, and stays so until somebody starts it again"
	whyOver    = "the configuration has changed, and no longer has it as it was"
	whyChanged = "the configuration has changed; reconnect to use it" // to MCP clients
	whyUnused  = "it was ended to make room for others; try again"
)

var errClosing = errors.New("the servers are being ended")

func newUpstream(b *Box, s Server, host core.ToolHost, guard *child.Guard, wake func()) *upstream {
	u := &upstream{
		box:    b,
		server: s,
		host:   host,
		guard:  guard,
		wake:   wake,
		stale:  make(chan struct{}, 1),
		missed: make(chan struct{}, 1),
	}
	if s.brought {
		u.to.principal = host.Meta().Principal
		if b.opts.Connection != nil {
			u.to.layer = b.opts.Connection(host.Connection())
		}
	}
	u.Keeper = newKeeper(s.Name, u, b.outages.find(s, host.Meta().Cwd), b.pause, func() error { return b.wantsLogin(s) }, u.report)
	return u
}

// wantsLogin returns instructions for a person if a server requires a login; nil: it does not, or
// a client has brought it along, which has none.
func (b *Box) wantsLogin(s Server) error {
	if _, wants := b.logins.Standing(s.Name); wants != nil && !s.brought {
		return wants
	}
	return nil
}

// report puts the state of the server on the board, and has the session list its tools.
func (u *upstream) report(status string) {
	if status == statusFailed || status == statusLogin {
		u.mu.Lock()
		if u.guessed {
			u.list, u.guessed = nil, false
		}
		u.mu.Unlock()
	}
	u.post()
	switch status {
	case statusRunning, statusFailed, statusLogin:
		u.wake()
	}
}

// ready has it started unless its tools are known already. Until it runs it has its pinned tools.
func (u *upstream) ready() {
	list, known := u.box.recall(u.server)
	if !known && !u.server.Confirm && !u.server.brought {
		list = u.box.pinned(u.server)
	}
	u.mu.Lock()
	u.list, u.guessed, u.begun = list, !known && len(list) > 0, time.Now()
	u.mu.Unlock()
	if !known || u.server.Eager {
		u.expect()
	}
}

// release ends a hold; false: it has ended permanently.
func (u *upstream) release() bool {
	usable, was := u.Keeper.release()
	if was {
		u.ready()
	}
	return usable
}

// run keeps the connection until ctx ends.
func (u *upstream) run(ctx context.Context) {
	u.post()
	u.Keeper.run(ctx)
	u.asks.Wait()
	u.silence.Close()
	u.box.leave(u)
	u.post()
}

// Begin implements Job: it starts the server and lists its tools.
func (u *upstream) Begin(ctx context.Context) (*Peer, error) {
	e, err := u.server.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	e = e.In(u.host.Meta().Cwd)
	if err := u.confirm(ctx, e); err != nil {
		return nil, err
	}
	limit := u.server.StartFor()
	ctx, cancel := Within(ctx, limit, fmt.Sprintf("it did not answer within %v of its start", limit))
	defer cancel()
	d := u.box.dialer(u.server, u.guard)
	d.listening = func() { poke(u.missed) }
	roots := u.host.Meta().Roots
	d.session, d.ask = u.host.Meta(), u.host.Ask
	l, err := d.dial(e)
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	u.roots = roots
	u.mu.Unlock()
	p, err := Meet(ctx, l, Hello{
		Client: u.box.hello, Caps: u.capabilities(false), InitCaps: u.capabilities(true), Handle: u.receive,
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-u.missed: // the list contains earlier changes
	default:
	}
	list, err := u.tools(ctx, p)
	if err != nil {
		if p.ended(err) && ctx.Err() == nil {
			err = errors.New(l.Why())
		}
		p.Close()
		return nil, err
	}
	u.mu.Lock()
	u.list, u.guessed = list, false
	u.mu.Unlock()
	u.wake() // before a wait for its start ends
	u.box.remember(u.server, list)
	u.box.Log(u.server.Name, "info", fmt.Sprintf("runs: %s, protocol %s, %d tools", p.Name, p.Version, len(list)))
	return p, nil
}

// Follow implements Job.
func (u *upstream) Follow(ctx context.Context, p *Peer) string {
	defer u.asks.Wait()
	defer p.Close()
	u.tellRoots(p)
	stop := u.subscribe(p)
	defer stop()
	within, cancel := context.WithTimeout(ctx, defaultStartTimeout)
	u.offered(within, p)
	cancel()
	u.post()
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-p.Done:
			return p.link.Why()
		case <-u.stale:
			u.relist(ctx, p)
		case <-u.missed:
			if len(p.announcedLists()) > 0 {
				u.relist(ctx, p)
			}
		}
	}
}

// Failed implements Job.
func (u *upstream) Failed(why string) { u.box.Log(u.server.Name, "warn", "does not run: "+why) }

// relist reads a list again once it has stopped changing.
func (u *upstream) relist(ctx context.Context, p *Peer) {
	for quiet := false; !quiet; {
		t := time.NewTimer(settleFor)
		select {
		case <-ctx.Done():
		case <-p.Done:
		case <-u.stale:
			t.Stop()
			continue
		case <-t.C:
		}
		t.Stop()
		quiet = true
	}
	within, cancel := context.WithTimeout(ctx, defaultStartTimeout)
	defer cancel()
	list, err := u.tools(within, p)
	if ctx.Err() != nil {
		return // the session ends
	}
	if err != nil {
		u.box.opts.Log(u.server.Name, "warn", "its changed tools could not be listed: "+err.Error())
		return
	}
	u.offered(within, p)
	defer u.post()
	u.mu.Lock()
	same := slices.EqualFunc(
		u.list,
		list,
		func(a, b *listedTool) bool { return string(a.raw) == string(b.raw) && a.change == b.change },
	)
	u.list = list
	u.mu.Unlock()
	if same {
		return
	}
	u.box.remember(u.server, list)
	u.wake()
}

// recheck starts a server that waits for a login, if another process has made one.
func (u *upstream) recheck(ctx context.Context) {
	if status, _, _ := u.state(); status != statusLogin {
		return
	}
	if u.box.logins.Gained(ctx, u.server.Name) {
		u.admit()
		u.post()
	}
}

func (u *upstream) post() {
	if u.server.brought {
		u.box.postFor(u.server.Name, u.to)
		return
	}
	u.box.post(u.server.Name)
}

// state returns the state of the connection, and the known tools.
func (u *upstream) state() (status, why string, list []*listedTool) {
	n := u.now()
	return n.status, n.why, u.known()
}

// known returns the server's last list of tools: its own, another connection's, or that of the
// pins.
func (u *upstream) known() []*listedTool {
	u.mu.Lock()
	list, guessed := u.list, u.guessed // the list is replaced, never modified
	u.mu.Unlock()
	if len(list) > 0 && !guessed {
		return list
	}
	if of, ok := u.box.recall(u.server); ok {
		return of
	}
	return list
}

// wanted reports whether it is starting, and its tools are not known.
func (u *upstream) wanted(n moment) bool {
	return n.held == "" && n.status == statusStarting && len(u.known()) == 0
}

// await waits until the tools are known, the start has failed, or has taken Options.Wait, unless the whole
// start is waited for. The time in which the user is being asked about it does not count.
func (u *upstream) await(ctx context.Context, whole bool) {
	for n := u.now(); u.wanted(n); n = u.now() {
		within, cancel := ctx, func() {}
		if n.why == "" && !whole {
			u.mu.Lock()
			end := u.begun.Add(u.box.opts.Wait)
			u.mu.Unlock()
			within, cancel = context.WithDeadline(ctx, end)
		}
		select {
		case <-n.moved:
		case <-within.Done():
		}
		over := within.Err() != nil
		cancel()
		if over {
			return
		}
	}
}
