package acp_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
)

// TestAServerOfAnUnknownTypeIsReported opens a session with a server of an unknown type. The
// session opens without it, and the client is told.
func TestAServerOfAnUnknownTypeIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := coretest.Gateway(coretest.NewMemory(), act, nil)
		peer, stop := serve(t, g)
		if err := peer.Send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"session":{"notices":true}},"clientInfo":{"name":"t","version":"1"}}}`); err != nil {
			t.Fatal(err)
		}
		if err := peer.Send(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"type":"acp","name":"editor\u202e","serverId":"x"}]}}`); err != nil {
			t.Fatal(err)
		}
		if m := peer.Until(t, `"id":2`); strings.Contains(m, `"error"`) {
			t.Fatal(m)
		}
		if m := peer.Until(t, `"update"`); !strings.Contains(m, "MCP servers of the client are not used") || !strings.Contains(m, "(type acp)") || strings.Contains(m, "\u202e") {
			t.Errorf("got %s", m)
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A server that the client added and that does not run is reported in the chat: once for each
// reason, again after it has run, and no server of others.
func TestAServerThatDoesNotRunIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := newGateway(coretest.NewMemory(), nil, false), board.New()
		peer, stop := serveWith(t, g, b)
		if err := peer.Send(hello, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"a","command":"a","args":[],"env":[]}]}}`); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, "not connected yet")
		for i, step := range []struct {
			of          core.Principal
			name, state string
			why         string
			told        bool
		}{
			{core.Local, "a", "starting", "", false},
			{core.Local, "a", "failed", "start a: there is no such program in PATH", true},
			{core.Local, "a", "starting", "", false},
			{core.Local, "a", "failed", "start a: there is no such program in PATH", false},
			{core.Local, "a", "failed", "the program ended with exit code 1", true},
			{core.Local, "a", "running", "", false},
			{core.Local, "a", "failed", "the program ended with exit code 1", true},
			{core.Local, "b", "failed", "another server", false},
			{"", "a", "failed", "a server of the configuration", false},
		} {
			b.Put(board.Topic{Kind: "server", Name: step.name, Principal: step.of}, board.Server{Name: step.name, Status: step.state, Why: step.why})
			synctest.Wait()
			var said string
			for peer.Pending() {
				msg, err := peer.Next()
				if err != nil {
					t.Fatal(err)
				}
				said += msg
				synctest.Wait()
			}
			if told := strings.Contains(said, fmt.Sprintf("The MCP server %s does not run: %s", step.name, step.why)); told != step.told || !told && said != "" {
				t.Errorf("step %d: got %q", i, said)
			}
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
