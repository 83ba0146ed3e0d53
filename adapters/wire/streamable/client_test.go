package streamable

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// A client that leaves takes back what is under way, also what its server gets behind the cancellation.
func TestShutTakesCallsBack(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) {
			begun := make(chan struct{})
			var runs atomic.Bool
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				runs.Store(true)
				defer runs.Store(false)
				close(begun)
				<-ctx.Done()
				return nil, nil, ctx.Err()
			})
			h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
			came, cancelled := make(chan struct{}), make(chan struct{}, 10)
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte("tools/call")) {
					close(came)
					if late {
						<-cancelled
					}
				}
				h.ServeHTTP(w, r)
				if bytes.Contains(body, []byte(proto.NoteCancelled)) {
					cancelled <- struct{}{}
				}
			}))
			defer site.Close()
			defer site.CloseClientConnections()
			c, err := NewClient(Options{
				URL: site.URL, HTTP: NewHTTPClient(nil), Limit: wire.MaxMessage, Plain: func(s string) string { return s }, Listening: func() {},
				Explain: func(err error) error { return err }, WantsLogin: func(error) (error, bool) { return nil, false },
			})
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(c.Lines())
			fmt.Fprintln(c, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"result"`) {
				t.Fatal(line, err)
			}
			go io.Copy(io.Discard, lines)
			c.Settled(proto.Legacy)
			fmt.Fprintln(c, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			fmt.Fprintln(c, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`)
			if <-came; !late {
				<-begun
			}
			c.Shut()
			if runs.Load() { // one that came late may have been ended before it began
				t.Error("the call runs on")
			}
		})
	}
}
