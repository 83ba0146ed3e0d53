package acp

import (
	"strings"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
)

// initialize answers with version 1 whatever is offered: a client that wants
// another one decides for itself whether to go on.
func (s *Server) initialize(call *wire.Call, p acp.InitializeRequest) error {
	if n, err := p.ProtocolVersion.Int64(); p.ProtocolVersion != "" && (err != nil || n < 0 || n > 65535) {
		return jrpc2.Errorf(jrpc2.InvalidParams, "protocolVersion: expected an integer, got %q", p.ProtocolVersion)
	}
	s.mu.Lock()
	s.caps = p.ClientCapabilities
	if p.ClientInfo != nil && p.ClientInfo.Name != "" {
		s.client.Name = strings.TrimSpace(p.ClientInfo.Name + " " + p.ClientInfo.Version)
	}
	if p.ClientCapabilities.FS.ReadTextFile || p.ClientCapabilities.FS.WriteTextFile {
		s.client.Editor = editor{s.conn, p.ClientCapabilities}
	}
	s.mu.Unlock()
	title := "dragoman"
	call.Reply(acp.InitializeResponse{
		ProtocolVersion: acp.Version,
		AgentInfo:       acp.Implementation{Name: "dragoman", Title: &title, Version: s.opts.Version},
		AuthMethods:     []struct{}{},
		AgentCapabilities: acp.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: acp.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: acp.SessionCapabilities{
				List: &acp.Marker{}, Resume: &acp.Marker{}, Close: &acp.Marker{}, Delete: &acp.Marker{},
			},
		},
	}, nil)
	return nil
}

// authenticate succeeds at once: there is nobody to log in to.
func (s *Server) authenticate(call *wire.Call, _ struct{}) error {
	call.Reply(struct{}{}, nil)
	return nil
}
