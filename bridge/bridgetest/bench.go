package bridgetest

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
)

// CallEcho measures calls of the tool echo by the SDK's client.
func CallEcho(b *testing.B, t mcp.Transport) {
	b.Helper()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).
		Connect(b.Context(), t, &mcp.ClientSessionOptions{ProtocolVersion: proto.Legacy})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cs.Close() })
	for b.Loop() {
		if _, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}}); err != nil {
			b.Fatal(err)
		}
	}
}
