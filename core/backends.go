package core

import (
	"context"
	"errors"
	"sync/atomic"

	"dragoman/core/internal/lease"
)

// errRetired says that an agent was changed since the profile was looked at.
var errRetired = errors.New("the agent was changed meanwhile; prompt again")

// backends holds the back ends in use, and closes each of them once: when it is retired and
// no longer used. Conversations use them, and calls of Caps.
type backends struct {
	lease.Pool[revision, *openBackend]
}

// revision identifies a back end.
type revision struct{ name, rev string }

func (a Agent) revision() revision { return revision{a.Name, a.Rev} }

// lent is a back end that somebody has used.
type lent = lease.Lease[revision, *openBackend]

// openBackend is a back end and what it can do.
type openBackend struct {
	Backend
	name  string
	known atomic.Pointer[BackendCaps] // as it answered last; nil: it was not asked
}

// lend returns an agent's back end, which stays open until it is given back. errRetired: the
// agent's newest revision is in a newer profile.
func (b *backends) lend(a Agent) (*lent, error) {
	l, err := b.Take(a.revision(), func() *openBackend { return &openBackend{Backend: a.Backend, name: a.Name} })
	switch {
	case errors.Is(err, lease.ErrRetired):
		return nil, errRetired
	case err != nil:
		return nil, ErrShutdown
	}
	return l, nil
}

// known returns the last known capabilities of an agent's back end; nil: unknown.
func (b *backends) known(a Agent) *BackendCaps {
	if l := b.Find(a.revision()); l != nil {
		return l.Value.known.Load()
	}
	return nil
}

// end closes all back ends and waits for that, or until ctx ends.
func (b *backends) end(ctx context.Context) error {
	return b.End(ctx, func(r revision) string { return "agent " + r.name })
}

// Retire says that no profile offers these revisions of agents any more. A turn that runs
// keeps its revision until it ends. A conversation without a turn is closed now, and with the
// last conversation the back end. Retire does not wait for that; Close does.
func (g *Gateway) Retire(agents ...Agent) {
	for _, a := range agents {
		g.backends.Retire(a.revision())
	}
	g.sessions.Each(func(s *Session) { // one that is being opened has no conversation
		if s.stale() {
			g.parting.Go(s.part)
		}
	})
}

// stale reports whether the session's conversation is with a retired back end.
func (s *Session) stale() bool {
	l := s.back.Load()
	return l != nil && l.Retired()
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
	s.desk.conv, s.desk.caps = nil, BackendCaps{}
	s.talk.Store(nil)
	err := conv.Close(ctx)
	s.g.backends.GiveBack(s.back.Swap(nil))
	return err
}
