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

func clientOf(t *testing.T, url string, limit int) *Client {
	t.Helper()
	c, err := NewClient(Options{
		Warn: func(text string) { t.Log(text) },
		URL:  url, HTTP: NewHTTPClient(nil), Limit: limit, Plain: func(s string) string { return s }, Listening: func() {},
		Explain: func(err error) error { return err }, WantsLogin: func(error) (error, bool) { return nil, false },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Each request has an answer that says what went wrong, whatever the server does.
func TestServerThatAnswersBadlyIsExplained(t *testing.T) {
	json := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, text)
	}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"another id":    {func(w http.ResponseWriter, _ *http.Request) { json(w, `{"jsonrpc":"2.0","id":8,"result":{}}`) }, "does not answer the request, whose id is 7"},
		"another batch": {func(w http.ResponseWriter, _ *http.Request) { json(w, `[{"jsonrpc":"2.0","id":8,"result":{}}]`) }, "does not answer the request, whose id is 7"},
		"no id": {func(w http.ResponseWriter, _ *http.Request) {
			json(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"so bad"}}`)
		}, `"id":7,"error":{"code":-1,"message":"so bad"}`},
		"a batch": {func(w http.ResponseWriter, _ *http.Request) {
			json(w, `[{"jsonrpc":"2.0","id":7,"result":{"fine":1}}]`)
		}, `"fine":1`},
		"the same id": {func(w http.ResponseWriter, _ *http.Request) {
			json(w, `{"jsonrpc":"2.0","id":7.0,"result":{"fine":1}}`)
		}, `"fine":1`},
		"too long": {func(w http.ResponseWriter, _ *http.Request) {
			json(w, `{"jsonrpc":"2.0","id":7,"result":"`+strings.Repeat("x", 2<<20)+`"}`)
		}, "exceeds 1 MiB"},
		"a long event": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "id: 1\ndata:\n\ndata: "+`{"jsonrpc":"2.0","id":7,"result":"`+strings.Repeat("x", 2<<20)+"\"}\n\n")
		}, "exceeds 1 MiB"},
		"closes": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "the server closed the connection without an answer"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
				return
			}
			w.WriteHeader(http.StatusMethodNotAllowed)
		}, "answered 302 Found and redirects a POST to"},
		"is busy for long": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "429 Too Many Requests; it asks to wait 2m0s before the next try"},
	} {
		t.Run(name, func(t *testing.T) {
			site := httptest.NewServer(c.serve)
			defer site.Close()
			client := clientOf(t, site.URL, 1<<20)
			defer client.Shut()
			fmt.Fprintln(client, `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`)
			line, err := bufio.NewReader(client.Lines()).ReadString('\n')
			if err != nil || !strings.Contains(line, c.want) {
				t.Errorf("got %.300s, %v, want %s", line, err, c.want)
			}
		})
	}
}

// A request to a busy server is made again after the time that it asks to wait.
func TestBusyServerIsAskedAgain(t *testing.T) {
	var posts atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if posts.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"jsonrpc":"2.0","id":7,"result":{"fine":1}}`)
	}))
	defer site.Close()
	client := clientOf(t, site.URL, 1<<20)
	defer client.Shut()
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`)
	if line, err := bufio.NewReader(client.Lines()).ReadString('\n'); err != nil || !strings.Contains(line, `"fine":1`) || posts.Load() != 2 {
		t.Errorf("%d posts, %s, %v", posts.Load(), line, err)
	}
}

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
			c := clientOf(t, site.URL, wire.MaxMessage)
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
