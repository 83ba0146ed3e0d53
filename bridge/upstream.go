package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/display"
)

const (
	// maxTries is how often in a row a server is started again by itself. After that a
	// call starts it.
	maxTries = 5
	// maxPause is the longest pause between two starts.
	maxPause = time.Minute
	// steadyFor is how long a server must have run for its earlier ends to be forgotten.
	steadyFor = 30 * time.Second
)

// upstream is a session's connection to one server: run makes it, and makes it
// again when it breaks.
type upstream struct {
	box    *Box
	server Server
	host   core.ToolHost
	guard  *child.Guard
	wake   func()             // the list has changed
	want   chan struct{}      // somebody needs it
	stale  chan struct{}      // the server says that its list has changed
	stop   context.CancelFunc // ends run; set before it begins
	used   time.Time          // outside of sessions: when it was last needed; guarded by the box's mu
	asks   sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	status string
	why    string
	moved  chan struct{} // closed at the next change of the fields above
	list   []*listed
	offer  offer
	peer   *peer // nil: it does not run
	fails  int
	after  time.Time          // no new start before
	calls  int                // under way
	asking int                // questions that are with the user
	let    bool               // a login has come since the start that is under way began
	held   string             // why it is kept from running; "": it is not
	cut    context.CancelFunc // ends the connection that is there or being made; nil: none is
}

// Why a connection is kept from running.
const (
	whyStopped = "it was stopped, and stays so until somebody starts it again"
	whyOver    = "the configuration has changed, and no longer has it as it was"
	whyUnused  = "it was ended to make room for others; try again"
)

var errClosing = errors.New("the servers are being ended")

func newUpstream(b *Box, s Server, host core.ToolHost, guard *child.Guard, wake func()) *upstream {
	u := &upstream{
		box: b, server: s, host: host, guard: guard, wake: wake, status: statusStopped,
		want: make(chan struct{}, 1), stale: make(chan struct{}, 1), moved: make(chan struct{}),
	}
	b.enter(u)
	u.ready()
	return u
}

// ready has it started unless its tools are known already.
func (u *upstream) ready() {
	list, known := u.box.recall(u.server)
	u.mu.Lock()
	defer u.mu.Unlock()
	if known {
		u.list = list
	}
	if u.held == "" && (!known || u.server.Eager) {
		u.status = statusStarting // said at once, so that the first listing waits for it
		u.nudge()
	}
}

// hold ends the connection, and keeps it from being made again until release.
func (u *upstream) hold(why string) {
	u.mu.Lock()
	u.held = why
	cut := u.cut
	u.mu.Unlock()
	if cut != nil {
		cut()
	}
	u.move(statusStopped, "")
}

// release takes back a hold; false: it has ended for good.
func (u *upstream) release() bool {
	u.mu.Lock()
	held := u.held
	if held == whyStopped {
		u.held, u.fails, u.after = "", 0, time.Time{}
	}
	u.mu.Unlock()
	if held == whyStopped {
		u.ready()
	}
	return held == "" || held == whyStopped
}

// summon has it started at once, however often that has failed.
func (u *upstream) summon() {
	u.mu.Lock()
	if u.peer == nil {
		u.fails, u.after = 0, time.Time{}
	}
	u.mu.Unlock()
	u.nudge()
}

// retire ends it for good. why is for calls that still want it.
func (u *upstream) retire(why string) {
	u.hold(why)
	u.stop()
}

func (u *upstream) nudge() { poke(u.want) }

func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run keeps the connection until ctx ends.
func (u *upstream) run(ctx context.Context) {
	u.post()
	for u.awaitWant(ctx) {
		err := u.once(ctx)
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, errCut) {
			u.move(statusStopped, "")
		} else {
			u.failed(err)
		}
	}
	u.asks.Wait()
	u.box.leave(u)
	u.move(statusStopped, "")
}

// errCut: the connection was ended from this side.
var errCut = errors.New("it was ended")

// once makes the connection and keeps it until it breaks or is cut, and says why.
func (u *upstream) once(ctx context.Context) error {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	u.mu.Lock()
	u.cut, u.let = cut, false
	held := u.held != ""
	u.mu.Unlock()
	if held {
		return errCut
	}
	u.move(statusStarting, "")
	p, list, err := u.begin(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = errCut
		}
		return err
	}
	defer u.asks.Wait()
	defer p.close()
	if ctx.Err() != nil {
		return errCut
	}
	u.started(p, list)
	since := time.Now()
	why := u.keep(ctx, p)
	if ctx.Err() != nil {
		return errCut
	}
	if time.Since(since) >= steadyFor {
		u.mu.Lock()
		u.fails = 0
		u.mu.Unlock()
	}
	return errors.New(why)
}

// awaitWant waits until the server is to be started: somebody needs it, or it has
// failed and its pause is over. false: ctx has ended.
func (u *upstream) awaitWant(ctx context.Context) bool {
	u.mu.Lock()
	again := u.status == statusFailed && u.fails <= maxTries && u.held == ""
	left := time.Until(u.after)
	u.mu.Unlock()
	var pause <-chan time.Time
	if again {
		t := time.NewTimer(max(left, 0))
		defer t.Stop()
		pause = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-pause:
			return true
		case <-u.want:
			u.mu.Lock()
			early := time.Now().Before(u.after) || u.held != ""
			u.mu.Unlock()
			if !early {
				return ctx.Err() == nil
			}
		}
	}
}

// begin starts the server and lists its tools.
func (u *upstream) begin(ctx context.Context) (*peer, []*listed, error) {
	e, err := u.server.Endpoint(ctx)
	if err != nil {
		return nil, nil, err
	}
	if e.Dir == "" {
		e.Dir = u.host.Meta().Cwd
	}
	if err := u.confirm(ctx, e); err != nil {
		return nil, nil, err
	}
	limit := u.server.StartFor()
	ctx, cancel := Within(ctx, limit, fmt.Sprintf("it did not answer within %v of its start", limit))
	defer cancel()
	l, err := u.box.dialer(u.server, u.guard).dial(e)
	if err != nil {
		return nil, nil, err
	}
	p, err := meet(ctx, l, hello{client: u.box.hello, caps: u.capabilities(), handle: u.receive})
	if err != nil {
		return nil, nil, err
	}
	list, err := u.tools(ctx, p)
	if err != nil {
		if p.ended() && ctx.Err() == nil {
			err = errors.New(l.Why())
		}
		p.close()
		return nil, nil, err
	}
	return p, list, nil
}

func (u *upstream) started(p *peer, list []*listed) {
	u.mu.Lock()
	u.peer, u.list = p, list
	u.mu.Unlock()
	u.box.remember(u.server, list)
	u.box.opts.Log(u.server.Name, "info", fmt.Sprintf("runs: %s, protocol %s, %d tools", p.name, p.version, len(list)))
	u.move(statusRunning, "")
	u.wake()
}

// keep follows the server until it or ctx ends, and says why it did.
func (u *upstream) keep(ctx context.Context, p *peer) string {
	stop := u.subscribe(ctx, p)
	defer stop()
	within, cancel := context.WithTimeout(ctx, defaultStartTimeout)
	u.offered(within, p)
	cancel()
	u.post()
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-p.done:
			return p.link.Why()
		case <-u.stale:
			u.relist(ctx, p)
		}
	}
}

// relist reads a list again once it has stopped changing.
func (u *upstream) relist(ctx context.Context, p *peer) {
	for quiet := false; !quiet; {
		t := time.NewTimer(settleFor)
		select {
		case <-ctx.Done():
		case <-p.done:
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
	same := slices.EqualFunc(u.list, list, func(a, b *listed) bool { return string(a.raw) == string(b.raw) && a.change == b.change })
	u.list = list
	u.mu.Unlock()
	if same {
		return
	}
	u.box.remember(u.server, list)
	u.wake()
}

// failed notes why the server does not run, and when it may be started again.
func (u *upstream) failed(err error) {
	status, why := statusFailed, display.Plain(err.Error())
	if _, wants := u.box.logins.Standing(u.server.Name); wants != nil && !u.server.brought {
		status, why = statusLogin, wants.Error()
	}
	u.mu.Lock()
	if u.let && u.status == statusStarting && u.held == "" { // it was refused before the login
		u.mu.Unlock()
		u.nudge()
		return
	}
	u.peer = nil
	u.fails++
	u.after = time.Now().Add(u.box.pause(u.fails))
	if errors.Is(err, errRefused) {
		u.fails = maxTries + 1
	}
	if status == statusLogin {
		u.after = time.Time{} // a login may come at any time
	}
	u.mu.Unlock()
	u.box.opts.Log(u.server.Name, "warn", "does not run: "+why)
	u.move(status, why)
	u.wake()
}

// pause returns how long to wait before a new start after so many in a row that failed.
func (b *Box) pause(fails int) time.Duration {
	return min(b.opts.FirstPause<<min(fails-1, 10), maxPause)
}

// recheck starts a server that has waited for a login, if one has come by another
// process.
func (u *upstream) recheck(ctx context.Context) {
	if status, _, _ := u.state(); status != statusLogin {
		return
	}
	if u.box.logins.Gained(ctx, u.server.Name) {
		u.admitted()
	}
}

// admitted starts a server that has waited for a login. A start that is under way may
// have been refused already: where it fails another one follows, which those who wait
// for the first one wait for, too.
func (u *upstream) admitted() {
	u.mu.Lock()
	u.let = true
	waited := u.status == statusLogin && u.held == ""
	if waited {
		u.fails = 0
		u.moveLocked(statusStarting, "")
	}
	u.mu.Unlock()
	u.post()
	if waited {
		u.nudge()
	}
}

// dismissed ends the connection, whose login is over.
func (u *upstream) dismissed() {
	u.mu.Lock()
	p := u.peer
	u.mu.Unlock()
	if p != nil {
		p.link.In.Close() // run sees to the rest
	}
	u.post()
}

// move changes the state, for everybody who waits for that.
func (u *upstream) move(status, why string) {
	u.mu.Lock()
	u.moveLocked(status, why)
	u.mu.Unlock()
	u.post()
}

func (u *upstream) moveLocked(status, why string) {
	if status != statusRunning {
		u.peer = nil
	}
	u.status, u.why = status, why
	close(u.moved)
	u.moved = make(chan struct{})
}

func (u *upstream) post() { u.box.post(u.server.Name) }

// endOf says why a connection has ended.
func (u *upstream) endOf(p *peer) string {
	u.mu.Lock()
	held := u.held
	u.mu.Unlock()
	if held != "" {
		return held
	}
	return p.link.Why()
}

func (u *upstream) state() (status, why string, list []*listed) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.status, u.why, u.list
}

// listed is the server's tools: those of now, or, while it starts, those that are
// known. It waits for a start that nothing is known of until grace ends, and for as
// long as the user is being asked about it.
func (u *upstream) listed(ctx, grace context.Context) []*listed {
	for {
		u.mu.Lock()
		status, why, list, moved, held := u.status, u.why, u.list, u.moved, u.held
		u.mu.Unlock()
		if held != "" {
			return nil
		}
		if status != statusStarting || len(list) > 0 {
			return list
		}
		until := grace
		if why != "" {
			until = ctx
		}
		select {
		case <-moved:
		case <-until.Done():
			return list
		}
	}
}

// settled waits until the server runs or has failed, or ctx ends, and returns the state
// of that moment: one that has failed is soon started again.
func (u *upstream) settled(ctx context.Context) (status, why string, list []*listed) {
	for {
		u.mu.Lock()
		status, why, list, moved := u.status, u.why, u.list, u.moved
		u.mu.Unlock()
		if status != statusStarting {
			return status, why, list
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return status, why, list
		}
	}
}

// downError says that a server does not run, and why.
type downError struct {
	server, why string
	again       time.Duration // until it may be started again
}

func (e *downError) Error() string {
	s := fmt.Sprintf("the MCP server %s does not run: %s", e.server, e.why)
	if e.again > 0 {
		s += fmt.Sprintf("; it can be started again in %v", e.again.Round(time.Second))
	}
	return s
}

// acquire returns the connection, and has it made where there is none. It waits
// for a start that is under way; a pause it waits out only if patient.
func (u *upstream) acquire(ctx context.Context, patient bool) (*peer, error) {
	for nudged := false; ; {
		u.mu.Lock()
		p, status, why, moved, left, held := u.peer, u.status, u.why, u.moved, time.Until(u.after), u.held
		u.mu.Unlock()
		if held != "" {
			return nil, &downError{server: u.server.Name, why: held}
		}
		if p != nil && !p.over() {
			return p, nil
		}
		if p == nil && status != statusStarting {
			if nudged && (status == statusFailed || status == statusLogin) || left > 0 && !patient {
				return nil, &downError{u.server.Name, why, left}
			}
			if left > 0 {
				if !sleep(ctx, left) {
					return nil, context.Cause(ctx)
				}
				continue
			}
			u.nudge()
		} else if status == statusStarting {
			nudged = true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
