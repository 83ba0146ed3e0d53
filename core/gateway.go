package core

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"dragoman/core/internal/attached"
	"dragoman/core/internal/bench"
	"dragoman/core/internal/listing"
	"dragoman/core/internal/opening"
	"dragoman/core/internal/stack"
	"dragoman/core/internal/writing"
)

// Config configures a Gateway. Store and Profiles are required.
type Config struct {
	Store Store
	// Profiles are those of clients that have none of their own.
	Profiles Profiles
	// Listing is notified of changes of the list of sessions in this process; may be nil.
	Listing Listing
	// Sharing lets other processes use the sessions that this one has open, and the other way round;
	// nil: a command on a session of another process is an *OwnedError.
	Sharing Sharing
	Node    string           // this process, for people: host and pid
	Now     func() time.Time // nil: time.Now
	NewID   func() string    // of sessions; nil: 26 random characters
	// AskMark returns the end of an ask's id, which only those who were asked know; nil: 16
	// random characters.
	AskMark func() string
}

// Listing shows a list of sessions to clients. Its methods are called by any goroutine, and must
// not block.
type Listing interface {
	// Listed adds a session to the list, or replaces its summary there.
	Listed(Principal, Summary)
	// Offered says that the agent of a session has listed other commands, or can do other things.
	Offered(Principal, SessionID)
	// Unlisted removes a session that was deleted.
	Unlisted(Principal, SessionID)
}

// Gateway holds the sessions that are open in this process.
type Gateway struct {
	cfg      Config
	backends backends
	parting  sync.WaitGroup // of those who end conversations with retired back ends
	sessions opening.Group[sessionKey, *Session]
	shelf    *bench.Shelf[Spec]
}

type sessionKey struct {
	principal Principal
	id        SessionID
}

// New returns a gateway. It starts nothing.
func New(cfg Config) *Gateway {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = func() string { return strings.ToLower(rand.Text()) }
	}
	if cfg.AskMark == nil {
		cfg.AskMark = func() string { return "-" + strings.ToLower(rand.Text()[:16]) }
	}
	return &Gateway{cfg: cfg, shelf: bench.NewShelf(Spec.name, Spec.equal)}
}

// Profile returns the profile of a workspace for a connection (Client.Profiles). An error is for
// the user: the mistake in the configuration.
func (g *Gateway) Profile(ctx context.Context, of Profiles, roots []string) (*Profile, error) {
	return g.profiles(of).Profile(ctx, roots)
}

// profiles are those of a connection; nil: the gateway's.
func (g *Gateway) profiles(of Profiles) Profiles {
	if of != nil {
		return of
	}
	return g.cfg.Profiles
}

// ProfileOf returns the profile that a client's session goes by.
func (g *Gateway) ProfileOf(ctx context.Context, a *Attachment) (*Profile, error) {
	return g.Profile(ctx, g.connection(a), a.Meta().Roots)
}

// connection returns the profiles that a client's session goes by.
func (g *Gateway) connection(a *Attachment) Profiles {
	m := a.Meta()
	if s := g.live(sessionKey{m.Principal, m.ID}); s != nil && a.client.Profiles == nil {
		return s.connection()
	}
	return a.client.Profiles
}

// Create makes a session; an empty id is made up. ErrExists if there is one of
// that id. The session survives a kill of the process; its first prompt makes it durable.
func (g *Gateway) Create(ctx context.Context, m Meta) (*Session, error) {
	if m.ID == "" {
		m.ID = SessionID(g.cfg.NewID())
	}
	if len(m.Roots) == 0 {
		m.Roots = []string{m.Cwd}
	}
	m.Created = g.cfg.Now().UTC()
	stack.Grow16()
	return g.open(ctx, sessionKey{m.Principal, m.ID}, func() (Journal, error) { return g.cfg.Store.Create(ctx, m) }, true)
}

// Open opens a session; ErrNotFound if there is none. It claims nothing, except
// to close a turn that a dead process has left open.
func (g *Gateway) Open(ctx context.Context, p Principal, id SessionID) (*Session, error) {
	return g.open(ctx, sessionKey{p, id}, func() (Journal, error) { return g.cfg.Store.Open(ctx, p, id) }, false)
}

func (g *Gateway) open(ctx context.Context, key sessionKey, journal func() (Journal, error), create bool) (*Session, error) {
	if key.principal == "" {
		return nil, ErrNoPrincipal
	}
	for {
		s, made, err := g.sessions.Open(ctx, key, func() (*Session, error) { return g.load(ctx, journal) })
		switch {
		case errors.Is(err, opening.ErrEnded):
			return nil, ErrShutdown
		case err != nil || made:
			return s, err
		}
		if s.usable() {
			if create {
				return nil, fmt.Errorf("create session %s: %w", key.id, ErrExists)
			}
			if err := s.refresh(ctx); err != nil {
				return nil, err
			}
			return s, s.mend(ctx)
		}
		// It failed or was given back. The error was reported then; only the stored log
		// matters now.
		_ = s.close(ctx, ErrClosed)
		g.sessions.Forget(key, s)
	}
}

func (g *Gateway) load(ctx context.Context, journal func() (Journal, error)) (*Session, error) {
	j, err := journal()
	if err != nil {
		return nil, err
	}
	s := &Session{
		g: g, journal: j, meta: j.Meta(), now: g.cfg.Now, owning: make(chan struct{}, 1), log: newLog(), state: newState(),
		clients: attached.Set[*Attachment]{}, asks: map[AskID]*pending{}, texts: &Texts{},
		flush: flusher{Bell: writing.NewBell()},
	}
	s.base, s.end = context.WithCancelCause(context.Background())
	if s.front = (local{s}); g.cfg.Sharing != nil {
		s.peer = g.cfg.Sharing.Join(local{s})
		s.front = s.peer
	}
	err = s.load(ctx)
	if err == nil {
		err = s.mend(ctx)
	}
	if err == nil {
		err = s.fill(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close(ctx, ErrClosed))
	}
	s.mu.Lock()
	s.startIdleLocked()
	s.mu.Unlock()
	return s, nil
}

// drop takes a session that has closed off the list of those that are open.
func (g *Gateway) drop(s *Session) { g.sessions.Forget(sessionKey{s.meta.Principal, s.meta.ID}, s) }

// List yields the sessions of a principal, last used first.
func (g *Gateway) List(ctx context.Context, p Principal) iter.Seq2[Summary, error] {
	return g.lived(p, g.cfg.Store.List(ctx, p))
}

// ListNow is List for people who wait: it may begin with ErrIncomplete (ListerNow).
func (g *Gateway) ListNow(ctx context.Context, p Principal) iter.Seq2[Summary, error] {
	if s, ok := g.cfg.Store.(ListerNow); ok {
		return g.lived(p, s.ListNow(ctx, p))
	}
	return g.List(ctx, p)
}

// lived is a list with the newest summaries of the sessions that are open here.
func (g *Gateway) lived(p Principal, stored iter.Seq2[Summary, error]) iter.Seq2[Summary, error] {
	return listing.Now(stored, func(s Summary) Summary { return g.newest(p, s) })
}

// newest returns the summary of a session that is open here as it is now, and another one as it was stored.
func (g *Gateway) newest(p Principal, stored Summary) Summary {
	if s := g.live(sessionKey{p, stored.ID}); s != nil {
		st := s.State()
		return st.Summary()
	}
	return stored
}

// live returns an open session, or nil.
func (g *Gateway) live(key sessionKey) *Session { return g.sessions.Find(key) }

// Has reports whether a session is open in this process, or owned by another one. ErrNotFound: there is
// none. It changes nothing, and opens nothing.
func (g *Gateway) Has(ctx context.Context, p Principal, id SessionID) (open bool, err error) {
	if g.live(sessionKey{p, id}) != nil {
		return true, nil
	}
	j, err := g.cfg.Store.Open(ctx, p, id)
	if err != nil {
		return false, err
	}
	return j.Owner() != "", j.Close()
}

// Close ends all turns and closes all sessions, and behind them all back ends; nothing can
// be opened after. It blocks until everything is stored and everything that the sessions started
// has ended, or ctx ends.
func (g *Gateway) Close(ctx context.Context) error {
	open := g.sessions.End()
	errs := make([]error, len(open))
	var wg sync.WaitGroup
	for i, o := range open {
		wg.Go(func() {
			if s := o.Wait(); s != nil {
				errs[i] = s.close(ctx, ErrShutdown)
			}
		})
	}
	wg.Wait()
	g.parting.Wait()
	return errors.Join(append(errs, g.backends.end(ctx))...)
}
