package acp

import (
	"encoding/json"
	"strings"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/clients"
	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/ide"
)

// peer is the client's description of itself.
type peer struct {
	client core.Client
	caps   acp.ClientCapabilities
}

// initialize answers with version 1 whatever the client offers: a client that wants another one
// decides for itself whether to continue. Capabilities that cannot be read count as none.
func (s *Server) initialize(call *wire.Call, p acp.InitializeRequest) error {
	var version uint16
	if len(p.ProtocolVersion) > 0 && json.Unmarshal(p.ProtocolVersion, &version) != nil {
		return jrpc2.Errorf(
			jrpc2.InvalidParams,
			"protocolVersion: expected an integer, got %.60s",
			p.ProtocolVersion,
		)
	}
	is := peer{client: anybody}
	if len(p.ClientCapabilities) > 0 && wire.Unmarshal(p.ClientCapabilities, &is.caps) != nil {
		is.caps = acp.ClientCapabilities{}
	}
	info := p.ClientInfo
	if info == nil {
		info = p.Info
	}
	if info != nil && info.Name != "" {
		is.client.Name = strings.TrimSpace(info.Name + " " + info.Version)
	}
	is.client.NoForms, is.client.NoPages = !bool(is.caps.Elicitation.Form), !bool(is.caps.Elicitation.URL)
	if e := (editor{s.conn, is.caps, s.terminals}); e.Caps() != (ide.Caps{}) {
		is.client.Editor = e
	}
	edge := early(p)
	s.mu.Lock()
	s.peer = is
	if s.today = s.today || edge == nil; s.today {
		edge = nil
	}
	s.mu.Unlock()
	s.conn.SetEdge(edge)
	s.pump.Do(func() { s.flow(is.client.Name) })
	title := "dragoman"
	var directs *acp.Marker
	if s.opts.Providers != nil {
		directs = &acp.Marker{}
	}
	var auth *acp.AuthCapabilities
	if s.opts.SignIn != nil || s.opts.Logins != nil {
		auth = &acp.AuthCapabilities{Logout: &acp.Marker{}, Status: &acp.Marker{}}
	}
	names, first := s.externals()
	methods, external := []acp.AuthMethod{}, first != ""
	if !external {
		methods, _ = s.authMethods(call.Context())
	}
	methods = append(methods, s.logins(names, first)...)
	call.Reply(acp.InitializeResponse{
		ProtocolVersion: acp.Version,
		AgentInfo:       acp.Implementation{Name: "dragoman", Title: &title, Version: s.opts.Version},
		AuthMethods:     methods,
		AgentCapabilities: acp.AgentCapabilities{
			LoadSession:        true,
			Providers:          directs,
			Auth:               auth,
			PromptCapabilities: acp.PromptCapabilities{Image: true, Audio: external, EmbeddedContext: true},
			MCPCapabilities:    acp.MCPCapabilities{HTTP: s.opts.Servers, SSE: s.opts.Servers},
			SessionCapabilities: acp.SessionCapabilities{
				List: &acp.Marker{}, Resume: &acp.Marker{}, Close: &acp.Marker{}, Delete: &acp.Marker{},
				AdditionalDirectories: &acp.Marker{}, Fork: &acp.Marker{}, Archive: &acp.Marker{}, Status: &acp.Marker{}, Title: &acp.Marker{},
				SystemPrompt: systemPrompts(),
			},
		},
	}, nil)
	return nil
}

// known returns what is known of the client.
func (s *Server) known() clients.Row { return clients.Of(s.who().client.Name) }

// anybody describes a client that has not identified itself. Consents can be put to every client,
// as permissions, but questions only to clients that announce their forms.
var anybody = core.Client{
	Name:      "an ACP client",
	Asks:      true,
	Questions: true,
	NoForms:   true,
	NoPages:   true,
}
