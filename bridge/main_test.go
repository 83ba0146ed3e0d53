package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
)

// playVar makes the test's binary one of the servers below.
const playVar = "BRIDGE_TEST_PLAYS"

func TestMain(m *testing.M) {
	role := os.Getenv(playVar)
	if role == "" {
		os.Exit(m.Run())
	}
	play(role)
	leave(0)
}

// leave ends a server at once. With os.Exit, and at main's end, the race detector sleeps
// for a second first, in each of several hundred processes.
func leave(code int) { syscall.Exit(code) }

func play(role string) {
	switch role {
	case "sdk":
		fmt.Fprintln(os.Stderr, "sdk server is up")
		if err := sdkServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	case "described":
		var tools map[string]string
		if err := json.Unmarshal([]byte(os.Getenv("TOOLS")), &tools); err != nil {
			panic(err)
		}
		describedServer(tools).Run(context.Background(), &mcp.StdioTransport{}) //nolint:errcheck // it ends with its input
	case "silent":
		bufio.NewReader(os.Stdin).WriteTo(os.Stderr)
	case "dies":
		fmt.Fprintln(os.Stderr, "cannot find the license file")
		leave(3)
	case "stubborn":
		stubborn()
	case "script":
		script()
	}
}

// stubborn ignores its input's end and polite signals, and has a child that does too.
func stubborn() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	if os.Getenv("DEPTH") == "" {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "DEPTH=1")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
	}
	fmt.Printf("%d\n", os.Getpid())
	select {}
}

// script answers each method with what the variable SCRIPT says: lines of METHOD,
// a space, and one line to print, in which $ID is the request's id and $TOKEN its
// progress token. "exit" ends the program. METHOD@CURSOR is the page behind a cursor,
// METHOD#2 the second request of that method. An answer of ours has the METHOD answer;
// $BEFORE is the id of the message before. "flood", "pages", "storm", "noise" and "big"
// are what they say.
func script() {
	var replies [][2]string
	for line := range strings.Lines(os.Getenv("SCRIPT")) {
		method, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		replies = append(replies, [2]string{method, text})
	}
	times := map[string]int{}
	var before json.RawMessage
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Cursor          string
				ProtocolVersion json.RawMessage
				Meta            struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		if m.Method == "" {
			m.Method = "answer"
		}
		times[m.Method]++
		asked := m.Method
		for _, name := range []string{m.Method + string(m.Params.ProtocolVersion), fmt.Sprintf("%s#%d", m.Method, times[m.Method]), m.Method + "@" + m.Params.Cursor} {
			if slices.ContainsFunc(replies, func(r [2]string) bool { return r[0] == name }) {
				asked = name
			}
		}
		for _, r := range replies {
			method, text := r[0], r[1]
			if method != asked {
				continue
			}
			switch {
			case text == "exit":
				fmt.Fprintln(os.Stderr, "fatal: told to exit")
				leave(4)
			case text == "flood":
				w := bufio.NewWriter(os.Stdout)
				for i := range 10000 {
					fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":10000}}`+"\n", m.Params.Meta.ProgressToken, i+1)
				}
				w.Flush()
			case text == "pages": // 50 of 100 tools each
				at, _ := strconv.Atoi(m.Params.Cursor)
				var tools []string
				for i := range 100 {
					tools = append(tools, fmt.Sprintf(`{"name":"t%d","description":"number %[1]d","inputSchema":{"type":"object"}}`, 100*at+i))
				}
				next := ""
				if at < 49 {
					next = fmt.Sprintf(`,"nextCursor":"%d"`, at+1)
				}
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]%s}}`+"\n", m.ID, strings.Join(tools, ","), next)
				fmt.Fprintln(os.Stderr, "asked for a page")
			case text == "storm":
				w := bufio.NewWriter(os.Stdout)
				for range 1000 {
					fmt.Fprintln(w, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				}
				w.Flush()
			case text == "noise":
				for i := range 10000 {
					fmt.Fprintf(os.Stderr, "%d %s\n", i, strings.Repeat("noise ", 20))
				}
			case text == "big":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s END"}]}}`+"\n", m.ID, strings.Repeat("0123456789", 2<<20))
			default:
				fmt.Println(strings.NewReplacer("$ID", string(m.ID), "$BEFORE", string(before)).Replace(text))
			}
		}
		before = m.ID
	}
}

// greeting is the beginning of most scripts.
const greeting = `initialize {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"script","version":"1"}}}
`

// oneTool lists a tool named t, with the annotations given.
func oneTool(annotations string) string {
	return `tools/list {"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"},"annotations":{` + annotations + `}}]}}
`
}

// plays is where a server of this file is.
func plays(what string, env ...string) func(context.Context) (Endpoint, error) {
	given := map[string]string{playVar: what}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		given[name] = value
	}
	return func(context.Context) (Endpoint, error) {
		self, err := os.Executable()
		return Endpoint{Command: self, Env: given}, err
	}
}

// sdkServer is a server as the SDK makes them.
func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1.2"}, nil)
	s.AddPrompt(&mcp.Prompt{Name: "greet", Description: "says hello", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}, {Name: "how"}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: "Greet " + r.Params.Arguments["who"]}},
				{Role: "user", Content: &mcp.TextContent{Text: "so: " + r.Params.Arguments["how"]}},
			}}, nil
		})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: "of " + r.Params.URI}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "up://one", Name: "The One"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "up://item/{id}", Name: "items"}, read)
	type text struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Title: "Echo", Description: "says it again", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, text, error) {
			return nil, text{in.Text + in.Text}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "env"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(os.Environ(), "\n")}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "pid"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strconv.Itoa(os.Getpid())}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("it does not work")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "the wait was cancelled")
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "roots"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		res, err := r.Session.ListRoots(ctx, nil) //nolint:staticcheck // servers that ask for them live on
		if err != nil {
			return nil, nil, err
		}
		return nil, res.Roots, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(
			`{"type":"object","required":["name","age"],"properties":{"name":{"type":"string","enum":["ann","bob"]},"age":{"type":"integer","minimum":18},"sure":{"type":"boolean","default":true}}}`)})
		if err != nil {
			return nil, nil, err
		}
		return nil, res, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "sample"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		res, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{ //nolint:staticcheck // servers that do so live on
			MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "2+2?"}}}, //nolint:staticcheck // as above
		})
		if err != nil {
			return nil, nil, err
		}
		return nil, res.Content, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "sampleAgain"}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if answer, ok := r.Params.InputResponses["m"].(*mcp.CreateMessageWithToolsResult); ok { //nolint:staticcheck // as above
			return nil, answer.Content, nil
		}
		return &mcp.CallToolResult{RequestState: "s", InputRequests: mcp.InputRequestMap{"m": &mcp.CreateMessageParams{ //nolint:staticcheck // as above
			SystemPrompt: "Be short.", MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "2+2?"}}}, //nolint:staticcheck // as above
		}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "steps"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: "step"})
		}
		return nil, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "grow"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 20 {
			mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("grown%d", i)}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
		}
		return nil, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "publish"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		s.AddPrompt(&mcp.Prompt{Name: "later"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
		s.AddResource(&mcp.Resource{URI: "up://later", Name: "Later"}, read)
		return nil, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "die"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		leave(9)
		return nil, nil, nil
	})
	return s
}

// host is a session for tests.
type host struct {
	meta  core.Meta
	board *core.Board
	ask   func(core.Ask) core.Reply // nil: nobody is there
	model core.Model                // nil: there is none

	servers []core.ServerSpec
}

func (h *host) Meta() core.Meta     { return h.meta }
func (h *host) Editor() core.Editor { return nil }
func (h *host) Board() *core.Board  { return h.board }

func (h *host) Servers() []core.ServerSpec { return slices.Clone(h.servers) }
func (h *host) Delegate(context.Context, core.Task) (core.Delegated, error) {
	return core.Delegated{}, fmt.Errorf("no")
}

func (h *host) Model(context.Context) (core.Model, error) {
	if h.model == nil {
		return nil, fmt.Errorf("no model is configured")
	}
	return h.model, nil
}

func (h *host) Ask(_ context.Context, a core.Ask) (core.Reply, error) {
	if h.ask == nil {
		return core.Reply{Outcome: core.OutcomeAlone}, nil
	}
	return h.ask(a), nil
}

// patience tells an end from a hang.
const patience = 60 * time.Second

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// open opens the tools of servers in a session, which ends with the test.
func open(t *testing.T, h *host, o Options) (*Box, core.Toolset) {
	t.Helper()
	if h.board == nil {
		h.board = core.NewBoard()
	}
	if h.meta.Cwd == "" {
		h.meta.Cwd = t.TempDir()
	}
	if o.Grace == 0 {
		o.Grace = patience
	}
	if o.FirstPause == 0 {
		o.FirstPause = 10 * time.Millisecond
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Log == nil {
		o.Log = func(server, level, text string) { t.Logf("%s %s: %.500s", server, level, text) }
	}
	o.Board = h.board
	b := New(o)
	b.Announce()
	s, err := b.Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, s
}

// toolOf finds a tool.
func toolOf(t *testing.T, s core.Toolset, name string) core.Tool {
	t.Helper()
	list, err := s.Tools(within(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list {
		if tool.Spec().Name == name {
			return tool
		}
		names = append(names, tool.Spec().Name)
	}
	t.Fatalf("there is no tool %s, only %q", name, names)
	return nil
}

// call runs a tool.
func call(t *testing.T, tool core.Tool, args string) (core.Result, error) {
	t.Helper()
	inv := core.Invocation{Call: "c", Args: json.RawMessage(args), Output: func(string) {}}
	if _, err := tool.Preview(within(t), inv); err != nil {
		t.Fatal(err)
	}
	return tool.Run(within(t), inv)
}

// text is what a result says.
func text(r core.Result) string {
	var s []string
	for _, b := range r.Blocks {
		s = append(s, textOf(b))
	}
	return strings.Join(s, "\n")
}
