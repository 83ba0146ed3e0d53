package agent

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

// waiting is called when a program cannot start at once, with a text for the user, or with the time until
// the next attempt if that is known. The wait ends with errNotNow when enough has something.
type waiting func(text string, wait time.Duration) (enough <-chan time.Time)

// errNotNow ends a wait for a program that was long enough.
var errNotNow = errors.New("it cannot start now")

// Pool limits the programs of agents that run at once, all sessions together.
type Pool struct {
	mu      sync.Mutex // guards the fields below
	max     int
	taken   int
	running map[*peer]struct{}
	changed chan struct{} // closed when a place may have become free
}

// NewPool returns a pool without programs.
func NewPool() *Pool {
	return &Pool{max: defaultMax, running: map[*peer]struct{}{}, changed: make(chan struct{})}
}

// Limit sets how many programs may run. Those that run already are not ended.
func (p *Pool) Limit(n int) {
	p.mu.Lock()
	more := n > p.max
	p.max = n
	p.mu.Unlock()
	if more {
		p.wake()
	}
}

func (p *Pool) limit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.max
}

// place takes the place of one program. Where all are taken, the program that has been idle for
// longest ends; where none is idle, waits is called once and place waits until one is, waits has enough
// (errNotNow), or ctx ends. release gives the place back.
func (p *Pool) place(ctx context.Context, waits waiting) (release func(), err error) {
	var enough <-chan time.Time
	for {
		p.mu.Lock()
		if p.taken < p.max {
			p.taken++
			p.mu.Unlock()
			return sync.OnceFunc(p.release), nil
		}
		var list []*peer
		for pe := range p.running {
			list = append(list, pe)
		}
		changed := p.changed
		p.mu.Unlock()
		if oldest := longestIdle(list); oldest != nil {
			if oldest.retire() {
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
			err = fmt.Errorf("%w: %d agents run already (limits.agents), and none of them is idle", errNotNow, p.limit())
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
func longestIdle(list []*peer) (oldest *peer) {
	var since time.Time
	for _, pe := range list {
		if at, idle := pe.idleSince(); idle && (oldest == nil || at.Before(since)) {
			oldest, since = pe, at
		}
	}
	return oldest
}

func (p *Pool) release() {
	p.mu.Lock()
	p.taken--
	p.mu.Unlock()
	p.wake()
}

// wake has those who wait look again: a place is free, or a program has become idle.
func (p *Pool) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Pool) add(pe *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[pe] = struct{}{}
}

func (p *Pool) remove(pe *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, pe)
}
