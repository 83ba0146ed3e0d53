package ecaserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/bridge/agent/launch"
	"dragoman/bridge/toolserver"
	"dragoman/core"
)

// tools is the MCP server with the tools of a session for the ECA server that runs it. The zero value is none.
// Any goroutine may call its methods.
type tools struct {
	mu     sync.Mutex          // guards the fields below
	server *toolserver.Session // nil: the ECA server has none
	name   string              // of it
	specs  []core.Spec         // the last known tools
}

// know notes the tools of the session while no turn runs.
func (s *tools) know(specs []core.Spec) {
	s.mu.Lock()
	s.specs = specs
	server := s.server
	s.mu.Unlock()
	if server != nil {
		server.List(specs)
	}
}

// serverName is the name of our server. The server's own configuration wins over ours, and may well have another
// dragoman under its usual name, whose calls we must not take for our own.
const serverName = toolserver.Name + "-session"

// start makes a server for a program, instead of the one for the program before it, and returns it in the form
// of an ECA server's configuration; nil: there is none. brought are the servers of clients, whose names it does
// not take. at is where the program reaches it if it runs in a sandbox; "": by a program of ours.
func (s *tools) start(o launch.Options, brought []core.ServerSpec, at string) (map[string]any, error) {
	s.close()
	if o.Tools == nil || o.Known.NoServers || len(o.Paths) > 0 { // elsewhere are neither an address of this machine nor our program
		return nil, nil
	}
	name := serverName
	for slices.ContainsFunc(brought, func(b core.ServerSpec) bool { return b.Name == name }) {
		name += "-tools"
	}
	server, err := o.Tools.Open(toolserver.Client{Name: name, At: at})
	if err != nil {
		return nil, fmt.Errorf("offer the session's tools: %w", err)
	}
	s.mu.Lock()
	s.server, s.name = server, name
	specs := s.specs
	s.mu.Unlock()
	server.List(specs)
	if at != "" {
		url, headers := server.HTTP()
		return map[string]any{name: map[string]any{"url": url, "headers": headers}}, nil
	}
	command, args, env := server.Stdio()
	return map[string]any{name: map[string]any{"command": command, "args": args, "env": env}}, nil
}

// close ends the server: its token is invalid then.
func (s *tools) close() {
	s.mu.Lock()
	server := s.server
	s.server = nil
	s.mu.Unlock()
	if server != nil {
		server.Close()
	}
}

// owns reports whether a call is one of a tool of our server. It is asked about and logged when it comes.
func (s *tools) owns(server, tool string) bool {
	s.mu.Lock()
	ours, name := s.server, s.name
	s.mu.Unlock()
	return ours != nil && server == name && ours.Owns(server+"/"+tool)
}

// silentWait is the part of a wait for servers that is not shown.
const silentWait = 300 * time.Millisecond

// await waits for the session's MCP servers that are starting, for as long as each may take, and notes the tools
// of the turn.
func (s *tools) await(ctx context.Context, t *core.Turn) error {
	starters := t.Starters()
	brief, enough := context.WithTimeout(ctx, silentWait)
	for _, server := range starters {
		server.Await(brief)
	}
	waits := brief.Err() != nil // otherwise all have had their time
	enough()
	var names []string
	for _, server := range starters {
		names = append(names, server.Starting()...)
	}
	if waits && len(names) > 0 {
		if err := t.Emit(ctx, core.Phase{Turn: t.ID(), Kind: core.PhaseStarting, Tool: strings.Join(names, ", ")}); err != nil {
			return err
		}
		for _, server := range starters {
			server.Await(ctx)
		}
	}
	specs, err := t.Tools(ctx)
	if err == nil && specs != nil {
		s.know(specs)
	}
	return err
}

// begin has calls made in a turn from now on. end must be called before the turn is over.
func (s *tools) begin(ctx context.Context, t *core.Turn) (end func(), err error) {
	s.mu.Lock()
	server := s.server
	s.mu.Unlock()
	if server == nil {
		return func() {}, nil
	}
	return server.Begin(ctx, t)
}
