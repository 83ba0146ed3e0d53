package toolserver

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"dragoman/core"
)

// Serving gives the tools of a session to the programs that run it, one after another. The zero value gives
// none. Any goroutine may call its methods.
type Serving struct {
	mu     sync.Mutex  // guards the fields below
	server *Session    // nil: no program has one
	name   string      // of the server
	specs  []core.Spec // the last known tools
}

// Know notes the tools of the session while no turn runs.
func (s *Serving) Know(specs []core.Spec) {
	s.mu.Lock()
	s.specs = specs
	server := s.server
	s.mu.Unlock()
	if server != nil {
		server.List(specs)
	}
}

// Has reports whether the session has tools for agents.
func (s *Serving) Has() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.specs, ForAgents)
}

// Start makes a server for a program, instead of the one for the program before it. It gets a name, or a longer
// one if a server of brought, which clients bring along, has that. at is as in Client.
func (s *Serving) Start(pool *Pool, name string, brought []core.ServerSpec, at string) (server *Session, called string, err error) {
	s.Close()
	for slices.ContainsFunc(brought, func(b core.ServerSpec) bool { return b.Name == name }) {
		name += "-tools"
	}
	server, err = pool.Open(Client{Name: name, At: at})
	if err != nil {
		return nil, "", fmt.Errorf("offer the session's tools: %w", err)
	}
	s.mu.Lock()
	s.server, s.name = server, name
	specs := s.specs
	s.mu.Unlock()
	server.List(specs)
	return server, name, nil
}

// Server returns the server that the program has, and its name; nil: it has none.
func (s *Serving) Server() (server *Session, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server, s.name
}

// Close ends the server: its token is invalid then.
func (s *Serving) Close() {
	s.mu.Lock()
	server := s.server
	s.server = nil
	s.mu.Unlock()
	if server != nil {
		server.Close()
	}
}

// Await waits for the session's MCP servers that are starting, for as long as each may take, and notes the
// tools of the turn. It is called before a program is started, because some agents list tools only then.
func (s *Serving) Await(ctx context.Context, t *core.Turn) error {
	if _, err := t.AwaitServers(ctx); err != nil {
		return err
	}
	specs, err := t.Tools(ctx)
	if err == nil && specs != nil {
		s.Know(specs)
	}
	return err
}

// Begin has calls made in a turn from now on. end must be called before the turn is over; it ends the calls
// that are still running, and waits for them.
func (s *Serving) Begin(ctx context.Context, t *core.Turn) (end func(), err error) {
	server, _ := s.Server()
	if server == nil {
		return func() {}, nil
	}
	return server.Begin(ctx, t)
}
