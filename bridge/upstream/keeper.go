package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dragoman/core/display"
)

const (
	// MaxTries is how often in a row a server is started again by itself. After that a
	// call starts it.
	MaxTries = 5
	// maxPause is the longest pause between two starts.
	maxPause = time.Minute
	// SteadyFor is how long a server must have run for its earlier ends to be forgotten.
	SteadyFor = 30 * time.Second
)

// change is something that happens to a connection.
type change int

const (
	onWanted    change = iota // it is to be made
	onAsked                   // what would be started is asked about
	onMade                    // it has been made
	onFailed                  // it could not be made, or broke
	onLockedOut               // the same, for want of a login
	onAdmitted                // a login has come
	onEnded                   // it was ended from this side
)

// following says which status follows from a change. A change that a status does not list
// has come too late, and changes nothing.
var following = map[string]map[change]string{
	statusStopped: {onWanted: statusStarting, onEnded: statusStopped},
	statusStarting: {
		onWanted: statusStarting, onAsked: statusStarting, onMade: statusRunning,
		onFailed: statusFailed, onLockedOut: statusLogin, onEnded: statusStopped,
	},
	statusRunning: {onFailed: statusFailed, onLockedOut: statusLogin, onEnded: statusStopped},
	statusFailed:  {onWanted: statusStarting, onEnded: statusStopped},
	statusLogin:   {onWanted: statusStarting, onAdmitted: statusStarting, onEnded: statusStopped},
}

// Keeper keeps a connection to a server: it makes it when it is wanted, makes it again
// when it breaks, after a pause that grows, and keeps it from being made while somebody
// holds the server. run does all that in one goroutine; the other methods are for any.
type Keeper struct {
	job    Job
	server string
	pause  func(fails int) time.Duration // after so many failures in a row, 1 or more
	login  func() error                  // what to tell a person if the server wants a login; nil: it does not
	notify func(status string)           // is told of each change; nil: nobody is
	want   chan struct{}                 // somebody needs the connection
	over   chan struct{}                 // closed when it is held for good

	mu     sync.Mutex // guards the fields below
	status string
	why    string        // it does not run, or what its start waits for
	moved  chan struct{} // closed at the next change of the fields above
	peer   *Peer         // nil: it does not run
	fails  int           // in a row
	missed int           // starts that have failed, ever
	after  time.Time     // no new start before
	let    bool          // a login has come since the start that is under way began
	held   string        // why it is kept from running; "": it is not
	ended  bool          // over is closed
	cut    func()        // ends the connection that is there or being made; nil: none is
}

// Job is what a Keeper does to its connection. Its methods are called by run.
type Job interface {
	// Begin makes the connection. It blocks until the server has agreed on a version and
	// what else must be known of it, or ctx ends.
	Begin(ctx context.Context) (*Peer, error)
	// Follow uses the connection until it breaks or ctx ends, closes it, and says why it
	// has ended.
	Follow(ctx context.Context, p *Peer) (why string)
	// Failed is told why the server does not run, before anybody else is.
	Failed(why string)
}

func newKeeper(server string, j Job, pause func(fails int) time.Duration, login func() error, notify func(status string)) *Keeper {
	return &Keeper{
		job: j, server: server, pause: pause, login: login, notify: notify,
		want: make(chan struct{}, 1), over: make(chan struct{}), status: statusStopped, moved: make(chan struct{}),
	}
}

// run keeps the connection until ctx ends, or it is held for good.
func (k *Keeper) run(ctx context.Context) {
	for k.awaitWant(ctx) {
		err := k.once(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, errCut):
			k.step(onEnded, "", nil)
		default:
			k.fail(err)
		}
	}
	k.step(onEnded, "", nil)
}

// errCut: the connection was ended from this side.
var errCut = errors.New("it was ended")

// once makes the connection and keeps it until it breaks or is cut, and says why.
func (k *Keeper) once(ctx context.Context) error {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	k.mu.Lock()
	k.cut, k.let = cut, false
	held := k.held != ""
	k.mu.Unlock()
	if held {
		return errCut
	}
	k.step(onWanted, "", nil)
	p, err := k.job.Begin(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = errCut
		}
		return err
	}
	if ctx.Err() != nil || !k.step(onMade, "", p) {
		p.Close()
		return errCut
	}
	since := time.Now()
	why := k.job.Follow(ctx, p)
	if ctx.Err() != nil {
		return errCut
	}
	if time.Since(since) >= SteadyFor {
		k.mu.Lock()
		k.fails = 0
		k.mu.Unlock()
	}
	return errors.New(why)
}

// awaitWant waits until the server is to be started: somebody needs it, or it has
// failed and its pause is over. false: ctx has ended, or it is held for good.
func (k *Keeper) awaitWant(ctx context.Context) bool {
	k.mu.Lock()
	again := k.status == statusFailed && k.fails <= MaxTries && k.held == ""
	left := time.Until(k.after)
	k.mu.Unlock()
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
		case <-k.over:
			return false
		case <-pause:
			return true
		case <-k.want:
			k.mu.Lock()
			early := time.Now().Before(k.after) || k.held != ""
			k.mu.Unlock()
			if !early {
				return ctx.Err() == nil
			}
		}
	}
}

// fail notes why the server does not run, and when it may be started again.
func (k *Keeper) fail(err error) {
	what, why := onFailed, display.Plain(err.Error())
	if login := k.login(); login != nil {
		what, why = onLockedOut, login.Error()
	}
	k.mu.Lock()
	if k.let && k.status == statusStarting && k.held == "" { // it was refused before the login
		k.mu.Unlock()
		k.nudge()
		return
	}
	if k.fails++; k.status == statusStarting {
		k.missed++
	}
	k.after = time.Now().Add(k.pause(k.fails))
	if errors.Is(err, errRefused) {
		k.fails = MaxTries + 1
	}
	if what == onLockedOut {
		k.after = time.Time{} // a login may come at any time
	}
	k.mu.Unlock()
	k.job.Failed(why)
	k.step(what, why, nil)
}

// pause returns how long to wait before a new start after so many in a row that failed.
func (b *Box) pause(fails int) time.Duration {
	return min(b.opts.FirstPause<<min(fails-1, 10), maxPause)
}

// step makes a change, for everybody who waits for one. p is the connection that was
// made. false: the change has come too late.
func (k *Keeper) step(c change, why string, p *Peer) bool {
	k.mu.Lock()
	status, ok := k.stepLocked(c, why, p)
	k.mu.Unlock()
	if ok && k.notify != nil {
		k.notify(status)
	}
	return ok
}

func (k *Keeper) stepLocked(c change, why string, p *Peer) (status string, ok bool) {
	status, ok = following[k.status][c]
	if !ok {
		return k.status, false
	}
	k.status, k.why, k.peer = status, why, p
	close(k.moved)
	k.moved = make(chan struct{})
	return status, true
}

// waits says what the start that is under way waits for.
func (k *Keeper) waits(why string) { k.step(onAsked, why, nil) }

// nudge has the server started, unless it has failed and its pause is not over.
func (k *Keeper) nudge() { poke(k.want) }

func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// expect has the server started, and says so at once: those who look now wait for it.
func (k *Keeper) expect() {
	k.mu.Lock()
	held := k.held != ""
	if !held {
		k.stepLocked(onWanted, "", nil)
	}
	k.mu.Unlock()
	if !held {
		k.nudge()
	}
}

// summon has the server started at once, however often that has failed.
func (k *Keeper) summon() {
	k.mu.Lock()
	if k.peer == nil {
		k.fails, k.after = 0, time.Time{}
	}
	k.mu.Unlock()
	k.nudge()
}

// hold ends the connection, and keeps it from being made again until release. why is for
// calls that still want it.
func (k *Keeper) hold(why string) {
	k.mu.Lock()
	k.held = why
	cut := k.cut
	k.mu.Unlock()
	if cut != nil {
		cut()
	}
	k.step(onEnded, "", nil)
}

// retire holds the connection for good; run returns.
func (k *Keeper) retire(why string) {
	k.mu.Lock()
	if !k.ended {
		k.ended = true
		close(k.over)
	}
	k.mu.Unlock()
	k.hold(why)
}

// release takes back a hold, and forgets what has failed before. usable: the connection
// may be made now; it may not if it is held for good. was: it was held until now.
func (k *Keeper) release() (usable, was bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if was = k.held != "" && !k.ended; was {
		k.held, k.fails, k.after = "", 0, time.Time{}
	}
	return !k.ended, was
}

// admit starts a server that has waited for a login. A start that is under way may
// have been refused already: where it fails another one follows, which those who wait
// for the first one wait for, too.
func (k *Keeper) admit() {
	k.mu.Lock()
	k.let = true
	waited := k.status == statusLogin && k.held == ""
	if waited {
		k.fails = 0
	}
	k.mu.Unlock()
	if waited && k.step(onAdmitted, "", nil) {
		k.nudge()
	}
}

// dismiss ends the connection, whose login is over.
func (k *Keeper) dismiss() {
	k.mu.Lock()
	p := k.peer
	k.mu.Unlock()
	if p != nil {
		p.link.In.Close() // run sees to the rest
	}
}

// now is what a keeper has at a moment.
type now struct {
	status, why, held string
	peer              *Peer
	left              time.Duration // until it may be started
	missed            int
	moved             <-chan struct{}
}

func (k *Keeper) now() now {
	k.mu.Lock()
	defer k.mu.Unlock()
	return now{k.status, k.why, k.held, k.peer, time.Until(k.after), k.missed, k.moved}
}

// Running returns the connection; nil: there is none.
func (k *Keeper) Running() *Peer {
	if p := k.now().peer; p != nil && !p.Over() {
		return p
	}
	return nil
}

// endOf says why a connection has ended.
func (k *Keeper) endOf(p *Peer) string {
	if held := k.now().held; held != "" {
		return held
	}
	return p.link.Why()
}

// settled waits until the server runs or has failed, or ctx ends, and returns the state
// of that moment: one that has failed is soon started again.
func (k *Keeper) settled(ctx context.Context) (status, why string) {
	for {
		n := k.now()
		if n.status != statusStarting {
			return n.status, n.why
		}
		select {
		case <-n.moved:
		case <-ctx.Done():
			return n.status, n.why
		}
	}
}

// DownError says that a server does not run, and why.
type DownError struct {
	Server, Why string
	Again       time.Duration // until it may be started again
}

func (e *DownError) Error() string {
	s := fmt.Sprintf("the MCP server %s does not run: %s", e.Server, e.Why)
	if e.Again > 0 {
		s += fmt.Sprintf("; it can be started again in %v", e.Again.Round(time.Second))
	}
	return s
}

// Acquire returns the connection, and has it made where there is none. It waits
// for a start that is under way; a pause it waits out only if patient.
func (k *Keeper) Acquire(ctx context.Context, patient bool) (*Peer, error) {
	for before := k.now().missed; ; {
		n := k.now()
		tried := n.missed != before
		switch {
		case n.held != "":
			return nil, &DownError{Server: k.server, Why: n.held}
		case n.peer != nil && !n.peer.Over():
			return n.peer, nil
		case n.peer != nil: // its end is about to be noted
		case n.status == statusStarting:
		case tried && (n.status == statusFailed || n.status == statusLogin) || n.left > 0 && !patient:
			return nil, &DownError{k.server, n.why, n.left}
		case n.left > 0:
			if !sleep(ctx, n.left) {
				return nil, context.Cause(ctx)
			}
			continue
		default:
			k.nudge()
		}
		select {
		case <-n.moved:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
