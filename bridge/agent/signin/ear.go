package signin

import (
	"context"
	"net/url"
	"sync"
)

// Ear passes on what a program says while somebody signs in: the lines of its standard error, and
// pages that it wants opened without naming a session. The zero value has no listener.
type Ear struct {
	mu   sync.Mutex // guards the field below
	list []*Listener
}

// Listen adds a listener, until leave is called; nil: none.
func (e *Ear) Listen(hear Listener) (leave func()) {
	if hear == nil {
		return func() {}
	}
	l := &hear
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, l)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		for i, other := range e.list {
			if other == l {
				e.list = append(e.list[:i:i], e.list[i+1:]...)
				return
			}
		}
	}
}

// Listeners returns the listeners of the moment.
func (e *Ear) Listeners() []*Listener {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.list
}

// Hear tells the listeners, and reports whether one of them has shown it.
func (e *Ear) Hear(ctx context.Context, s Saying) (shown bool) {
	for _, l := range e.Listeners() {
		shown = (*l)(ctx, s) || shown
	}
	return shown
}

// IsPage reports whether an address is one that a browser may be sent to.
func IsPage(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
