package relay

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

// Tools whose headers are invalid can be neither seen nor called.
func TestToolsWithInvalidHeadersAreLeftOut(t *testing.T) {
	t.Parallel()
	for face, connect := range faces {
		h := &bridgetest.HeaderServer{}
		site := httptest.NewServer(h)
		t.Cleanup(site.Close)
		tr := connect(t, relayTo(t, upstream.Server{Name: "up", Endpoint: func(context.Context) (upstream.Endpoint, error) { return upstream.Endpoint{URL: site.URL}, nil }}, nil))
		id := 0
		ask := func(method, name, params string) string {
			t.Helper()
			id++
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s%s}}`, id, method, params, bridgetest.ModernMeta("{}", ""))
		}
		var say func(method, name, params string) string
		switch tr := tr.(type) {
		case *mcp.IOTransport:
			c := bridgetest.NewRaw(t, tr)
			say = func(method, name, params string) string {
				c.Say(ask(method, name, params))
				return bridgetest.Last(c.Until(fmt.Sprintf(`"id":%d`, id)))
			}
		case *mcp.StreamableClientTransport:
			say = func(method, name, params string) string {
				req, err := http.NewRequestWithContext(bridgetest.Patient(t), http.MethodPost, tr.Endpoint, strings.NewReader(ask(method, name, params)))
				if err != nil {
					t.Fatal(err)
				}
				for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name, "Mcp-Param-Region": "north"} {
					req.Header.Set(name, value)
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				b, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}
		default:
			t.Fatalf("%s: %T", face, tr)
		}
		if got := say("server/discover", "", ""); !strings.Contains(got, `"supported":["2026-07-28"]`) {
			t.Errorf("%s: the refusal: %s", face, got)
		}
		list := say("tools/list", "", "")
		for name, want := range map[string]bool{"good": true, "plain": true, "dup": false, "space": false, "num": false, "escaped": false} {
			if got := strings.Contains(list, `"name":"`+name+`"`); got != want {
				t.Errorf("%s: %s is listed: %v", face, name, got)
			}
			if got := say("tools/call", name, `"name":"`+name+`","arguments":{"r":"north"},`); strings.Contains(got, `"called"`) != want {
				t.Errorf("%s: %s: %s", face, name, got)
			}
		}
		for _, call := range h.Calls() {
			if call != "good north" && !strings.HasPrefix(call, "plain") {
				t.Errorf("%s: %s was called", face, call)
			}
		}
	}
}
