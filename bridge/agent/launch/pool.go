package launch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// defaultMax is the limit of a pool whose limit was not set.
const defaultMax = 8

// lookAgain is the time after which somebody who waits for a place looks again: a command, or a turn
// that an agent has begun itself, ends without a word to the pool.
const lookAgain = time.Second

// Waiting is called when a program cannot start at once, with a text for the user, or with the time until
// the next attempt if that is known. The wait ends with ErrNotNow when enough has something.
type Waiting func(text string, wait time.Duration) (enough <-chan time.Time)

// ErrNotNow ends a wait for a program that was long enough.
var ErrNotNow = errors.New("it cannot start now")

// Member is a program that runs.
type Member interface {
	// IdleSince returns since when nothing goes on in it. idle is false where something does, or where
	// the agent could not continue its sessions in another process.
	IdleSince() (since time.Time, idle bool)
	// Retire ends an idle program to make room, and reports whether it has.
	Retire() bool
}

// Pool limits the programs of agents that run at once, all sessions together.
type Pool struct {
	mu      sync.Mutex // guards the fields below
	max     int
	taken   int
	running map[Member]struct{}
	changed chan struct{} // closed when a place may have become free
}

// NewPool returns a pool without programs.
func NewPool() *Pool {
	return &Pool{max: defaultMax, running: map[Member]struct{}{}, changed: make(chan struct{})}
}

// Limit sets how many programs may run. Those that run already are not ended.
func (p *Pool) Limit(n int) {
	p.mu.Lock()
	more := n > p.max
	p.max = n
	p.mu.Unlock()
	if more {
		p.Wake()
	}
}

// Members lists the programs that run.
func (p *Pool) Members() (list []Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for m := range p.running {
		list = append(list, m)
	}
	return list
}

func (p *Pool) limit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.max
}

// Place takes the place of one program. Where all are taken, the program that has been idle for
// longest ends; where none is idle, waits is called once and Place waits until one is, waits has enough
// (ErrNotNow), or ctx ends. release gives the place back.
func (p *Pool) Place(ctx context.Context, waits Waiting) (release func(), err error) {
	var enough <-chan time.Time
	for {
		p.mu.Lock()
		if p.taken < p.max {
			p.taken++
			p.mu.Unlock()
			return sync.OnceFunc(p.release), nil
		}
		var list []Member
		for m := range p.running {
			list = append(list, m)
		}
		changed := p.changed
		p.mu.Unlock()
		if oldest := longestIdle(list); oldest != nil {
			if oldest.Retire() {
				continue
			}
		} else if waits != nil {
			enough = waits(fmt.Sprintf("%d agents run already (limits.agents); waiting until one of them is idle", p.limit()), 0)
			waits = nil
		}
		again := time.NewTimer(lookAgain)
		select {
		case <-changed:
		case <-again.C:
		case <-enough:
			err = fmt.Errorf("%w: %d agents run already (limits.agents), and none of them is idle", ErrNotNow, p.limit())
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		again.Stop()
		if err != nil {
			return nil, err
		}
	}
}

// longestIdle returns the program that has been idle for longest and can continue later; nil:
// none.
func longestIdle(list []Member) (oldest Member) {
	var since time.Time
	for _, m := range list {
		if at, idle := m.IdleSince(); idle && (oldest == nil || at.Before(since)) {
			oldest, since = m, at
		}
	}
	return oldest
}

func (p *Pool) release() {
	p.mu.Lock()
	p.taken--
	p.mu.Unlock()
	p.Wake()
}

// Wake has those who wait look again: a place is free, or a program has become idle.
func (p *Pool) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

// Add adds a program that has started.
func (p *Pool) Add(m Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[m] = struct{}{}
}

// Remove removes a program that ends.
func (p *Pool) Remove(m Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, m)
}
