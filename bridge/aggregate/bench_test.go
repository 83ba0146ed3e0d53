package aggregate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// BenchmarkCalls calls a tool of a program through an aggregate: by the SDK's client, and by one
// that allocates nothing, so that what is left is the aggregate's own.
func BenchmarkCalls(b *testing.B) {
	b.Run("sdk", func(b *testing.B) {
		in, out := benched(b, plays("sdk"))
		bridgetest.CallEcho(b, &mcp.IOTransport{Reader: in, Writer: out})
	})
	bridgetest.Bench(b, quick)
	b.Run("1MiB", func(b *testing.B) {
		q := overPipe(b, proto.Legacy, 1<<20)
		for b.Loop() {
			q.Call()
		}
	})
}

// A call allocates no more than this.
func TestBudgetCalls(t *testing.T) {
	bridgetest.Budget(t, quick, map[string]float64{
		"pipe/2025-11-25": 18, "pipe/2026-07-28": 22, "http/2025-11-25": 40, "http/2026-07-28": 34,
	})
}

var quick = bridgetest.Quicks(
	func(tb testing.TB, version string) *bridgetest.Quick { return overPipe(tb, version, 100) },
	func(tb testing.TB, version string) *bridgetest.Quick {
		all := aggregated(tb, plays("repeats", "SIZE=100"))
		h := streamable.NewHandler(streamable.HandlerOptions{
			Connect: func(_ *http.Request, c streamable.Visitor, send wire.Send) streamable.Conn {
				return all.Connect(access.Owner(core.Local), tb.TempDir(), c.Shared, send)
			},
			Owner: func(*http.Request) string { return "" },
			Limit: upstream.MaxMessage,
		})
		tb.Cleanup(h.Close)
		return bridgetest.QuickHTTP(tb, version, h)
	},
)

func overPipe(tb testing.TB, version string, size int) *bridgetest.Quick {
	in, out := benched(tb, plays("repeats", fmt.Sprint("SIZE=", size)))
	tb.Cleanup(func() { out.Close() })
	return bridgetest.QuickPipe(tb, version, in, out)
}

// aggregated is an aggregate of a server whose tools are pinned and whose calls are judged and
// recorded.
func aggregated(tb testing.TB, server func(context.Context) (upstream.Endpoint, error)) *Server {
	box := upstream.New(upstream.Options{
		Servers: []upstream.Server{{Name: "up", Endpoint: server}}, Environ: os.Environ(), Grace: bridgetest.Patience,
		PinFile: filepath.Join(tb.TempDir(), "pins.json"), Audit: func(upstream.Audit) {},
	})
	return New(box, Options{
		Agent: standIn{}, Servers: []string{"*"},
		Check: func(_, _ string, _ json.RawMessage) error { return nil },
	})
}

// benched connects a client over a pipe.
func benched(tb testing.TB, server func(context.Context) (upstream.Endpoint, error)) (io.ReadCloser, io.WriteCloser) {
	down, fromDown := io.Pipe()
	toDown, up := io.Pipe()
	go aggregated(tb, server).Serve(context.Background(), tb.TempDir(), core.Local, down, up) //nolint:errcheck // it ends with the pipes
	return toDown, fromDown
}
