package bridgetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// schemas caches the schemas of the tools below. Tests create hundreds of servers, one for each
// session, and without a state one for each request.
var schemas = mcp.NewSchemaCache()

// SDKServer returns a server of the SDK.
func SDKServer() *mcp.Server {
	moved := make(chan struct{}, 1)
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1.2"}, &mcp.ServerOptions{
		SchemaCache:             schemas,
		RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) { moved <- struct{}{} }, //nolint:staticcheck // servers that use roots still exist
	})
	s.AddPrompt(
		&mcp.Prompt{
			Name:        "greet",
			Description: "says hello",
			Arguments:   []*mcp.PromptArgument{{Name: "who", Required: true}, {Name: "how"}},
		},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: "Greet " + r.Params.Arguments["who"]}},
				{Role: "user", Content: &mcp.TextContent{Text: "so: " + r.Params.Arguments["how"]}},
			}}, nil
		},
	)
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{
			Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: "of " + r.Params.URI}},
		}, nil
	}
	s.AddResource(&mcp.Resource{URI: "up://one", Name: "The One"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "up://item/{id}", Name: "items"}, read)
	type text struct {
		Text string `json:"text"`
	}
	mcp.AddTool(
		s,
		&mcp.Tool{
			Name:        "echo",
			Title:       "Echo",
			Description: "says it again",
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		},
		func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, text, error) {
			return nil, text{in.Text + in.Text}, nil
		},
	)
	mcp.AddTool(s, &mcp.Tool{Name: "env"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return result(strings.Join(os.Environ(), "\n")), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "pid"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return result(strconv.Itoa(os.Getpid())), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, fmt.Errorf("it does not work")
		})
	mcp.AddTool(s, &mcp.Tool{Name: "wait"},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			select {
			case <-ctx.Done():
				fmt.Fprintln(os.Stderr, "the wait was cancelled")
			case <-time.After(Patience): // a test that waits for that notices
			}
			return nil, nil, ctx.Err()
		})
	mcp.AddTool(s, &mcp.Tool{Name: "roots"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			res, err := r.Session.ListRoots(ctx, nil) //nolint:staticcheck // servers that ask for them still exist
			if err != nil {
				return nil, nil, err
			}
			return nil, res.Roots, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "moved", Description: "waits until the client announces other roots"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			select {
			case <-moved:
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
			return nil, r.Session.InitializeParams().Capabilities, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(
				`{"type":"object","required":["name","age"],"properties":{"name":{"type":"string","enum":["ann","bob"]},"age":{"type":"integer","minimum":18},"sure":{"type":"boolean","default":true}}}`,
			)})
			if err != nil {
				return nil, nil, err
			}
			return nil, res, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "sample"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			ask := &mcp.CreateMessageParams{ //nolint:staticcheck // servers that do so still exist
				MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "2+2?"}}}, //nolint:staticcheck // as above
			}
			res, err := r.Session.CreateMessage(ctx, ask) //nolint:staticcheck // as above
			if err != nil {
				return nil, nil, err
			}
			return nil, res.Content, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "sampleAgain"},
		func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			if answer, ok := r.Params.InputResponses["m"].(*mcp.CreateMessageWithToolsResult); ok { //nolint:staticcheck // as above
				return nil, answer.Content, nil
			}
			return &mcp.CallToolResult{
				RequestState: "s",
				InputRequests: mcp.InputRequestMap{"m": &mcp.CreateMessageParams{ //nolint:staticcheck // as above
					SystemPrompt: "Be short.", MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "2+2?"}}}, //nolint:staticcheck // as above
				}},
			}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "steps"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			for i := range 3 {
				_ = r.Session.NotifyProgress(
					ctx,
					&mcp.ProgressNotificationParams{
						ProgressToken: r.Params.GetProgressToken(),
						Progress:      float64(i + 1),
						Total:         3,
						Message:       "step",
					},
				)
			}
			return nil, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "grow"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			for i := range 20 {
				mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("grown%d", i)},
					func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
						return nil, nil, nil
					})
			}
			return nil, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "publish"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			s.AddPrompt(
				&mcp.Prompt{Name: "later"},
				func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
					return &mcp.GetPromptResult{}, nil
				},
			)
			s.AddResource(&mcp.Resource{URI: "up://later", Name: "Later"}, read)
			return nil, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "die"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			fmt.Fprintln(os.Stderr, "panic: out of cheese")
			leave(9)
			return nil, nil, nil
		})
	return s
}

// DescribedServer returns a server of the SDK with tools of these descriptions.
func DescribedServer(tools map[string]string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "up"}, nil)
	for name, description := range tools {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: description},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return result("done"), nil, nil
			})
	}
	return s
}

// SmallServer returns a server of the SDK whose tools answer with its name and their own.
func SmallServer(name string, tools ...string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
	for _, tool := range tools {
		mcp.AddTool(s, &mcp.Tool{Name: tool},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return result(name + "'s " + tool), nil, nil
			})
	}
	return s
}

// ModernOnly wraps a server that does not know a handshake.
func ModernOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "" && r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			w.Write([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no initialize here"}}`))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Ways lists the transports and eras of the SDK's server.
func Ways(t *testing.T) map[string]Place {
	t.Helper()
	serve := func(h http.Handler) Place {
		s := httptest.NewServer(h)
		t.Cleanup(func() {
			s.CloseClientConnections()
			s.Close()
		})
		return Place{URL: s.URL, Headers: map[string]string{"X-Key": "k"}}
	}
	get := func(*http.Request) *mcp.Server { return SDKServer() }
	sse := serve(mcp.NewSSEHandler(get, nil))
	sse.SSE = true
	return map[string]Place{
		"stdio":    Program("sdk"),
		"http":     serve(mcp.NewStreamableHTTPHandler(get, nil)),
		"httpJSON": serve(mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{JSONResponse: true})),
		"http2026": serve(
			ModernOnly(
				mcp.NewStreamableHTTPHandler(
					get,
					&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true},
				),
			),
		),
		"sse": sse,
	}
}

// result returns the result of a call with a text.
func result(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// JSONServer answers each request with JSON: initialize like Greeting, and every other one with
// answer, in which %s is the request's id.
func JSONServer(answer string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if m.Method == "initialize" {
			_, text, _ := strings.Cut(Greeting, " ")
			fmt.Fprint(w, strings.ReplaceAll(text, "$ID", string(m.ID)))
			return
		}
		fmt.Fprintf(w, answer, m.ID)
	})
}
