package relay

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core/access"
)

// A request whose id is null is answered in the server's place, and a call without an id never reaches
// the server: such a call would not be judged.
func TestRequestsWithoutAnIDAreRefused(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s reached the server", r.Method) }))
	t.Cleanup(site.Close)
	program := plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+`tools/call {"jsonrpc":"2.0","id":9,"result":{"called":true}}`)
	for name, server := range map[string]func(context.Context) (upstream.Endpoint, error){
		"program": program,
		"address": func(context.Context) (upstream.Endpoint, error) { return upstream.Endpoint{URL: site.URL}, nil },
	} {
		r := relayTo(t, upstream.Server{Name: "up", Endpoint: server}, nil)
		for line, want := range map[string]string{
			`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                               "ping: the id of a request must not be null",
			`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t"}}`:   "tools/call: the id of a request must not be null",
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}`:             "tools/call: a call must have an id",
			`[{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t"}}]`: "tools/call: the id of a request must not be null",
		} {
			want = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"` + want + `"}}`
			if name == "program" {
				if got := talk(t, r, hello1, line); !strings.Contains(got, want) || strings.Contains(got, "called") {
					t.Errorf("pipe: %s: %s", line, got)
				}
			}
			if line[0] == '[' {
				continue
			}
			h := r.HTTP(t.TempDir(), func(*http.Request) access.Holder { return access.Owner("p") })
			if w := postTo(h, "", line); strings.TrimSpace(w.Body.String()) != want || w.Code != http.StatusBadRequest {
				t.Errorf("http to the %s: %s: %d %s", name, line, w.Code, w.Body)
			}
			h.Close()
		}
	}
}

// A client of the early dialect, which says nothing about ids that are null, is answered by the server,
// but a call still must have an id.
func TestNullIDsOfTheEarlyDialectPass(t *testing.T) {
	t.Parallel()
	r := relayTo(t, upstream.Server{Name: "up", Endpoint: plays("script", "SCRIPT="+strict+`ping {"jsonrpc":"2.0","id":null,"result":{}}`)}, nil)
	c := bridgetest.NewRaw(t, faces["pipe"](t, r).(*mcp.IOTransport))
	c.Say(strings.Replace(hello1, `"2025-11-25"`, "1", 1))
	c.Until(`"id":1,`)
	c.Say(`{"jsonrpc":"2.0","id":null,"method":"ping"}`)
	if got := c.Next(); got != `{"jsonrpc":"2.0","id":null,"result":{}}` {
		t.Error(got)
	}
	c.Say(`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t"}}`)
	if got := c.Next(); !strings.Contains(got, "a call must have an id") {
		t.Error(got)
	}
}
