package relay

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// BenchmarkCalls calls a tool of a program through a relay: by the SDK's client, and by one that
// allocates nothing, so that what is left is the relay's own.
func BenchmarkCalls(b *testing.B) {
	b.Run("sdk", func(b *testing.B) {
		in, out := benched(b, plays("sdk"))
		bridgetest.CallEcho(b, &mcp.IOTransport{Reader: in, Writer: out})
	})
	bridgetest.Bench(b, quick)
}

// A call allocates no more than this. Before its parts were read once it was 30, 108, 51 and 208.
func TestBudgetCalls(t *testing.T) {
	bridgetest.Budget(t, quick, map[string]float64{
		"pipe/2025-11-25": 15, "pipe/2026-07-28": 19, "http/2025-11-25": 31, "http/2026-07-28": 26,
	})
}

var quick = bridgetest.Quicks(
	func(tb testing.TB, version string) *bridgetest.Quick {
		in, out := benched(tb, plays("repeats", "SIZE=100"))
		tb.Cleanup(func() { out.Close() })
		return bridgetest.QuickPipe(tb, version, in, out)
	},
	func(tb testing.TB, version string) *bridgetest.Quick {
		h := relayed(tb, plays("repeats", "SIZE=100")).HTTP(tb.TempDir(), func(*http.Request) access.Holder { return access.Owner(core.Local) })
		tb.Cleanup(h.Close)
		return bridgetest.QuickHTTP(tb, version, h)
	},
)

// relayed is a relay to a server whose tools are pinned and whose calls are judged and recorded.
func relayed(tb testing.TB, server func(context.Context) (upstream.Endpoint, error)) *Server {
	box := upstream.New(upstream.Options{
		Servers: []upstream.Server{{Name: "up", Endpoint: server}}, Environ: os.Environ(), Grace: bridgetest.Patience,
		PinFile: filepath.Join(tb.TempDir(), "pins.json"), Audit: func(upstream.Audit) {},
	})
	r, _ := New(box, "up", func(_, _ string, _ json.RawMessage) error { return nil })
	return r
}

// benched connects a client over a pipe.
func benched(tb testing.TB, server func(context.Context) (upstream.Endpoint, error)) (io.ReadCloser, io.WriteCloser) {
	down, fromDown := io.Pipe()
	toDown, up := io.Pipe()
	go relayed(tb, server).Serve(context.Background(), core.Local, tb.TempDir(), down, up) //nolint:errcheck // it ends with the pipes
	return toDown, fromDown
}
