package upstream

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
	"dragoman/core/board"
)

// BenchmarkCalls measures calls of a program's tool: directly by the SDK's client, and as a
// session's tool.
func BenchmarkCalls(b *testing.B) {
	b.Run("direct", func(b *testing.B) {
		self, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), bridgetest.PlayVar+"=sdk")
		bridgetest.CallEcho(b, &mcp.CommandTransport{Command: cmd})
	})
	box := New(Options{Servers: []Server{{Name: "up", Endpoint: plays("sdk")}}, Environ: os.Environ(), Wait: bridgetest.Patience})
	b.Run("tool", func(b *testing.B) {
		s, err := box.Open(b.Context(), &host{meta: core.Meta{Cwd: b.TempDir()}, board: board.New()})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		list, err := listed(b.Context(), s)
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
