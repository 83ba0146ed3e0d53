// Package opening shares things that are open: those who open one at the same time get the same one.
package opening

import (
	"context"
	"errors"
	"sync"
)

// ErrEnded says that nothing is opened any more.
var ErrEnded = errors.New("the group has ended")

// Group holds the things V that are open, or being opened, by their keys. The zero value is empty and
// ready to use.
type Group[K, V comparable] struct {
	mu    sync.Mutex // guards the fields below
	all   map[K]*One[V]
	ended bool
}

// One is a thing that is open, or being opened.
type One[V any] struct {
	done  chan struct{} // closed when the fields below are set
	value V
	err   error
}

// Open returns the thing of a key, which open makes if there is none; made says that this call did. If
// another call makes it, Open waits for that, or until ctx ends, and returns the same error. An error
// leaves nothing behind. ErrEnded: nothing is opened any more.
func (g *Group[K, V]) Open(ctx context.Context, key K, open func() (V, error)) (value V, made bool, err error) {
	g.mu.Lock()
	if g.ended {
		g.mu.Unlock()
		return value, false, ErrEnded
	}
	o, there := g.all[key]
	if !there {
		o = &One[V]{done: make(chan struct{})}
		if g.all == nil {
			g.all = map[K]*One[V]{}
		}
		g.all[key] = o
	}
	g.mu.Unlock()
	if !there {
		if o.value, o.err = open(); o.err != nil {
			g.mu.Lock()
			delete(g.all, key)
			g.mu.Unlock()
		}
		close(o.done)
		return o.value, true, o.err
	}
	select {
	case <-o.done:
		return o.value, false, o.err
	case <-ctx.Done():
		return value, false, context.Cause(ctx)
	}
}

// Find returns the thing of a key that is open; the zero value: there is none.
func (g *Group[K, V]) Find(key K) (value V) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o := g.all[key]; o != nil && o.opened() {
		return o.value
	}
	return value
}

// opened reports whether the thing is open, or could not be opened.
func (o *One[V]) opened() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// Forget takes a thing off, unless the key has another one by now.
func (g *Group[K, V]) Forget(key K, value V) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o := g.all[key]; o != nil && o.opened() && o.value == value {
		delete(g.all, key)
	}
}

// Each calls f for each thing that is open, unless the group has ended. It does so under the group's
// lock, so that f has returned before End does; f must not block.
func (g *Group[K, V]) Each(f func(V)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range g.all {
		if !g.ended && o.opened() && o.err == nil {
			f(o.value)
		}
	}
}

// End lists what is open or being opened. Nothing is opened after.
func (g *Group[K, V]) End() (list []*One[V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	for _, o := range g.all {
		list = append(list, o)
	}
	return list
}

// Wait blocks until the thing is open, and returns it; the zero value: it could not be opened.
func (o *One[V]) Wait() (value V) {
	<-o.done
	if o.err != nil {
		return value
	}
	return o.value
}
