package eca

import (
	"context"
	"fmt"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// No MCP server runs behind the gateway. What a user asks of one is answered in the
// place where it was asked: a notification by a message and by the state of the
// server, a request by a fault in its result.

// noServers says so.
const noServers = "this gateway does not run MCP servers"

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
		text := fmt.Sprintf("The MCP server %s cannot be %s: %s.", p.Name, verb, noServers)
		if ours(p.Name) {
			text = fmt.Sprintf("%s cannot be %s: these are the gateway's own tools.", eca.NativeServerTitle, verb)
		}
		s.pump.Do(func() {
			s.showMessage(eca.MessageError, text)
			if !ours(p.Name) {
				s.notify(eca.MethodServerUpdated, serverUpdated(core.ServerItem{Name: p.Name, Status: "failed"}, s.peerNow().dialect))
			}
		})
		return nil
	}
}

// serverRefusal is why a request about an MCP server is not granted.
func serverRefusal(name string) *eca.Refusal {
	if err := checkName(name); err != nil {
		return &eca.Refusal{Code: eca.RefusedRequest, Message: plain(err)}
	}
	return &eca.Refusal{Code: eca.RefusedRequest, Message: "The configuration of " + name + " was not changed: " + noServers + "."}
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
type servers map[core.Topic]string

// tellServer tells of a server's state.
func (s *Server) tellServer(t core.Topic, item core.ServerItem) {
	s.told[t] = item.Name
	s.notify(eca.MethodServerUpdated, serverUpdated(item, s.peerNow().dialect))
}

// untellServer tells that a server is no longer there, if the client believes that it
// is. The early documents cannot say so; there it is stopped.
func (s *Server) untellServer(t core.Topic) {
	name, told := s.told[t]
	if !told {
		return
	}
	delete(s.told, t)
	for _, same := range s.told { // another workspace has it, too
		if same == name {
			return
		}
	}
	if d := s.peerNow().dialect; d.early() {
		s.notify(eca.MethodServerUpdated, serverUpdated(core.ServerItem{Name: name, Status: "stopped"}, d))
	} else {
		s.notify(eca.MethodServerRemoved, eca.ServerParams{Name: name})
	}
}
