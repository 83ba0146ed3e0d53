package eca

import (
	"context"
	"fmt"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// MCP servers run with the chats that use them, and are set up in the configuration:
// a client can do neither. What a user asks of one is answered in the place where it was
// asked: a notification by a message and by the state of the server, a request by a
// refusal in its result.

// setUp says where they are set up.
const setUp = "servers are set up in the configuration, under mcp_servers, and run with the chats that use them"

// maxName is how long the name of a server may be, in bytes.
const maxName = 256

// checkName says what is wrong with the name of an MCP server.
func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return wrong("name is blank")
	case len(name) > maxName:
		return wrong("name is longer than %d bytes", maxName)
	}
	return nil
}

// ours says whether a name stands for the tools that the gateway brings itself.
func ours(name string) bool {
	return name == eca.NativeServerTitle || name == eca.NativeServer || name == core.Native
}

// server answers a notification about an MCP server; verb is what was to be done.
func (s *Server) server(verb string) func(context.Context, *wire.Call, eca.ServerParams) error {
	return func(_ context.Context, _ *wire.Call, p eca.ServerParams) error {
		if err := checkName(p.Name); err != nil {
			return err
		}
		text := fmt.Sprintf("The MCP server %s cannot be %s here: %s.", p.Name, verb, setUp)
		if ours(p.Name) {
			text = fmt.Sprintf("%s cannot be %s: these are the gateway's own tools.", eca.NativeServerTitle, verb)
		}
		posted, _ := s.postings()
		s.pump.Do(func() {
			s.showMessage(eca.MessageError, text)
			if !ours(p.Name) {
				s.stateOf(p.Name, posted)
			}
		})
		return nil
	}
}

// stateOf tells again how a server is; one that is not there has failed.
func (s *Server) stateOf(name string, posted []core.Posting) {
	item := core.ServerItem{Name: name, Status: "failed"}
	for _, p := range posted {
		if have, ok := p.Item.(core.ServerItem); ok && have.Name == name && s.concerns(p.Topic) {
			item = have
		}
	}
	s.notify(eca.MethodServerUpdated, serverUpdated(item, s.peerNow().dialect))
}

// serverRefusal is why a request about an MCP server is not granted.
func serverRefusal(name string) *eca.Refusal {
	if err := checkName(name); err != nil {
		return &eca.Refusal{Code: eca.RefusedRequest, Message: plain(err)}
	}
	return &eca.Refusal{Code: eca.RefusedRequest, Message: "The MCP server " + name + " was not changed: " + setUp + "."}
}

// serverUpdate is mcp/updateServer.
func (s *Server) serverUpdate(ctx context.Context, call *wire.Call, p eca.UpdateServerParams) error {
	s.reply(ctx, call, eca.UpdateServerResult{Error: serverRefusal(p.Name)}, nil)
	return nil
}

// serverAdd is mcp/addServer.
func (s *Server) serverAdd(ctx context.Context, call *wire.Call, p eca.AddServerParams) error {
	s.reply(ctx, call, eca.AddServerResult{Error: serverRefusal(p.Name)}, nil)
	return nil
}

// serverRemove is mcp/removeServer.
func (s *Server) serverRemove(ctx context.Context, call *wire.Call, p eca.ServerParams) error {
	s.reply(ctx, call, eca.RemoveServerResult{Error: serverRefusal(p.Name)}, nil)
	return nil
}

// servers is what the client was told of the servers of tools, by their topics. It
// belongs to the pump.
type servers map[core.Topic]core.ServerItem

// tellServer tells of a server's state, and why it has failed.
func (s *Server) tellServer(t core.Topic, item core.ServerItem) {
	old := s.told[t]
	s.told[t] = item
	p := serverUpdated(item, s.peerNow().dialect)
	s.notify(eca.MethodServerUpdated, p)
	if p.Status == "failed" && item.Why != "" && item.Why != old.Why {
		s.showMessage(eca.MessageWarning, "The MCP server "+item.Name+" has failed: "+item.Why)
	}
}

// untellServer tells that a server is no longer there, if the client believes that it
// is. The early documents cannot say so; there it is stopped.
func (s *Server) untellServer(t core.Topic) {
	gone, told := s.told[t]
	if !told {
		return
	}
	name := gone.Name
	delete(s.told, t)
	for _, same := range s.told { // another workspace has it, too
		if same.Name == name {
			return
		}
	}
	if d := s.peerNow().dialect; d.early() {
		s.notify(eca.MethodServerUpdated, serverUpdated(core.ServerItem{Name: name, Status: "stopped"}, d))
	} else {
		s.notify(eca.MethodServerRemoved, eca.ServerParams{Name: name})
	}
}
