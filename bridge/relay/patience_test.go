package relay

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core/access"
)

// impatient opens clients' sessions with a server that a script plays and that has the given
// time, through each face of a relay.
func impatient(t *testing.T, script string, start, call time.Duration, f func(*testing.T, *mcp.ClientSession, error)) {
	t.Helper()
	for face, connect := range faces {
		t.Run(face, func(t *testing.T) {
			g := watched(t, filepath.Join(t.TempDir(), "pins.json"), upstream.Server{
				Name: "up", Endpoint: plays("script", "SCRIPT="+script), StartTimeout: start, CallTimeout: call,
			})
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					<-time.After(call + call/2) // a person takes their time
					return &mcp.ElicitResult{Action: "decline"}, nil
				},
			}).Connect(bridgetest.Patient(t), connect(t, g.Server), &mcp.ClientSessionOptions{ProtocolVersion: proto.Legacy})
			if err == nil {
				defer cs.Close()
			}
			f(t, cs, err)
		})
	}
}

// A server that never answers initialize is given up after start_timeout.
func TestRelayGivesUpAServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	impatient(t, "initialize\n", 50*time.Millisecond, 0, func(t *testing.T, _ *mcp.ClientSession, err error) {
		if err == nil || !strings.Contains(err.Error(), "the MCP server up did not answer within 50ms of its start") {
			t.Error(err)
		}
	})
}

// A call without a sign of life ends after call_timeout, and the server is told. Its late answer
// is nobody's, and the next call works.
func TestRelayGivesUpASilentCall(t *testing.T) {
	t.Parallel()
	late := `notifications/cancelled {"jsonrpc":"2.0","id":$BEFORE,"result":{"content":[{"type":"text","text":"late"}]}}` + "\n"
	impatient(t, bridgetest.Greeting+bridgetest.OneTool("")+"tools/call#1\n"+late+bridgetest.ToolDone, 0, 2*time.Second, func(t *testing.T, cs *mcp.ClientSession, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if s, err := callT(t, cs, "t"); err == nil || !strings.Contains(err.Error(), "the MCP server up gave no sign of life for 2s; the call was given up") {
			t.Errorf("%q, %v", s, err)
		}
		if s, err := callT(t, cs, "t"); s != "done" || err != nil {
			t.Errorf("%q, %v", s, err)
		}
	})
}

// The same holds for a server that is an address, whether it says nothing or begins a stream.
func TestProxyGivesUpASilentCall(t *testing.T) {
	t.Parallel()
	for name, begins := range map[string]bool{"nothing": false, "a stream": true} {
		t.Run(name, func(t *testing.T) {
			tools := bridgetest.JSONServer(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}`)
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Traceparent") == "" {
					tools.ServeHTTP(w, r)
					return
				}
				_, _ = io.Copy(io.Discard, r.Body) // so that the server notices who hangs up
				if begins {
					w.Header().Set("Content-Type", "text/event-stream")
					w.WriteHeader(http.StatusOK)
					http.NewResponseController(w).Flush() //nolint:errcheck // it can
				}
				<-r.Context().Done()
			}))
			defer site.Close()
			g := watched(t, filepath.Join(t.TempDir(), "pins.json"), upstream.Server{
				Name: "up", Endpoint: at(bridgetest.Place{URL: site.URL}), CallTimeout: 50 * time.Millisecond,
			})
			h := g.HTTP(t.TempDir(), func(*http.Request) access.Holder { return access.Owner("p") })
			defer h.Close()
			req := httptest.NewRequest(http.MethodPost, "/mcp/up", strings.NewReader(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}`))
			req.Header.Set("Traceparent", "the call")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req.WithContext(bridgetest.Patient(t)))
			if got := w.Body.String(); !strings.Contains(got, `"id":3,"error"`) || !strings.Contains(got, "gave no sign of life for 50ms") {
				t.Errorf("%d %s", w.Code, got)
			}
		})
	}
}

// While a question of the server's is with the client's user no time passes.
func TestRelayWaitsForThePerson(t *testing.T) {
	t.Parallel()
	script := bridgetest.Greeting + bridgetest.OneTool("") +
		`tools/call {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}` + "\n" +
		`answer {"jsonrpc":"2.0","id":$BEFORE,"result":{"content":[{"type":"text","text":"done"}]}}` + "\n"
	impatient(t, script, 0, 3*time.Second, func(t *testing.T, cs *mcp.ClientSession, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if s, err := callT(t, cs, "t"); s != "done" || err != nil {
			t.Errorf("%q, %v", s, err)
		}
	})
}
