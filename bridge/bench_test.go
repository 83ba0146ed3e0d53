package bridge

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/core"
)

// BenchmarkCalls calls a tool of a program: directly by the SDK's client, by the same
// client through a relay, and as a session's tool.
func BenchmarkCalls(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	client := func(b *testing.B, t mcp.Transport) *mcp.ClientSession {
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(b.Context(), t, &mcp.ClientSessionOptions{ProtocolVersion: proto.Legacy})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { cs.Close() })
		return cs
	}
	run := func(b *testing.B, cs *mcp.ClientSession) {
		for b.Loop() {
			if _, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}}); err != nil {
				b.Fatal(err)
			}
		}
	}
	box := New(Options{Servers: []Server{{Name: "up", Endpoint: plays("sdk")}}, Environ: os.Environ(), Grace: bridgetest.Patience})
	b.Run("direct", func(b *testing.B) {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), bridgetest.PlayVar+"=sdk")
		run(b, client(b, &mcp.CommandTransport{Command: cmd}))
	})
	b.Run("relay", func(b *testing.B) {
		relay, _ := NewRelay(box, "up", nil)
		down, fromDown := io.Pipe()
		toDown, up := io.Pipe()
		go relay.Serve(context.Background(), b.TempDir(), down, up) //nolint:errcheck // it ends with the pipes
		run(b, client(b, &mcp.IOTransport{Reader: toDown, Writer: fromDown}))
	})
	b.Run("aggregate", func(b *testing.B) {
		down, fromDown := io.Pipe()
		toDown, up := io.Pipe()
		all := box.Aggregate(AggregateOptions{Agent: serveAgent, Servers: []string{"*"}})
		go all.Serve(context.Background(), b.TempDir(), core.Local, down, up) //nolint:errcheck // it ends with the pipes
		run(b, client(b, &mcp.IOTransport{Reader: toDown, Writer: fromDown}))
	})
	b.Run("tool", func(b *testing.B) {
		s, err := box.Open(b.Context(), &host{meta: core.Meta{Cwd: b.TempDir()}, board: core.NewBoard()})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		list, err := s.Tools(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for _, tool := range list {
			if tool.Spec().Name != "echo" {
				continue
			}
			for b.Loop() {
				if _, err := tool.Run(b.Context(), core.Invocation{Args: json.RawMessage(`{"text":"x"}`)}); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
