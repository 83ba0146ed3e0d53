package relay

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// faces are how a client reaches a relay.
var faces = map[string]func(*testing.T, *Server) mcp.Transport{
	"pipe": func(t *testing.T, r *Server) mcp.Transport {
		down, fromDown := io.Pipe()
		toDown, up := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- r.Serve(context.Background(), core.Local, t.TempDir(), down, up) }()
		t.Cleanup(func() {
			fromDown.Close()
			if err := <-ended; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
		return &mcp.IOTransport{Reader: toDown, Writer: fromDown}
	},
	"http": func(t *testing.T, r *Server) mcp.Transport {
		h := r.HTTP(t.TempDir(), func(*http.Request) access.Holder { return access.Owner("p") })
		s := httptest.NewServer(h)
		t.Cleanup(func() {
			s.CloseClientConnections()
			s.Close()
			h.Close()
		})
		return &mcp.StreamableClientTransport{Endpoint: s.URL}
	},
}

func relayTo(t *testing.T, s upstream.Server, check upstream.Check) *Server {
	t.Helper()
	box := upstream.New(upstream.Options{
		Servers: []upstream.Server{s}, Environ: os.Environ(), PinFile: filepath.Join(t.TempDir(), "pins.json"), Log: func(_, level, text string) { t.Log(level, text) },
	})
	t.Cleanup(box.Close)
	r, ok := New(box, "up", check)
	if !ok {
		t.Fatal("there is no relay")
	}
	return r
}

// A client of the SDK's reaches a server of the SDK's through the relay as it would
// without it, whatever lies between, in both eras.
func TestRelayIsNotNoticed(t *testing.T) {
	t.Parallel()
	for way, server := range ways(t) {
		for face, connect := range faces {
			for _, version := range []string{proto.Legacy, proto.Modern} {
				if way == "http2026" && version == proto.Legacy || way != "http2026" && way != "stdio" && version == proto.Modern {
					continue // such a server does not speak it
				}
				t.Run(way+"/"+face+"/"+version, func(t *testing.T) {
					lists, told := make(chan struct{}, 100), make(chan string, 100)
					c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
						ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
							return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann", "age": 20}}, nil
						},
						ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { lists <- struct{}{} },
						ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { told <- r.Params.Message },
					})
					c.AddRoots(&mcp.Root{URI: "file:///r"}) //nolint:staticcheck // clients that have them live on
					cs, err := c.Connect(bridgetest.Patient(t), connect(t, relayTo(t, server, nil)), &mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					defer cs.Close()
					if got := cs.InitializeResult().ProtocolVersion; got != version {
						t.Fatalf("they speak %s", got)
					}
					call := func(name string, args any) *mcp.CallToolResult {
						t.Helper()
						p := &mcp.CallToolParams{Name: name, Arguments: args}
						p.SetProgressToken("tok-" + name)
						res, err := cs.CallTool(bridgetest.Patient(t), p)
						if err != nil {
							t.Fatalf("%s: %v", name, err)
						}
						return res
					}
					said := func(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }
					if res := call("echo", map[string]any{"text": "x"}); said(res) != `{"text":"xx"}` {
						t.Errorf("echo: %s", said(res))
					}
					if way != "httpJSON" {
						call("steps", nil)
						if got := <-told; got != "step" {
							t.Errorf("progress: %q", got)
						}
					}
					if way != "httpJSON" && version == proto.Legacy {
						if res := call("ask", nil); !strings.Contains(said(res), `"name":"ann"`) {
							t.Errorf("ask: %s", said(res))
						}
						if res := call("roots", nil); !strings.Contains(said(res), "file:///r") {
							t.Errorf("roots: %s", said(res))
						}
						call("grow", nil)
						select {
						case <-lists:
						case <-bridgetest.Patient(t).Done():
							t.Error("a changed list was not told")
						}
					}
					ctx, cancel := context.WithCancel(bridgetest.Patient(t))
					done := make(chan error)
					go func() {
						_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
						done <- err
					}()
					cancel()
					if err := <-done; !errors.Is(err, context.Canceled) {
						t.Errorf("wait: %v", err)
					}
					call("echo", map[string]any{"text": "y"})
				})
			}
		}
	}
}

func TestRelayRefusesAndHides(t *testing.T) {
	t.Parallel()
	for way, server := range ways(t) {
		if way == "http2026" || way == "sse" {
			continue
		}
		server.Deny = []string{"die"}
		for face, connect := range faces {
			t.Run(way+"/"+face, func(t *testing.T) {
				r := relayTo(t, server, func(_, tool string, _ json.RawMessage) error {
					if tool == "env" {
						return errors.New("a rule says no")
					}
					return nil
				})
				cs, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(bridgetest.Patient(t), connect(t, r), &mcp.ClientSessionOptions{ProtocolVersion: proto.Legacy})
				if err != nil {
					t.Fatal(err)
				}
				defer cs.Close()
				list, err := cs.ListTools(bridgetest.Patient(t), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, tool := range list.Tools {
					if tool.Name == "die" {
						t.Error("a tool that is not offered is listed")
					}
				}
				if _, err := cs.CallTool(bridgetest.Patient(t), &mcp.CallToolParams{Name: "die"}); err == nil || !strings.Contains(err.Error(), "there is no tool") {
					t.Errorf("die: %v", err)
				}
				if _, err := cs.CallTool(bridgetest.Patient(t), &mcp.CallToolParams{Name: "env"}); err == nil || !strings.Contains(err.Error(), "a rule says no") {
					t.Errorf("env: %v", err)
				}
				if res, err := cs.CallTool(bridgetest.Patient(t), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}}); err != nil || res.IsError {
					t.Errorf("echo: %v", err)
				}
			})
		}
	}
}

// A client's key, cookies and origin stay here; ours is sent.
func TestProxySendsNoKeyOn(t *testing.T) {
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer s.Close()
	r := relayTo(t, upstream.Server{Name: "up", Endpoint: func(context.Context) (upstream.Endpoint, error) {
		return upstream.Endpoint{URL: s.URL, Headers: map[string]string{"Authorization": "Bearer ours"}}, nil
	}}, nil)
	h := r.HTTP("", func(*http.Request) access.Holder { return access.Owner("p") })
	defer h.Close()
	req := httptest.NewRequest(http.MethodPost, "/mcp/up", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`))
	for name, value := range map[string]string{"Authorization": "Bearer theirs", "Cookie": "c=theirs", "Origin": "http://theirs", "X-Api-Key": "theirs", "Mcp-Session-Id": "s"} {
		req.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if w.Code != http.StatusBadGateway {
		t.Errorf("a key of ours that does not fit is answered with %d", w.Code)
	}
	for name := range got {
		if strings.Contains(got.Get(name), "theirs") {
			t.Errorf("%s was sent on", name)
		}
	}
	if got.Get("Authorization") != "Bearer ours" || got.Get(proto.HeaderSession) != "s" {
		t.Errorf("the server got %v", got)
	}
}

// The early dialect passes as it is.
func TestRelayLeavesTheEarlyDialectAlone(t *testing.T) {
	r := relayTo(t, upstream.Server{Name: "up", Endpoint: plays("script", `SCRIPT=initialize1 {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":1}}
tools/call {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}
`)}, nil)
	s := talk(t, r, `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":1}}`,
		`{"jsonrpc":"2.0","id":2.50,"method":"tools/call","params":{"name":"x"}}`, "nonsense")
	want := `{"jsonrpc":"2.0","id":"a","result":{"protocolVersion":1}}` + "\n" + `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}` + "\n"
	if !strings.Contains(strings.ReplaceAll(s, "\n\n", "\n"), want[:60]) || !strings.Contains(s, `"id":null,"error":{"code":-32000,"message":"no"}}`) || !strings.Contains(s, "-32700") {
		t.Errorf("got %s", s)
	}
}

// A session whose program has ended is gone, so that clients begin anew.
func TestRelayForgetsWhatHasEnded(t *testing.T) {
	t.Parallel()
	r := relayTo(t, upstream.Server{Name: "up", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+"tools/call exit")}, nil)
	h := r.HTTP(t.TempDir(), func(*http.Request) access.Holder { return access.Owner("p") })
	defer h.Close()
	post := func(session, body string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(http.MethodPost, "/mcp/up", strings.NewReader(body))
		req.Header.Set(proto.HeaderSession, session)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req.WithContext(bridgetest.Patient(t)))
		return w
	}
	session := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`).Header().Get(proto.HeaderSession)
	if w := post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}`); !strings.Contains(w.Body.String(), "exit code 4; it said: fatal: told to exit") {
		t.Errorf("in the middle: %d %s", w.Code, w.Body)
	}
	if w := post(session, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`); w.Code != http.StatusNotFound {
		t.Errorf("after: %d %s", w.Code, w.Body)
	}
	if w := post("", `{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`); w.Code != http.StatusOK || w.Header().Get(proto.HeaderSession) == session {
		t.Errorf("anew: %d %s", w.Code, w.Body)
	}
}
