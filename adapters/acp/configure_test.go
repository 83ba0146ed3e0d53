package acp_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
)

// When the configuration changes, the new offer is announced in the open sessions, and so are
// errors in it.
func TestAChangedConfigurationIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := &coretest.Backend{Run: act}
		var prof atomic.Pointer[core.Profile]
		prof.Store(&core.Profile{Agents: []core.Agent{{Name: "code", Backend: backend}}, Policy: asks})
		g := core.New(core.Config{
			Store: coretest.NewMemory(), NewID: func() string { return "s1" },
			Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof.Load(), nil }),
		})
		b := board.New()
		peer, stop := serveWith(t, g, b)
		newSession(t, peer)
		prof.Store(&core.Profile{
			Agents: []core.Agent{{Name: "code", Backend: backend}, {Name: "review", Backend: backend}}, Policy: asks, Fault: "config.yaml:3: no such key",
			Commands: func(context.Context, core.Meta) []core.Command {
				return []core.Command{{Name: "costs", Description: "Tells the costs"}}
			},
		})
		b.Put(board.Topic{Kind: "agents"}, board.Agents{Agents: prof.Load().Agents})
		if msg := peer.Until(t, "config_option_update"); !strings.Contains(msg, `"value":"review"`) {
			t.Errorf("got %s", msg)
		}
		if msg := peer.Until(t, "agent_message_chunk"); !strings.Contains(msg, "config.yaml:3: no such key") {
			t.Errorf("got %s", msg)
		}
		peer.Until(t, "available_commands_update")
		if err := peer.Send(`{"jsonrpc":"2.0","id":2,"method":"session/set_mode","params":{"sessionId":"s1","modeId":"review"}}`); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, `"currentModeId":"review"`)
		peer.Until(t, `"id":2,"result":{}`)
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A switch is a choice of two for a client that sets nothing but strings, whatever it has announced.
func TestSwitchesForClientsOfStrings(t *testing.T) {
	for name, want := range map[string]string{"zed": `"type":"boolean"`, "agent-shell": `"options":[{"value":"off"`} {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway(coretest.NewMemory(), nil, true)
			peer, stop := serve(t, g)
			send(t, peer, strings.Replace(named(name), `"protocolVersion":1`, `"protocolVersion":1,"clientCapabilities":{"session":{"configOptions":{"boolean":{}}}}`, 1),
				`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
			if line := peer.Until(t, `"id":1`); !strings.Contains(line, want) {
				t.Errorf("%s: %s", name, line)
			}
			stop()
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
