package acp

import (
	"strings"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// checkServers checks the MCP servers that a client adds to a session. They are kept with the
// session, only on this connection, and are never written to the log: their environments and
// headers hold keys.
func checkServers(list []acp.MCPServer) error {
	for i, m := range list {
		bad := ""
		switch {
		case m.Name == "":
			bad = "it needs a name"
		case m.Type == "" && m.Command == "":
			bad = "it needs a command, or a type and a url"
		case m.Type != "" && m.URL == "":
			bad = "it needs a url"
		case m.Type != "" && m.Type != "http" && m.Type != "sse":
			bad = "its type must be http or sse, or none for a program"
		}
		if bad != "" {
			return jrpc2.Errorf(jrpc2.InvalidParams, "mcpServers[%d]: %s", i, bad)
		}
	}
	return nil
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
			SSE:     m.Type == "sse",
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
