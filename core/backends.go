package core

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
	// closeBackendFor limits the time that a back end gets to close.
	closeBackendFor = 5 * time.Second
	// maxRetired limits the retired revisions that are remembered. A turn that has just read
	// the profile may still name a recent one.
	maxRetired = 256
)

// errRetired says that an agent was changed since the profile was looked at.
var errRetired = errors.New("the agent was changed meanwhile; prompt again")

// backends holds the back ends in use, and closes each of them once: when it is retired and
// no longer used.
type backends struct {
	mu      sync.Mutex // guards the fields below
	inUse   map[revision]*lent
	retired []revision // the oldest first
	ended   bool
}

// revision identifies a back end.
type revision struct{ name, rev string }

func (a Agent) revision() revision { return revision{a.Name, a.Rev} }

// lent is a back end that somebody has used.
type lent struct {
	Backend
	of      revision
	retired atomic.Bool
	known   atomic.Pointer[BackendCaps] // as it answered last; nil: it was not asked
	closed  chan struct{}               // closed behind Backend.Close
	err     error                       // of Backend.Close; set when closed is closed

	users   int // conversations, and calls of Caps; guarded by backends.mu, as is closing
	closing bool
}

// lend returns an agent's back end, which stays open until it is given back. errRetired: the
// agent's newest revision is in a newer profile.
func (b *backends) lend(a Agent) (*lent, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rev := a.revision()
	l := b.inUse[rev]
	switch {
	case b.ended:
		return nil, ErrShutdown
	case slices.Contains(b.retired, rev):
		return nil, errRetired
	case l == nil:
		l = &lent{Backend: a.Backend, of: rev, closed: make(chan struct{})}
		if b.inUse == nil {
			b.inUse = map[revision]*lent{}
		}
		b.inUse[rev] = l
	}
	l.users++
	return l, nil
}

// giveBack ends one use. Behind the last one of a retired back end it is closed.
func (b *backends) giveBack(l *lent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.users--
	b.closeLocked(l)
}

// retire closes revisions as soon as they are no longer used. They are not lent again.
func (b *backends) retire(agents []Agent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range agents {
		b.retired = append(b.retired, a.revision())
		if l := b.inUse[a.revision()]; l != nil {
			l.retired.Store(true)
			b.closeLocked(l)
		}
	}
	b.retired = slices.Delete(b.retired, 0, max(len(b.retired)-maxRetired, 0))
}

// known returns the last known capabilities of an agent's back end; nil: unknown.
func (b *backends) known(a Agent) *BackendCaps {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.inUse[a.revision()]; l != nil {
		return l.known.Load()
	}
	return nil
}

func (b *backends) closeLocked(l *lent) {
	if l.users > 0 || l.closing || !l.retired.Load() {
		return
	}
	l.closing = true
	go func() { // end waits for it
		ctx, done := context.WithTimeout(context.Background(), closeBackendFor)
		defer done()
		l.err = l.Close(ctx)
		b.mu.Lock()
		delete(b.inUse, l.of)
		b.mu.Unlock()
		close(l.closed)
	}()
}

// end closes all back ends and waits for that, or until ctx ends. One that is still used then
// is closed when it is given back.
func (b *backends) end(ctx context.Context) error {
	b.mu.Lock()
	b.ended = true
	var list []*lent
	for _, l := range b.inUse {
		l.retired.Store(true)
		b.closeLocked(l)
		list = append(list, l)
	}
	b.mu.Unlock()
	var errs []error
	for _, l := range list {
		select {
		case <-l.closed:
			if l.err != nil {
				errs = append(errs, fmt.Errorf("close agent %s: %w", l.of.name, l.err))
			}
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("close agent %s: %w", l.of.name, context.Cause(ctx)))
		}
	}
	return errors.Join(errs...)
}

// Retire says that no profile offers these revisions of agents any more. A turn that runs
// keeps its revision until it ends. A conversation without a turn is closed now, and with the
// last conversation the back end. Retire does not wait for that; Close does.
func (g *Gateway) Retire(agents ...Agent) {
	g.backends.retire(agents)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	for _, o := range g.sessions {
		select {
		case <-o.done:
			if o.s != nil && o.s.stale() {
				g.parting.Go(o.s.part)
			}
		default: // it is being opened, and has no conversation
		}
	}
}

// stale reports whether the session's conversation is with a retired back end.
func (s *Session) stale() bool {
	l := s.back.Load()
	return l != nil && l.retired.Load()
}

// part ends a conversation with a retired back end where nothing is under way. Otherwise the
// end of the turn does, or the session's rest.
func (s *Session) part() {
	s.owning <- struct{}{} // no command can begin
	defer func() { <-s.owning }()
	s.mu.Lock()
	idle := s.turn == nil && s.working == nil && s.uses == 0 && s.closing == nil
	s.mu.Unlock()
	if idle && s.stale() {
		_ = s.endConversation(context.Background()) // no caller waits for this error
	}
}

// endConversation closes the conversation, if one is open, and gives its back end back.
func (s *Session) endConversation(ctx context.Context) error {
	conv := s.desk.conv
	if conv == nil {
		return nil
	}
	s.desk.conv = nil
	err := conv.Close(ctx)
	s.g.backends.giveBack(s.back.Swap(nil))
	return err
}
