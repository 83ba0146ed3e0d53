package relay

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
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
	for name, begin := range quick {
		b.Run(name, func(b *testing.B) {
			q := begin(b)
			b.ReportAllocs()
			for b.Loop() {
				q.Call()
			}
		})
	}
}

// quick are the ways of a client that allocates nothing, by transport and version.
var quick = map[string]func(testing.TB) *bridgetest.Quick{
	"pipe/2025-11-25": func(tb testing.TB) *bridgetest.Quick { return overPipe(tb, "2025-11-25") },
	"pipe/2026-07-28": func(tb testing.TB) *bridgetest.Quick { return overPipe(tb, "2026-07-28") },
	"http/2025-11-25": func(tb testing.TB) *bridgetest.Quick { return overHTTP(tb, "2025-11-25") },
	"http/2026-07-28": func(tb testing.TB) *bridgetest.Quick { return overHTTP(tb, "2026-07-28") },
}

func overPipe(tb testing.TB, version string) *bridgetest.Quick {
	in, out := benched(tb, plays("repeats", "SIZE=100"))
	tb.Cleanup(func() { out.Close() })
	return bridgetest.QuickPipe(tb, version, in, out)
}

func overHTTP(tb testing.TB, version string) *bridgetest.Quick {
	h := relayed(tb, plays("repeats", "SIZE=100")).HTTP(tb.TempDir(), func(*http.Request) access.Holder { return access.Owner(core.Local) })
	tb.Cleanup(h.Close)
	return bridgetest.QuickHTTP(tb, version, h)
}

func relayed(tb testing.TB, server func(context.Context) (upstream.Endpoint, error)) *Server {
	box := upstream.New(upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: server}}, Environ: os.Environ(), Grace: bridgetest.Patience})
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
