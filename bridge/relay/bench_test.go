package relay

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
)

// BenchmarkCalls calls a tool of a program by the SDK's client through a relay.
func BenchmarkCalls(b *testing.B) {
	box := upstream.New(upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: plays("sdk")}}, Environ: os.Environ(), Grace: bridgetest.Patience})
	r, _ := New(box, "up", nil)
	down, fromDown := io.Pipe()
	toDown, up := io.Pipe()
	go r.Serve(context.Background(), core.Local, b.TempDir(), down, up) //nolint:errcheck // it ends with the pipes
	bridgetest.CallEcho(b, &mcp.IOTransport{Reader: toDown, Writer: fromDown})
}
