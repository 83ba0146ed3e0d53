package aggregate

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

// However a client reaches an aggregate, it has one guard for all servers. When the last
// server ends, the guard ends with all that the servers have left behind.
func TestOneGuardForAllServers(t *testing.T) {
	for face, connect := range map[string]func(*testing.T, *Server) mcp.Transport{"pipe": piped, "http": overHTTP} {
		t.Run(face, func(t *testing.T) {
			bridgetest.OneGuard(t, 2, func(t *testing.T, places []bridgetest.Place, look func()) {
				servers := []upstream.Server{{Name: "up", Endpoint: at(places[0])}, {Name: "down", Endpoint: at(places[1])}}
				a := aggregate(t, upstream.Options{Servers: servers}, Options{})
				bridgetest.ToolNames(t, bridgetest.Connected(t, connect(t, a), proto.Legacy, nil))
				look()
			})
		})
	}
}
