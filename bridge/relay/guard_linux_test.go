package relay

import (
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

// However a client reaches a relay, it has one guard for its server. When the server ends,
// the guard ends with all that the server has left behind.
func TestOneGuardForAllServers(t *testing.T) {
	for face, connect := range faces {
		t.Run(face, func(t *testing.T) {
			bridgetest.OneGuard(t, 1, func(t *testing.T, places []bridgetest.Place, look func()) {
				r := relayTo(t, upstream.Server{Name: "up", Endpoint: at(places[0])}, nil)
				bridgetest.ToolNames(t, bridgetest.Connected(t, connect(t, r), proto.Legacy, &mcp.ClientOptions{}))
				look()
			})
		})
	}
}

// A server that is started again has a guard of its own; the guard of the last start has ended with
// everything that the server left behind.
func TestRestartLeavesNothingBehind(t *testing.T) {
	bridgetest.OneGuard(t, 1, func(t *testing.T, places []bridgetest.Place, look func()) {
		box := upstream.New(upstream.Options{
			Servers: []upstream.Server{{Name: "up", Endpoint: at(places[0])}}, Environ: os.Environ(), FirstPause: time.Millisecond,
		})
		t.Cleanup(box.Close)
		r, _ := New(box, "up", nil)
		cs := bridgetest.Connected(t, faces["pipe"](t, r), proto.Legacy, &mcp.ClientOptions{})
		for range 2 {
			bridgetest.ToolNames(t, cs)
			look()
			bridgetest.Said(t, cs, "die", map[string]any{})
		}
	})
}
