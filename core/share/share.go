package share

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/child"
)

// Options are the parts of a Sharing that its process provides.
type Options struct {
	// Node describes this process for people: host and pid.
	Node string
	// Config identifies the configuration of this process. The clients of a process with another one are
	// refused: their turns would run under other rules.
	Config string
	// Spec returns what another process needs to make the profiles of a connection (core.Client.Profiles).
	Spec func(core.Profiles) (json.RawMessage, error)
	// Profiles makes the profiles of a connection of another process, for a principal, from their Spec.
	// leave ends the connection.
	Profiles func(p core.Principal, spec json.RawMessage) (profiles core.Profiles, leave func(), err error)
	// Present is called after the clients of a session have changed, by any goroutine. It must not block.
	Present func(core.Principal, core.SessionID, []core.Attendee)
	// Boards connects the boards; nil: jobs and servers are shown in the process that runs them alone.
	Boards Boards
	// Dir is the folder of the sockets; empty: Dir().
	Dir string
	// Greeting is the time in which a process that has connected must name the key; 0: 5 s.
	Greeting time.Duration
}

// Sharing lets this process and others use each other's sessions. It listens from the first session on
// that this process owns.
type Sharing struct {
	o      Options
	base   context.Context //nolint:containedctx // ends the listener and all connections with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	gateway  *core.Gateway
	listener *listener // nil: it does not listen
	closed   bool
	sessions map[key]*session // those that are open
	guests   map[*guest]struct{}
	silent   int // guests that have not named the key
}

const (
	// maxSilent limits the connections that have not named the key, and maxGuests all of them. More are
	// closed at once; an honest process tries again.
	maxSilent = 64
	maxGuests = 4096
)

type key struct {
	principal core.Principal
	id        core.SessionID
}

var _ core.Sharing = (*Sharing)(nil)

// New returns a Sharing. It starts nothing.
func New(o Options) *Sharing {
	o.Dir = cmp.Or(o.Dir, Dir(os.Getenv))
	s := &Sharing{o: o, sessions: map[key]*session{}, guests: map[*guest]struct{}{}}
	s.base, s.cancel = context.WithCancel(context.Background())
	return s
}

// Serve sets the gateway whose sessions are shared. It is called once, before any of them is open.
func (s *Sharing) Serve(g *core.Gateway) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway = g
}

// Address returns the address of this process, and begins to listen there if it does not. Empty: it
// cannot be reached, because the system has no such sockets, or no folder for them.
func (s *Sharing) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ""
	}
	if s.listener != nil && !s.listener.there() { // it was swept with other files of /tmp
		s.listener.close()
		s.listener = nil
	}
	if s.listener == nil {
		l, err := listen(s.o.Dir)
		if err != nil {
			return ""
		}
		s.listener = l
		s.wg.Go(func() { s.accept(l) })
	}
	return s.listener.address.String()
}

// accept serves the processes that connect, until the listener is closed.
func (s *Sharing) accept(l *listener) {
	for {
		conn, err := l.accept()
		if errors.Is(err, errRefused) {
			continue
		}
		if err != nil {
			return
		}
		g := newGuest(s, conn, l.address.key)
		s.mu.Lock()
		full := s.closed || s.silent >= maxSilent || len(s.guests) >= maxGuests
		if !full {
			s.silent++
			s.guests[g] = struct{}{}
			s.wg.Go(g.serve)
		}
		s.mu.Unlock()
		if full {
			conn.Close()
		}
	}
}

// greeted notes that a connection is not silent any more: it has named the key, or has ended.
func (s *Sharing) greeted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent--
}

// gone notes that a connection has ended.
func (s *Sharing) gone(g *guest) {
	g.greet.Do(s.greeted)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.guests, g)
}

// alone reports whether no other process shares sessions: those that do have a socket.
func (s *Sharing) alone() bool {
	for pid := range processes(s.o.Dir) {
		if pid != os.Getpid() && child.Alive(pid) {
			return false
		}
	}
	return true
}

// Join implements core.Sharing.
func (s *Sharing) Join(l core.LocalSession) core.Peer {
	m := l.Meta()
	is := &session{
		LocalSession: l, of: s, key: key{m.Principal, m.ID},
		guests: map[*guest]struct{}{}, sent: map[core.TurnID]*sent{},
	}
	s.mu.Lock()
	s.sessions[is.key] = is
	s.mu.Unlock()
	return is
}

// find returns an open session and the gateway.
func (s *Sharing) find(k key) (*session, *core.Gateway) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[k], s.gateway
}

// Delete implements core.Sharing.
func (s *Sharing) Delete(ctx context.Context, address string, p core.Principal, id core.SessionID, d core.Deletion) error {
	l, err := s.dial(ctx, address)
	if err == nil {
		defer l.close()
		err = l.call(ctx, methodDelete, deleteParams{openParams{p, id}, d}, nil)
	}
	if is, ok := faultOf(err); ok {
		return is
	}
	if err != nil {
		return fmt.Errorf("delete session %s, which another process has open: %w", id, err)
	}
	return nil
}

// Close stops listening and ends all connections. It waits for that.
func (s *Sharing) Close() {
	s.mu.Lock()
	s.closed = true
	l := s.listener
	s.listener = nil
	guests := make([]*guest, 0, len(s.guests))
	for g := range s.guests {
		guests = append(guests, g)
	}
	s.mu.Unlock()
	s.cancel()
	if l != nil {
		l.close()
	}
	for _, g := range guests {
		g.close()
	}
	s.wg.Wait()
}
