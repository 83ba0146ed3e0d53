package edge

import (
	"context"
	"slices"
	"sync"

	"dragoman/core"
)

// order gives the calls that name a session their places, in the order in which they were read.
// The zero value is ready.
type order struct {
	mu    sync.Mutex // guards the field below
	lines map[core.SessionID][]*Place
}

// Place is a call's place in its session's line. A nil place is the first of its line. Any
// goroutine may call its methods.
type Place struct {
	in    *order
	id    core.SessionID
	ready chan struct{} // closed when it is the first of its line
}

// enter takes the last place of a session's line. Only the goroutine that reads calls it.
func (o *order) enter(id core.SessionID) *Place {
	p := &Place{in: o, id: id, ready: make(chan struct{})}
	o.mu.Lock()
	if o.lines == nil {
		o.lines = map[core.SessionID][]*Place{}
	}
	o.lines[id] = append(o.lines[id], p)
	first := len(o.lines[id]) == 1
	o.mu.Unlock()
	if first {
		close(p.ready)
	}
	return p
}

// Wait blocks until all places before this one have been given up, or ctx ends.
func (p *Place) Wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Leave gives the place up. Only the first call counts.
func (p *Place) Leave() {
	if p == nil {
		return
	}
	p.in.mu.Lock()
	line := p.in.lines[p.id]
	at := slices.Index(line, p)
	var next *Place
	if at >= 0 {
		line = slices.Delete(line, at, at+1)
		p.in.lines[p.id] = line
	}
	if len(line) == 0 {
		delete(p.in.lines, p.id)
	} else if at == 0 {
		next = line[0]
	}
	p.in.mu.Unlock()
	if next != nil {
		close(next.ready)
	}
}
