package aggregate

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// agentServer is a stand-in for our own agent.
func agentServer(_ context.Context, p core.Principal) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ServerOptions{Instructions: "Ask the agent.", SubscribeHandler: func(context.Context, *mcp.SubscribeRequest) error { return nil }, UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil }})
	mcp.AddTool(s, &mcp.Tool{Name: "agent_prompt"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "thinking"})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "I am the agent of " + string(p)}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "reserved"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the agent's"}}}, nil, nil
	})
	s.AddResource(&mcp.Resource{URI: "dragoman://sessions", Name: "sessions"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "dragoman://sessions", Text: "[]"}}}, nil
	})
	return s
}

// aggregate shows servers beside the stand-in.
func aggregate(t *testing.T, o upstream.Options, a Options) *Server {
	t.Helper()
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Grace == 0 {
		o.Grace = bridgetest.Patience
	}
	if o.FirstPause == 0 {
		o.FirstPause = 10 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = func(server, level, text string) { t.Logf("%s %s: %.300s", server, level, text) }
	}
	if a.Servers == nil {
		a.Servers = []string{"*"}
	}
	if a.Agent == nil {
		a.Agent = standIn{}
	}
	return New(upstream.New(o), a)
}

// piped connects a client to an aggregate over a pipe.
func piped(t *testing.T, a *Server) mcp.Transport {
	down, fromDown := io.Pipe()
	toDown, up := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(context.Background(), t.TempDir(), core.Local, down, up) }()
	t.Cleanup(func() {
		fromDown.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &mcp.IOTransport{Reader: toDown, Writer: fromDown}
}

// overHTTP connects a client to an aggregate over HTTP.
func overHTTP(t *testing.T, a *Server) mcp.Transport {
	h := streamable.NewHandler(streamable.HandlerOptions{
		Connect: func(_ *http.Request, c streamable.Visitor, send wire.Send) streamable.Conn {
			return a.Connect(access.Owner(core.Local), t.TempDir(), c.Shared, send)
		},
		Owner: func(*http.Request) string { return string(core.Local) }, Limit: upstream.MaxMessage,
	})
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		h.Close()
	})
	return &mcp.StreamableClientTransport{Endpoint: s.URL}
}

// A client of the SDK's has the agent and a server of the SDK's in one, whatever lies
// between, in both eras.
func TestAggregateOfOneServer(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(*testing.T, *Server) mcp.Transport{"pipe": piped, "http": overHTTP} {
		t.Run(name, func(t *testing.T) { aggregateOfOne(t, connect) })
	}
}

func aggregateOfOne(t *testing.T, connect func(*testing.T, *Server) mcp.Transport) {
	for way, server := range ways(t) {
		for _, version := range bridgetest.Eras {
			t.Run(way+"/"+version, func(t *testing.T) {
				told, lists := make(chan string, 100), make(chan struct{}, 100)
				cs := bridgetest.Connected(t, connect(t, aggregate(t, upstream.Options{Servers: []upstream.Server{server}}, Options{})), version, &mcp.ClientOptions{
					ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann", "age": 20}}, nil
					},
					ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { lists <- struct{}{} },
					ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { told <- r.Params.Message },
				})
				if s := cs.InitializeResult().Instructions; !strings.HasPrefix(s, "Ask the agent.") {
					t.Errorf("instructions: %q", s)
				}
				names := bridgetest.ToolNames(t, cs)
				for _, name := range []string{"agent_prompt", "echo", "ask"} {
					if !slices.Contains(names, name) {
						t.Errorf("no %s in %q", name, names)
					}
				}
				if got := bridgetest.Said(t, cs, "agent_prompt", map[string]any{}); got != "I am the agent of local" {
					t.Errorf("agent_prompt: %s", got)
				}
				if got := bridgetest.Said(t, cs, "echo", map[string]any{"text": "x"}); got != `{"text":"xx"}` {
					t.Errorf("echo: %s", got)
				}
				if way != "httpJSON" {
					p := &mcp.CallToolParams{Name: "steps"}
					p.SetProgressToken("tok")
					if _, err := cs.CallTool(bridgetest.Patient(t), p); err != nil {
						t.Errorf("steps: %v", err)
					}
					for range 3 {
						if got := <-told; got != "step" {
							t.Errorf("progress: %q", got)
						}
					}
				}
				// Some cannot ask; what the SDK's speaks over SSE depends on who is quicker.
				stateless := way == "http2026" || way == "httpJSON" || version == proto.Modern && way != "http"
				if !stateless {
					if got := bridgetest.Said(t, cs, "ask", nil); !strings.Contains(got, `"name":"ann"`) {
						t.Errorf("ask: %s", got)
					}
				}
				if way == "stdio" {
					bridgetest.Said(t, cs, "grow", nil)
					select {
					case <-lists:
					case <-bridgetest.Patient(t).Done():
						t.Error("a changed list was not told")
					}
				}
				res, err := cs.ReadResource(bridgetest.Patient(t), &mcp.ReadResourceParams{URI: "up://item/7"})
				if err != nil || res.Contents[0].Text != "of up://item/7" {
					t.Errorf("read: %v, %v", res, err)
				}
				if res, err := cs.ReadResource(bridgetest.Patient(t), &mcp.ReadResourceParams{URI: "dragoman://sessions"}); err != nil || res.Contents[0].Text != "[]" {
					t.Errorf("read ours: %v, %v", res, err)
				}
				got, err := cs.GetPrompt(bridgetest.Patient(t), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Ann"}})
				if err != nil || got.Messages[0].Content.(*mcp.TextContent).Text != "Greet Ann" {
					t.Errorf("prompt: %v, %v", got, err)
				}
				if got := bridgetest.Said(t, cs, "nothing", nil); !strings.Contains(got, `there is no tool`) {
					t.Errorf("nothing: %s", got)
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
			})
		}
	}
}
