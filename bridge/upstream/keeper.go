package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dragoman/core/child/piped"
	"dragoman/core/display"
)

const (
	// maxTries limits the automatic starts that fail in a row, for all sessions. After them a call or a
	// person starts the server.
	maxTries = 3
	// maxEnds is the same for the restarts of a server that has started and ends again and again.
	maxEnds = 5
	// maxPause limits the pause between two starts.
	maxPause = time.Minute
	// The earlier failures of a server that has run for steadyFor are forgotten.
	steadyFor = 30 * time.Second
)

// change is an event in the life of a connection.
type change int

const (
	onWanted    change = iota // it is needed
	onMissed                  // it is needed, and another one to the server could not be made
	onAsked                   // its start waits for a person
	onMade                    // it has been made
	onFailed                  // it could not be made, or broke
	onLockedOut               // the same, because the server requires a login
	onAdmitted                // a login was made
	onEnded                   // it was ended from this side
)

// following is the table of transitions. A change that is not listed for a status has come too
// late, and has no effect.
var following = map[string]map[change]string{
	statusStopped: {onWanted: statusStarting, onMissed: statusFailed, onEnded: statusStopped},
	statusStarting: {
		onWanted: statusStarting, onAsked: statusStarting, onMade: statusRunning,
		onFailed: statusFailed, onLockedOut: statusLogin, onEnded: statusStopped,
	},
	statusRunning: {onFailed: statusFailed, onLockedOut: statusLogin, onEnded: statusStopped},
	statusFailed:  {onWanted: statusStarting, onEnded: statusStopped},
	statusLogin:   {onWanted: statusStarting, onAdmitted: statusStarting, onEnded: statusStopped},
}

// Keeper maintains one connection to a server: it makes the connection when it is needed, and
// makes it again, after a growing pause, when it breaks. While the server is held it makes none.
// run does all that in one goroutine; any goroutine may call the other methods.
type Keeper struct {
	job    Job
	server string
	pause  func(fails int) time.Duration // the time before the next start; fails is 1 or more
	login  func() error                  // the reason why the server requires a login; nil: it does not
	notify func(status string)           // called after each change; may be nil
	want   chan struct{}                 // holds a token when the connection is needed
	over   chan struct{}                 // closed when the connection is held permanently
	outage *outage                       // shared by all keepers of the server

	mu     sync.Mutex // guards the fields below
	status string
	why    string        // the reason why it does not run, or the reason why its start waits
	moved  chan struct{} // closed at the next change of the fields above
	peer   *Peer         // nil: it does not run
	fails  int           // failures in a row
	missed int           // all failed starts
	after  time.Time     // no start before this time
	held   string        // the reason why no connection is made; "": one may be
	ended  bool          // over is closed
	cut    func()        // ends the connection, or its start; nil: there is none

	began    time.Time // of the last start
	admitted bool      // a login was made since then
}

// Job makes and uses the connection of a Keeper, whose run calls the methods.
type Job interface {
	// Begin makes the connection. It blocks until the server can be used, or ctx ends.
	Begin(ctx context.Context) (*Peer, error)
	// Follow uses the connection until it breaks or ctx ends, closes it, and returns the
	// reason for its end.
	Follow(ctx context.Context, p *Peer) (why string)
	// Failed receives the reason why the server does not run, before others can see it.
	Failed(why string)
}

func newKeeper(
	server string, j Job, o *outage, pause func(fails int) time.Duration, login func() error, notify func(status string),
) *Keeper {
	return &Keeper{
		job: j, server: server, outage: o, pause: pause, login: login, notify: notify,
		want: make(chan struct{}, 1), over: make(chan struct{}), status: statusStopped, moved: make(chan struct{}),
	}
}

// run keeps the connection until ctx ends, or it is held permanently.
func (k *Keeper) run(ctx context.Context) {
	defer func() {
		if next := k.outage.leave(k); next != nil {
			next.nudge()
		}
	}()
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

// errCut means that this side ended the connection.
var errCut = errors.New("it was ended")

// once makes the connection and uses it until its end. The error is the reason for that.
func (k *Keeper) once(ctx context.Context) error {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	k.mu.Lock()
	k.cut, k.admitted, k.began = cut, false, time.Now()
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
	for _, other := range k.outage.over(k) {
		other.summon()
	}
	since := time.Now()
	why := k.job.Follow(ctx, p)
	if ctx.Err() != nil {
		return errCut
	}
	if time.Since(since) >= steadyFor {
		k.mu.Lock()
		k.fails = 0
		k.mu.Unlock()
	}
	return errors.New(why)
}

// awaitWant waits until the server is needed, or the pause after a failure is over. It returns
// false when ctx has ended, or the connection is held permanently.
func (k *Keeper) awaitWant(ctx context.Context) bool {
	for {
		again, after := k.due()
		pause := time.NewTimer(max(time.Until(after), 0))
		if !again {
			pause.Stop()
		}
		select {
		case <-ctx.Done():
			pause.Stop()
			return false
		case <-k.over:
			pause.Stop()
			return false
		case <-pause.C:
			return true
		case <-k.want:
			pause.Stop()
			_, after = k.due()
			k.mu.Lock()
			soon := time.Now().Before(after) || k.held != ""
			k.mu.Unlock()
			if !soon {
				return ctx.Err() == nil
			}
		}
	}
}

// due reports whether the server, which has failed, is to be started without being asked for, and
// returns the time of the next possible start.
func (k *Keeper) due() (again bool, after time.Time) {
	fails, shared, mine := k.outage.due(k)
	k.mu.Lock()
	defer k.mu.Unlock()
	again = mine && k.status == statusFailed && fails < maxTries && k.fails <= maxEnds && k.held == ""
	if after = k.after; shared.After(after) {
		after = shared
	}
	return again, after
}

// fail records the reason why the server does not run, and the time of the next possible start.
func (k *Keeper) fail(err error) {
	what, why := onFailed, display.Plain(err.Error())
	if login := k.login(); login != nil {
		what, why = onLockedOut, login.Error()
	}
	k.mu.Lock()
	if k.admitted && k.status == statusStarting && k.held == "" { // it was refused before the login was made
		k.mu.Unlock()
		k.nudge()
		return
	}
	k.fails++
	missed, began := k.status == statusStarting, k.began
	if missed {
		k.missed++
	}
	k.after = time.Now().Add(k.pause(k.fails))
	if errors.Is(err, errRefused) {
		k.fails = maxEnds + 1
	}
	if what == onLockedOut {
		k.after = time.Time{} // a login may be made at any time
	}
	k.mu.Unlock()
	if missed && what == onFailed && !errors.Is(err, errRefused) {
		k.outage.failed(k, began, why, k.pause)
	}
	k.job.Failed(why)
	k.step(what, why, nil)
}

// pause returns the time to wait before the next start after this number of failures in a row.
func (b *Box) pause(fails int) time.Duration {
	return min(b.opts.FirstPause<<min(fails-1, 10), maxPause)
}

// step makes a change and wakes the goroutines that wait for one. p is the new connection. It
// returns false if the change has come too late.
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

// waits records the reason why the running start waits.
func (k *Keeper) waits(why string) { k.step(onAsked, why, nil) }

// nudge has the server started, unless it has failed and its pause is not over.
func (k *Keeper) nudge() { poke(k.want) }

func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// expect has the server started, and records that at once, so that a listing waits for it. A server
// that could not be started a moment ago, for whomever, has failed for this keeper, too.
func (k *Keeper) expect() {
	missed, mine := k.outage.wanted(k)
	k.mu.Lock()
	held := k.held != ""
	switch {
	case held:
	case missed != "":
		k.stepLocked(onMissed, missed, nil)
	default:
		k.stepLocked(onWanted, "", nil)
	}
	k.mu.Unlock()
	if !held && mine {
		k.nudge()
	}
}

// summon has the server started at once, even after failures.
func (k *Keeper) summon() {
	k.outage.forget()
	k.mu.Lock()
	if k.peer == nil {
		k.fails, k.after = 0, time.Time{}
	}
	k.mu.Unlock()
	k.nudge()
}

// hold ends the connection, and makes none until release. Calls that need it get the reason.
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

// retire holds the connection permanently; run returns.
func (k *Keeper) retire(why string) {
	k.mu.Lock()
	if !k.ended {
		k.ended = true
		close(k.over)
	}
	k.mu.Unlock()
	k.hold(why)
}

// release ends a hold, and forgets earlier failures. usable is false if the connection is held
// permanently; was reports whether there was a hold.
func (k *Keeper) release() (usable, was bool) {
	k.outage.forget()
	k.mu.Lock()
	defer k.mu.Unlock()
	if was = k.held != "" && !k.ended; was {
		k.held, k.fails, k.after = "", 0, time.Time{}
	}
	return !k.ended, was
}

// admit starts a server that waits for a login, which was made now. The server may already have
// refused a running start: if that fails, another start follows, and the callers that wait for
// the first one wait for the second.
func (k *Keeper) admit() {
	k.mu.Lock()
	k.admitted = true
	waited := k.status == statusLogin && k.held == ""
	if waited {
		k.fails = 0
	}
	k.mu.Unlock()
	if waited && k.step(onAdmitted, "", nil) {
		k.nudge()
	}
}

// dismiss ends the connection, whose login has ended.
func (k *Keeper) dismiss() {
	k.mu.Lock()
	p := k.peer
	k.mu.Unlock()
	if p != nil {
		p.link.In.Close() // run does the rest
	}
}

// moment is the state of a keeper at a time.
type moment struct {
	status, why, held string
	peer              *Peer
	left              time.Duration // the time until the next possible start
	missed            int
	moved             <-chan struct{}
}

func (k *Keeper) now() moment {
	_, after := k.due()
	k.mu.Lock()
	defer k.mu.Unlock()
	return moment{k.status, k.why, k.held, k.peer, time.Until(after), k.missed, k.moved}
}

// Running returns the connection; nil: there is none.
func (k *Keeper) Running() *Peer {
	if p := k.now().peer; p != nil && !p.Over() {
		return p
	}
	return nil
}

// GaveUp reports whether the server has failed so often in a row that nothing but a call starts
// it again. One that waits for a login has not.
func (k *Keeper) GaveUp() bool {
	missed, _, _ := k.outage.due(k)
	k.mu.Lock()
	fails := k.fails
	k.mu.Unlock()
	return (fails > maxEnds || missed >= maxTries) && k.login() == nil
}

// endOf returns the reason for the end of a connection.
func (k *Keeper) endOf(p *Peer) string {
	if held := k.now().held; held != "" {
		return held
	}
	return p.link.Why()
}

// settled waits until no start is running, or ctx ends, and returns the status of that moment: a
// server that has failed is soon started again.
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

// DownError reports that a server does not run.
type DownError struct {
	Server, Why string
	Again       time.Duration // time until it may be started again; 0: now
}

func (e *DownError) Error() string {
	s := fmt.Sprintf("the MCP server %s does not run: %s", e.Server, e.Why)
	if e.Again > 0 {
		s += fmt.Sprintf("; it can be started again in %v", e.Again.Round(time.Second))
	}
	return s
}

// Acquire returns the connection, and has it made if there is none. It waits for a running start,
// and gives up if one fails in the meantime. It waits for the end of a pause only if patient. Its
// error may be a *DownError.
func (k *Keeper) Acquire(ctx context.Context, patient bool) (*Peer, error) {
	for before := k.now().missed; ; {
		n := k.now()
		tried := n.missed != before
		switch {
		case n.held != "":
			return nil, &DownError{Server: k.server, Why: n.held}
		case n.peer != nil && !n.peer.Over():
			return n.peer, nil
		case n.peer != nil: // its end is about to be recorded
		case n.status == statusStarting:
		case tried && (n.status == statusFailed || n.status == statusLogin) || n.left > 0 && !patient:
			return nil, &DownError{k.server, n.why, n.left}
		case n.left > 0:
			if piped.Within(n.left, ctx.Done()) {
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
