package acp

import (
	"slices"
	"strings"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/display"
)

// knownServers checks the MCP servers that a client adds to a session, and returns those of a
// transport that is spoken here, and a text for the user about the others. They are kept with the
// session, only on this connection, and are never written to the log: their environments and
// headers hold keys.
func knownServers(list []acp.MCPServer) (known []acp.MCPServer, unknown string, err error) {
	var others []string
	for i, m := range list {
		bad := ""
		switch transport := m.Transport(); {
		case m.Name == "":
			bad = "it needs a name"
		case transport == acp.ServerStdio && m.Command == "":
			bad = "it needs a command, or a type and a url"
		case (transport == acp.ServerHTTP || transport == acp.ServerSSE) && m.URL == "":
			bad = "it needs a url"
		case transport == acp.ServerStdio, transport == acp.ServerHTTP, transport == acp.ServerSSE:
			known = append(known, m)
		default:
			others = append(others, display.Line(m.Name, 60)+" (type "+display.Line(transport, 40)+")")
		}
		if bad != "" {
			return nil, "", jrpc2.Errorf(jrpc2.InvalidParams, "mcpServers[%d]: %s", i, bad)
		}
	}
	if len(others) > 0 {
		unknown = "These MCP servers of the client are not used, because their type is unknown here; the known types are stdio, http and sse: " +
			strings.Join(others, ", ")
	}
	return known, unknown, nil
}

// specsOf returns the MCP servers in the core's form.
func specsOf(list []acp.MCPServer) []core.ServerSpec {
	var specs []core.ServerSpec
	for _, m := range list {
		spec := core.ServerSpec{
			Name:    m.Name,
			Command: m.Command,
			Args:    m.Args,
			URL:     m.URL,
			SSE:     m.Type == acp.ServerSSE,
		}
		for _, e := range m.Env {
			spec.Env = append(spec.Env, e.Name+"="+e.Value)
		}
		if len(m.Headers) > 0 {
			spec.Headers = map[string]string{}
		}
		for _, h := range m.Headers {
			spec.Headers[h.Name] = h.Value
		}
		specs = append(specs, spec)
	}
	return specs
}

// warnOfServers reports, once on a connection, that the client's MCP servers are not used.
func (s *session) warnOfServers() {
	if len(s.servers) == 0 || s.srv.opts.Servers {
		return
	}
	s.srv.mu.Lock()
	warned := s.srv.warned
	s.srv.warned = true
	s.srv.mu.Unlock()
	if warned {
		return
	}
	names := make([]string, len(s.servers))
	for i, m := range s.servers {
		names[i] = m.Name
	}
	s.warn("The tool servers of this client are not connected yet: " + strings.Join(names, ", "))
}

// warnOfFailure tells the user, once for each reason, that a server which the client added to the
// session does not run. It belongs to the session's queue.
func (s *session) warnOfFailure(item board.Server) {
	if !slices.ContainsFunc(s.servers, func(m acp.MCPServer) bool { return m.Name == item.Name }) {
		return
	}
	switch {
	case item.Status == "running":
		delete(s.failed, item.Name)
	case item.Status == "failed" && s.failed[item.Name] != item.Why:
		if s.failed == nil {
			s.failed = map[string]string{}
		}
		s.failed[item.Name] = item.Why
		s.warn("The MCP server " + display.Word(item.Name) + " does not run: " + item.Why)
	}
}
