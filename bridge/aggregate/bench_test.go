package aggregate

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

// BenchmarkCalls calls a tool of a program by the SDK's client through an aggregate.
func BenchmarkCalls(b *testing.B) {
	box := upstream.New(upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: plays("sdk")}}, Environ: os.Environ(), Grace: bridgetest.Patience})
	down, fromDown := io.Pipe()
	toDown, up := io.Pipe()
	all := New(box, Options{Agent: standIn{}, Servers: []string{"*"}})
	go all.Serve(context.Background(), b.TempDir(), core.Local, down, up) //nolint:errcheck // it ends with the pipes
	bridgetest.CallEcho(b, &mcp.IOTransport{Reader: toDown, Writer: fromDown})
}
