// Package lease shares things that are made once: it counts who uses each of them, and closes
// it once, when it is retired and nobody uses it any more.
package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// closeFor limits the time that a thing gets to close.
	closeFor = 5 * time.Second
	// maxRetired limits the retired keys that are remembered. A caller that has just read one
	// may still name it.
	maxRetired = 256
)

var (
	// ErrRetired says that a key has been retired.
	ErrRetired = errors.New("it was retired")
	// ErrEnded says that the pool has ended.
	ErrEnded = errors.New("the pool has ended")
)

// Pool holds the things that are in use. The zero value is empty and ready to use.
type Pool[K comparable, T Closer] struct {
	mu      sync.Mutex // guards the fields below
	inUse   map[K]*Lease[K, T]
	retired []K // the oldest first
	ended   bool
}

// Closer is a thing that can be shared.
type Closer interface{ Close(context.Context) error }

// Lease is a thing that somebody has used.
type Lease[K comparable, T Closer] struct {
	Key     K
	Value   T
	retired atomic.Bool
	closed  chan struct{} // closed after Value.Close
	err     error         // of Value.Close; set when closed is closed

	users   int // guarded by Pool.mu, as is closing
	closing bool
}

// Retired reports whether the key has been retired, or the pool has ended.
func (l *Lease[K, T]) Retired() bool { return l.retired.Load() }

// Take returns the thing of a key, which stays open until it is given back. made returns it
// if nobody uses it yet. ErrRetired or ErrEnded: it is not lent any more.
func (p *Pool[K, T]) Take(key K, made func() T) (*Lease[K, T], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.inUse[key]
	switch {
	case p.ended:
		return nil, ErrEnded
	case slices.Contains(p.retired, key):
		return nil, ErrRetired
	case l == nil:
		l = &Lease[K, T]{Key: key, Value: made(), closed: make(chan struct{})}
		if p.inUse == nil {
			p.inUse = map[K]*Lease[K, T]{}
		}
		p.inUse[key] = l
	}
	l.users++
	return l, nil
}

// GiveBack ends one use. After the last use of a retired thing, it is closed.
func (p *Pool[K, T]) GiveBack(l *Lease[K, T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.users--
	p.closeLocked(l)
}

// Find returns the thing of a key that somebody has used; nil: there is none.
func (p *Pool[K, T]) Find(key K) *Lease[K, T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inUse[key]
}

// Retire closes the things of these keys as soon as nobody uses them. They are not lent again.
func (p *Pool[K, T]) Retire(keys ...K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range keys {
		p.retired = append(p.retired, key)
		if l := p.inUse[key]; l != nil {
			l.retired.Store(true)
			p.closeLocked(l)
		}
	}
	p.retired = slices.Delete(p.retired, 0, max(len(p.retired)-maxRetired, 0))
}

func (p *Pool[K, T]) closeLocked(l *Lease[K, T]) {
	if l.users > 0 || l.closing || !l.retired.Load() {
		return
	}
	l.closing = true
	go func() { // End waits for it
		ctx, done := context.WithTimeout(context.Background(), closeFor)
		defer done()
		l.err = l.Value.Close(ctx)
		p.mu.Lock()
		delete(p.inUse, l.Key)
		p.mu.Unlock()
		close(l.closed)
	}()
}

// late returns the error of a thing that has closed, or else the cause for which it is no longer
// waited for.
func (l *Lease[K, T]) late(ctx context.Context) error {
	select {
	case <-l.closed:
		return l.err
	default:
		return context.Cause(ctx)
	}
}

// End closes all things and waits for that, or until ctx ends. One that is still used then is
// closed when it is given back. name returns the name of a key for the errors.
func (p *Pool[K, T]) End(ctx context.Context, name func(K) string) error {
	p.mu.Lock()
	p.ended = true
	var list []*Lease[K, T]
	for _, l := range p.inUse {
		l.retired.Store(true)
		p.closeLocked(l)
		list = append(list, l)
	}
	p.mu.Unlock()
	var errs []error
	for _, l := range list {
		var err error
		select {
		case <-l.closed:
			err = l.err
		case <-ctx.Done():
			err = l.late(ctx)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", name(l.Key), err))
		}
	}
	return errors.Join(errs...)
}
