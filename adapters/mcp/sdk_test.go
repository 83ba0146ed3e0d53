package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/coretest"
)

// ways are the transports of the SDK's client.
var ways = []string{"pipe", "http"}

// connect connects the SDK's own client.
func connect(t *testing.T, way, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	g := newGateway(coretest.NewMemory(), 0, nil)
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return join(t, way, version, mcp.New(mcp.Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir()}), sdk.NewClient(&sdk.Implementation{Name: "the SDK", Version: "1"}, o))
}

// join connects a client to a server.
func join(t *testing.T, way, version string, s *mcp.Server, client *sdk.Client) *sdk.ClientSession {
	t.Helper()
	over := overPipe
	if way == "http" {
		over = overHTTP
	}
	transport, ended := over(s)
	cs, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cs.Close() //nolint:errcheck // only the server's messages count
		if err := ended(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	if got := cs.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("negotiated %s", got)
	}
	return cs
}

func overPipe(s *mcp.Server) (_ sdk.Transport, ended func() error) {
	serverIn, clientOut := wiretest.Pipe()
	clientIn, serverOut := wiretest.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), serverIn, serverOut) }()
	return &sdk.IOTransport{Reader: clientIn, Writer: clientOut}, func() error { return <-served }
}

func overHTTP(s *mcp.Server) (_ sdk.Transport, ended func() error) {
	h := s.HTTP(func(*http.Request) access.Holder { return access.Owner(core.Local) })
	srv := httptest.NewServer(h)
	return &sdk.StreamableClientTransport{Endpoint: srv.URL, MaxRetries: -1}, func() error {
		h.Close()
		srv.Close()
		return nil
	}
}

// result is a tool's structured result.
type result struct {
	Session string `json:"session_id"`
	Turn    string `json:"turn_id"`
	Status  string
	Text    string
	Stop    string `json:"stop_reason"`

	Questions []struct {
		ID string `json:"approval_id"`
	} `json:"pending_questions"`
}

func callTool(t *testing.T, cs *sdk.ClientSession, name string, args map[string]any) (*sdk.CallToolResult, result) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var r result
	if res.StructuredContent == nil {
		return res, r
	}
	b, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	fits(t, cs, name, b)
	return res, r
}

// fits checks a structured result against the tool's output schema.
func fits(t *testing.T, cs *sdk.ClientSession, name string, structured []byte) {
	t.Helper()
	for tool, err := range cs.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if tool.Name != name {
			continue
		}
		text, err := json.Marshal(tool.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(structured, &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%s: %s: %v", name, structured, err)
		}
	}
}

// The SDK's client, whose user answers in various ways, in both life cycles. The client may
// change an answer before it sends it; the test checks our reaction.
func TestSDKClient(t *testing.T) {
	answers := []struct {
		name   string
		answer func() (*sdk.ElicitResult, error)
		text   string
		status string
	}{
		{"accept", func() (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_session"}}, nil
		}, "Written.", "completed"},
		{"accept without content", func() (*sdk.ElicitResult, error) { return &sdk.ElicitResult{Action: "accept"}, nil }, "Written.", "completed"},
		{"accept with empty content", func() (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		}, "Written.", "completed"},
		{"decline", func() (*sdk.ElicitResult, error) { return &sdk.ElicitResult{Action: "decline"}, nil }, "Not written.", "completed"},
		{"cancel", func() (*sdk.ElicitResult, error) { return &sdk.ElicitResult{Action: "cancel"}, nil }, "The turn waits for a decision on:", "awaiting_approval"},
	}
	for _, era := range eras {
		for _, a := range answers {
			for _, way := range ways {
				t.Run(way+" "+era+" "+a.name, func(t *testing.T) {
					cs := connect(t, way, era, &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						if !strings.Contains(req.Params.Message, "write_file") || strings.Contains(req.Params.Message, "hush") {
							t.Errorf("the question: %s", req.Params.Message)
						}
						return a.answer()
					}})
					if _, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "say hello"}); r.Text != "hello" {
						t.Errorf("hello: %+v", r)
					}
					if _, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "write a.txt"}); !strings.HasPrefix(r.Text, a.text) || r.Status != a.status {
						t.Errorf("write: %+v", r)
					}
				})
			}
		}
	}
}

// The agent's questions reach the user of the SDK's client, whose own checks accept the forms;
// for a client without elicitation they reach the calling model.
func TestSDKClientIsAsked(t *testing.T) {
	for _, way := range both() {
		t.Run(way[0]+" "+way[1], func(t *testing.T) {
			cs := connect(t, way[0], way[1], &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				switch req.Params.Message {
				case "Which way?":
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"choice": "2"}}, nil
				case "What is it called?":
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"text": "Ada"}}, nil
				}
				return &sdk.ElicitResult{Action: "decline"}, nil
			}})
			for question, want := range map[string]string{"choice": "answered 2", "both": "answered 2", "text": "answered  Ada", "page": "declined", "secret": "alone  an MCP client is not asked for secrets"} {
				if _, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "ask " + question}); r.Text != want {
					t.Errorf("%s: %+v", question, r)
				}
			}
			mute := connect(t, way[0], way[1], nil)
			_, r := callTool(t, mute, "agent_prompt", map[string]any{"prompt": "ask choice"})
			if r.Status != "awaiting_approval" || len(r.Questions) != 1 {
				t.Fatalf("without elicitation: %+v", r)
			}
			if res, _ := callTool(t, mute, "agent_approve", map[string]any{"session_id": r.Session, "approval_id": r.Questions[0].ID, "answer": "Left"}); res.IsError {
				t.Errorf("agent_approve: %+v", res.Content[0])
			}
			if _, r := callTool(t, mute, "agent_wait", map[string]any{"session_id": r.Session}); r.Text != "answered 1" {
				t.Errorf("agent_wait: %+v", r)
			}
		})
	}
}

// both lists all transports with all life cycles.
func both() (list [][2]string) {
	for _, way := range ways {
		for _, era := range eras {
			list = append(list, [2]string{way, era})
		}
	}
	return list
}

// A client that fails to ask has not agreed. (At 2026-07-28 the SDK's client then fails the call
// itself.)
func TestSDKClientThatFails(t *testing.T) {
	cs := connect(t, "pipe", "2025-11-25", &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return nil, errors.New("no window")
	}})
	if _, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "write a.txt"}); r.Text != "Not written." {
		t.Errorf("%+v", r)
	}
}

// The SDK's client lists the tools, and every result of them matches its schema.
func TestSDKClientTools(t *testing.T) {
	for _, way := range both() {
		t.Run(way[0]+" "+way[1], func(t *testing.T) {
			cs := connect(t, way[0], way[1], nil)
			list, err := cs.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
				if tool.OutputSchema == nil || tool.Annotations == nil || tool.Title == "" {
					t.Errorf("%s: no output schema, annotations or title", tool.Name)
				}
			}
			const want = "agent_approve agent_cancel agent_prompt agent_wait session_close session_get session_list"
			if got := strings.Join(names, " "); got != want {
				t.Errorf("tools: %s", got)
			}
			if caps, err := json.Marshal(cs.InitializeResult().Capabilities); err != nil || !strings.Contains(string(caps), `"completions":{},"logging":{},"prompts":{},"resources":{"listChanged":true,"subscribe":true},"tools":{}}`) {
				t.Errorf("capabilities: %s, %v", caps, err)
			}
			if n := strings.Count(cs.InitializeResult().Instructions, "\n"); n == 0 || n >= 10 {
				t.Errorf("instructions: %d lines", n+1)
			}
			res, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "long 250"})
			if len(r.Text) < 200<<10 || len(r.Text) > 201<<10 || !strings.Contains(r.Text, "50000 bytes more") && !strings.Contains(r.Text, "bytes more;") || r.Stop != "max_tokens" {
				t.Errorf("a long answer: %d bytes, %q, %s", len(r.Text), r.Text[len(r.Text)-80:], r.Stop)
			}
			if res.IsError || len(res.Content) != 2 {
				t.Errorf("a long answer: %v, %d contents", res.IsError, len(res.Content))
			}
			if res, b := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "write a.txt"}); b.Status != "awaiting_approval" || res.IsError {
				t.Errorf("an approval: %+v", b)
			} else if res, busy := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "x", "session_id": b.Session}); busy.Turn != b.Turn || !res.IsError {
				t.Errorf("busy: %+v", busy)
			}
			for _, call := range []struct {
				name string
				args map[string]any
			}{
				{"agent_wait", map[string]any{"session_id": r.Session}},
				{"agent_cancel", map[string]any{"session_id": r.Session}},
				{"session_get", map[string]any{"session_id": r.Session}},
				{"session_list", nil},
				{"session_close", map[string]any{"session_id": r.Session, "delete": true}},
			} {
				if res, _ := callTool(t, cs, call.name, call.args); res.IsError || res.StructuredContent == nil {
					t.Errorf("%s: %+v", call.name, res.Content[0])
				}
			}
		})
	}
}

// A client that gives up a call cancels its turn, 100 times.
func TestSDKClientCancels(t *testing.T) {
	for _, way := range both() {
		t.Run(way[0]+" "+way[1], func(t *testing.T) {
			cs := connect(t, way[0], way[1], nil)
			_, first := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "say hello"})
			// The SDK sends its cancels concurrently with the caller, so one may come after the
			// next prompt, which is refused then.
			for range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					res, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "agent_prompt", Arguments: map[string]any{"prompt": "hang", "session_id": first.Session}})
					if err == nil && !res.IsError {
						err = errors.New("it was answered")
					}
					done <- err
				}()
				cancel()
				if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
			}
			for {
				res, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "say after", "session_id": first.Session})
				if !res.IsError && r.Text == "after" {
					break
				}
				if r.Status != "running" {
					t.Fatalf("%+v", r)
				}
			}
		})
	}
}

// A dialog outlives the call that opened it: the user's answer counts when it comes.
func TestDialogOutlivesItsCall(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			answered := make(chan struct{})
			times := 0
			cs := connect(t, way, "2025-11-25", &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				times++
				select {
				case <-answered:
					return &sdk.ElicitResult{Action: "accept"}, nil
				case <-ctx.Done():
					t.Error("the dialog was taken back")
					return nil, ctx.Err()
				}
			}})
			_, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "write a.txt", "wait_seconds": 5}) // it asks within that time
			if r.Status != "awaiting_approval" {
				t.Fatalf("when the time is up: %+v", r)
			}
			close(answered)
			if _, r := callTool(t, cs, "agent_wait", map[string]any{"session_id": r.Session}); r.Text != "Written." || times != 1 {
				t.Errorf("after the answer: %+v, asked %d times", r, times)
			}
		})
	}
}
