package wire

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Guests holds clients without a connection of their own, as over HTTP, where nothing
// shows that a client has left. A client has a place from Enter until it leaves, is
// silent for too long, or another client needs the place. Set the limits before the
// first Enter. Any goroutine may call its methods.
type Guests struct {
	All  int           // how many there may be; 0: any number
	Each int           // how many of one client; 0: any number
	Idle time.Duration // how long one may be silent; 0: for ever

	mu     sync.Mutex // guards the fields below, and those of the guests
	list   map[*Guest]struct{}
	closed bool
	ending sync.WaitGroup // calls of end by clocks
}

// Guest is a client's place.
type Guest struct {
	of     *Guests
	client string
	works  func() bool
	end    func()

	open  int       // open requests and streams
	since time.Time // when the last of them ended
	clock *time.Timer
	runs  bool // the clock does; it may have been set before since
	gone  bool
}

// Works reports whether something is under way for a client without a request, such as a
// turn. The client's server sets it, and the client's Guest asks it. The zero value
// reports false.
type Works struct{ now atomic.Pointer[func() bool] }

// Set makes Now call now. On a nil Works it does nothing.
func (w *Works) Set(now func() bool) {
	if w != nil {
		w.now.Store(&now)
	}
}

// Now reports whether something is under way.
func (w *Works) Now() bool {
	now := w.now.Load()
	return now != nil && (*now)()
}

// FullError means that no place is free and no guest can be ended.
type FullError struct {
	Most   int
	Client string // the client that has used up its places; "": all places are taken
}

// Error implements error.
func (e *FullError) Error() string {
	whose := ""
	if e.Client != "" {
		whose = " of this client"
	}
	return fmt.Sprintf(
		"%d sessions%s are open, and something is under way in each: end one, or try again later",
		e.Most,
		whose,
	)
}

// Enter gives a client a place, with its first request open: Done must follow. If all
// places are taken, the guest that has been silent for longest is ended; if this client
// has all the places that it may have, one of its own. A guest stays if it has an open
// request, or if its works reports true. A *FullError means that all of them stay,
// ErrClosed that Close was called.
//
// end releases the guest's resources. It is called once, unless Leave was called
// first, and may block: then Enter blocks too. works reports whether the guest is busy without a
// request; nil: it never is. Neither is called with a lock held.
func (g *Guests) Enter(client string, works func() bool, end func()) (*Guest, error) {
	n := &Guest{of: g, client: client, works: works, end: end, open: 1, since: time.Now()}
	for {
		g.mu.Lock()
		if g.closed {
			g.mu.Unlock()
			return nil, ErrClosed
		}
		full, idle := g.idleLocked(client)
		if full == nil {
			if g.list == nil {
				g.list = map[*Guest]struct{}{}
			}
			g.list[n] = struct{}{}
			g.mu.Unlock()
			return n, nil
		}
		g.mu.Unlock()
		if !slices.ContainsFunc(idle, (*Guest).giveUp) {
			return nil, full
		}
	}
}

// idleLocked checks whether there is room for another guest of a client. If not, it
// lists the guests without an open request that could be ended, the longest silent
// first.
func (g *Guests) idleLocked(client string) (full *FullError, idle []*Guest) {
	own := 0
	for o := range g.list {
		if o.client == client {
			own++
		}
	}
	switch {
	case g.Each > 0 && own >= g.Each:
		full = &FullError{g.Each, client}
	case g.All > 0 && len(g.list) >= g.All:
		full = &FullError{Most: g.All}
	default:
		return nil, nil
	}
	for o := range g.list {
		if o.open == 0 && (full.Client == "" || o.client == client) {
			idle = append(idle, o)
		}
	}
	slices.SortFunc(
		idle,
		func(a, b *Guest) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.client, b.client)) },
	)
	return full, idle
}

// giveUp ends an idle guest. It returns false if something is under way for the guest,
// or it has already left.
func (o *Guest) giveUp() bool {
	o.of.mu.Lock()
	since := o.since
	o.of.mu.Unlock()
	if o.works != nil && o.works() {
		return false
	}
	o.of.mu.Lock()
	gone := o.gone || o.open > 0 || o.since != since
	if !gone {
		o.leaveLocked()
	}
	o.of.mu.Unlock()
	if !gone {
		o.end()
	}
	return !gone
}

func (o *Guest) leaveLocked() {
	o.gone = true
	if o.clock != nil {
		o.clock.Stop()
	}
	delete(o.of.list, o)
}

// Leave gives the place back. The caller releases the guest's resources.
func (o *Guest) Leave() {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	o.leaveLocked()
}

// Begin notes that a request or a stream of the guest's is open, until Done; false: the
// guest has been ended.
func (o *Guest) Begin() bool {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	if !o.gone {
		o.open++
	}
	return !o.gone
}

// Done notes the end of what Enter or Begin noted.
func (o *Guest) Done() {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	if o.open--; o.open > 0 {
		return
	}
	o.since = time.Now()
	o.windLocked(o.of.Idle)
}

// windLocked starts the clock of a silent guest. One that runs is left alone, because a guest may come
// thousands of times a second; expire looks how long the guest has been silent.
func (o *Guest) windLocked(d time.Duration) {
	if o.runs || o.gone || o.of.closed || o.of.Idle <= 0 {
		return
	}
	if o.runs = true; o.clock == nil {
		o.clock = time.AfterFunc(d, o.expire)
	} else {
		o.clock.Reset(d)
	}
}

// expire ends a guest that was silent for too long. If something is under way for it the
// clock starts again.
func (o *Guest) expire() {
	o.of.mu.Lock()
	silent := time.Since(o.since)
	if o.runs = false; o.gone || o.open > 0 || o.of.closed || silent < o.of.Idle {
		if o.open == 0 { // it was used since the clock was set
			o.windLocked(o.of.Idle - silent)
		}
		o.of.mu.Unlock()
		return
	}
	o.of.ending.Add(1)
	o.of.mu.Unlock()
	defer o.of.ending.Done()
	if o.giveUp() {
		return
	}
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	if o.open == 0 {
		o.windLocked(o.of.Idle)
	}
}

// Count returns the number of guests.
func (g *Guests) Count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.list)
}

// Close stops the clocks and waits for their calls of end. It ends no guest.
func (g *Guests) Close() {
	g.mu.Lock()
	g.closed = true
	for o := range g.list {
		if o.clock != nil {
			o.clock.Stop()
		}
	}
	g.mu.Unlock()
	g.ending.Wait()
}
