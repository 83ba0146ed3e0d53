package ecaserver

import (
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/toolserver"
	"dragoman/core"
)

// tools is the MCP server with the tools of a session for the ECA server that runs it.
type tools struct{ toolserver.Serving }

// serverName is the name of our server. The server's own configuration wins over ours, and may well have another
// dragoman under its usual name, whose calls we must not take for our own.
const serverName = toolserver.Name + "-session"

// offer makes a server for a program, and returns it in the form of an ECA server's configuration; nil: there is
// none. brought are the servers of clients. at is where the program reaches it if it runs in a sandbox; "": by a
// program of ours.
func (s *tools) offer(o launch.Options, brought []core.ServerSpec, at string) (map[string]any, error) {
	if o.Tools == nil || o.Known.NoServers || len(o.Paths) > 0 { // elsewhere are neither an address of this machine nor our program
		s.Close()
		return nil, nil
	}
	server, name, err := s.Start(o.Tools, serverName, brought, at)
	if err != nil {
		return nil, err
	}
	if at != "" {
		url, headers := server.HTTP()
		return map[string]any{name: map[string]any{"url": url, "headers": headers}}, nil
	}
	command, args, env := server.Stdio()
	return map[string]any{name: map[string]any{"command": command, "args": args, "env": env}}, nil
}

// owns reports whether a call is one of a tool of our server. It is asked about and logged when it comes.
func (s *tools) owns(server, tool string) bool {
	ours, name := s.Server()
	return ours != nil && server == name && ours.Owns(server+"/"+tool)
}
