package aggregate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/inference"
)

// hosted is a server of the SDK's over HTTP.
func hosted(t *testing.T, name string, s *mcp.Server, o *mcp.StreamableHTTPOptions) upstream.Server {
	t.Helper()
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return upstream.Server{Name: name, Endpoint: func(context.Context) (upstream.Endpoint, error) { return upstream.Endpoint{URL: h.URL}, nil }}
}

// spoken begins a connection of the older life cycle by hand.
func spoken(t *testing.T, a *Server, caps string) *bridgetest.Raw {
	t.Helper()
	c := unspoken(t, a)
	c.Say(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + caps + `,"clientInfo":{"name":"raw","version":"1"}}}`)
	c.Until(`"id":"hello"`)
	c.Say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// sleepy is a moment, for what is asked again and again.
func sleepy(t *testing.T) <-chan time.Time { return time.After(20 * time.Millisecond) }

func TestAggregateOfSeveralServers(t *testing.T) {
	t.Parallel()
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{
		hosted(t, "x", bridgetest.SmallServer("x", "same", "only_x", "reserved", "a.b/c d"), nil), hosted(t, "y", bridgetest.SmallServer("y", "same", "only_y"), nil),
		{Name: "off", Disabled: true},
		{Name: "asks", Confirm: true, Endpoint: plays("dies")},
		{Name: "dead", Endpoint: plays("dies")},
	}}, Options{Check: func(server, tool string, args json.RawMessage) error {
		if server == "y" && tool == "only_y" && string(args) == `{"secret":true}` {
			return fmt.Errorf("a rule says no")
		}
		return nil
	}})
	for _, version := range bridgetest.Eras {
		cs := bridgetest.Connected(t, piped(t, a), version, nil)
		if got := strings.Join(bridgetest.ToolNames(t, cs), " "); got != "agent_prompt reserved a_b_c_d_"+sum("a.b/c d")+" only_x x__reserved x__same only_y y__same" {
			t.Errorf("tools: %s", got)
		}
		for name, want := range map[string]string{
			"x__same": "x's same", "y__same": "y's same", "only_x": "x's only_x", "x__only_x": "x's only_x", "reserved": "the agent's", "x__reserved": "x's reserved",
			"a_b_c_d_" + sum("a.b/c d"): "x's a.b/c d", "same": "error: ", "asks__t": "error: ",
		} {
			if got := bridgetest.Said(t, cs, name, map[string]any{}); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s", name, got)
			}
		}
		if got := bridgetest.Said(t, cs, "only_y", map[string]any{"secret": true}); !strings.Contains(got, "a rule says no") {
			t.Errorf("a denied call: %s", got)
		}
	}
}

func sum(name string) string {
	all := inference.ToolName(core.Native, name)
	return all[len(all)-8:]
}

// What a server asks and tells reaches the one who has called it, and progress of two
// calls with the same token does not mix.
func TestAggregateKeepsClientsApart(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	var both sync.WaitGroup
	both.Add(2)
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, in struct {
		Who string `json:"who"`
	},
	) (*mcp.CallToolResult, any, error) {
		both.Done()
		both.Wait()
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: in.Who})
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: in.Who, RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Who + " " + res.Action}}}, nil, nil
	})
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{hosted(t, "up", s, nil)}}, Options{})
	var wg sync.WaitGroup
	for _, who := range []string{"ann", "bob"} {
		cs := bridgetest.Connected(t, piped(t, a), proto.Legacy, &mcp.ClientOptions{
			ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				if r.Params.Message != who {
					t.Errorf("%s was asked what is %s's", who, r.Params.Message)
				}
				return &mcp.ElicitResult{Action: map[string]string{"ann": "accept", "bob": "decline"}[who]}, nil
			},
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				if r.Params.Message != who {
					t.Errorf("%s was told what is %s's", who, r.Params.Message)
				}
			},
		})
		wg.Go(func() {
			p := &mcp.CallToolParams{Name: "ask", Arguments: map[string]any{"who": who}}
			p.SetProgressToken("same")
			res, err := cs.CallTool(bridgetest.Patient(t), p)
			if err != nil {
				t.Error(err)
				return
			}
			if got, want := res.Content[0].(*mcp.TextContent).Text, map[string]string{"ann": "ann accept", "bob": "bob decline"}[who]; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	wg.Wait()
}

func TestAggregateOfFiveThousandTools(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "big", Version: "1"}, &mcp.ServerOptions{PageSize: 100})
	for i := range 5000 {
		s.AddTool(&mcp.Tool{Name: fmt.Sprintf("t%d", i), InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	}
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{hosted(t, "big", s, nil)}}, Options{})
	cs := bridgetest.Connected(t, piped(t, a), proto.Legacy, nil)
	if n := len(bridgetest.ToolNames(t, cs)); n != 5002 {
		t.Errorf("%d tools", n)
	}
	first, err := cs.ListTools(bridgetest.Patient(t), nil)
	if err != nil || first.NextCursor == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	if _, err := cs.ListTools(bridgetest.Patient(t), nil); err != nil {
		t.Fatal(err)
	}
	other := bridgetest.Connected(t, piped(t, a), proto.Legacy, nil)
	bridgetest.ToolNames(t, other)
	for what, c := range map[string]*mcp.ClientSession{"of an older list": cs, "of another client": other} {
		if _, err := c.ListTools(bridgetest.Patient(t), &mcp.ListToolsParams{Cursor: first.NextCursor}); err == nil || !strings.Contains(err.Error(), "cursor") {
			t.Errorf("a cursor %s: %v", what, err)
		}
	}
}

func TestAggregateOfBadLists(t *testing.T) {
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "bad", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+
		`tools/list {"jsonrpc":"2.0","id":$ID,"result":{"nextCursor":"again","tools":[{"name":"a","inputSchema":null,"x":1.50},{"name":"","inputSchema":{}},{"name":7},{"name":"dup"},{"name":"dup"},{"name":"`+strings.Repeat("n", 300)+`"},null]}}`+"\n")}}}, Options{})
	c := spoken(t, a, "{}")
	c.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	line := bridgetest.Last(c.Until(`"id":1,`))
	var m struct {
		Result struct{ Tools []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Result.Tools) != 4 || string(m.Result.Tools[2]) != `{"name":"a","inputSchema":{"type":"object"},"x":1.50}` {
		t.Errorf("%s, %v", line, err)
	}
}

// A storm of changes is told a few times.
func TestAggregateOfAStorm(t *testing.T) {
	t.Parallel()
	storm := strings.Repeat(`tools/call {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n", 1000)
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "s", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+storm+bridgetest.ToolDone)}}}, Options{})
	c := spoken(t, a, "{}")
	c.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
	lines := c.Until(`"id":1,`)
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "list_changed") }) {
		lines = append(lines, c.Until("list_changed")...) // it may come before the answer or after
	}
	if len(lines) > 20 {
		t.Errorf("%d messages", len(lines))
	}
}

// A server that does not answer keeps nobody waiting, and its tools are told of when
// it does.
func TestAggregateWithAServerThatHangs(t *testing.T) {
	t.Parallel()
	ready := make(chan struct{})
	slow := bridgetest.SmallServer("slow", "late")
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return slow }, nil)
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-ready:
			h.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	defer func() {
		gate.CloseClientConnections()
		gate.Close()
	}()
	a := aggregate(t, upstream.Options{Grace: 100 * time.Millisecond, Servers: []upstream.Server{
		{Name: "silent", Endpoint: plays("silent")},
		{Name: "slow", Endpoint: func(context.Context) (upstream.Endpoint, error) { return upstream.Endpoint{URL: gate.URL}, nil }},
		{Name: "x", Endpoint: plays("sdk")},
	}}, Options{})
	changed := make(chan struct{}, 10)
	cs := bridgetest.Connected(t, piped(t, a), proto.Legacy, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }})
	if got := bridgetest.Said(t, cs, "agent_prompt", map[string]any{}); !strings.HasPrefix(got, "I am") {
		t.Errorf("agent_prompt: %s", got)
	}
	for names := ""; !strings.Contains(names, "echo"); { // it takes a while to start
		names = strings.Join(bridgetest.ToolNames(t, cs), " ")
		if strings.Contains(names, "late") {
			t.Fatalf("too early: %s", names)
		}
		if !strings.Contains(names, "echo") {
			<-changed
		}
	}
	close(ready)
	for names := ""; !strings.Contains(names, "late"); names = strings.Join(bridgetest.ToolNames(t, cs), " ") {
		select {
		case <-changed:
		case <-bridgetest.Patient(t).Done():
			t.Fatal("a late server was not told of")
		}
	}
	if got := bridgetest.Said(t, cs, "late", map[string]any{}); got != "slow's late" {
		t.Errorf("late: %s", got)
	}
}

// A server that ends in the middle of a call says why, and harms no other; a call is
// repeated where the tool says that it may be.
func TestAggregateOfAServerThatDies(t *testing.T) {
	dies := func(annotations string) upstream.Endpoint {
		e, _ := plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool(annotations)+"tools/call exit")(context.Background())
		return e
	}
	var starts atomic.Int32
	again := func(ctx context.Context) (upstream.Endpoint, error) {
		if starts.Add(1) > 1 {
			return plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool(`"readOnlyHint":true`)+bridgetest.ToolDone)(ctx)
		}
		return dies(`"readOnlyHint":true`), nil
	}
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{
		{Name: "once", Endpoint: func(context.Context) (upstream.Endpoint, error) { return dies(""), nil }}, {Name: "again", Endpoint: again}, {Name: "x", Endpoint: plays("sdk")},
	}}, Options{})
	cs := bridgetest.Connected(t, piped(t, a), proto.Legacy, nil)
	bridgetest.ToolNames(t, cs)
	if got := bridgetest.Said(t, cs, "once__t", nil); !strings.Contains(got, "which may have had its effect") || !strings.Contains(got, "fatal: told to exit") {
		t.Errorf("once: %s", got)
	}
	if got := bridgetest.Said(t, cs, "again__t", nil); got != "done" {
		t.Errorf("again: %s", got)
	}
	if got := bridgetest.Said(t, cs, "echo", map[string]any{"text": "x"}); got != `{"text":"xx"}` {
		t.Errorf("echo: %s", got)
	}
}

// What takes too long is given up, and what the client takes back is taken back.
func TestAggregateTakesCallsBack(t *testing.T) {
	t.Parallel()
	const cancelled = `notifications/cancelled {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"it was taken back"}}`
	logs := make(chan string, 1000)
	o := upstream.Options{Servers: []upstream.Server{{Name: "x", Endpoint: plays("sdk"), CallTimeout: 200 * time.Millisecond}, {Name: "y", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+cancelled)}}, Log: func(server, _, text string) { logs <- server + ": " + text }}
	c := spoken(t, aggregate(t, o, Options{}), "{}")
	heard := func(want string) {
		t.Helper()
		for {
			select {
			case got := <-logs:
				if got == want {
					return
				}
			case <-bridgetest.Patient(t).Done():
				t.Fatalf("no %q", want)
			}
		}
	}
	c.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x__wait"}}`)
	if line := bridgetest.Last(c.Until(`"id":1,`)); !strings.Contains(line, "no sign of life") {
		t.Error(line)
	}
	heard("x: the wait was cancelled")
	c.Say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}`)
	c.Say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	c.Until("it was taken back")
	c.Say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if lines := c.Until(`"id":2,`); len(lines) != 1 || !strings.Contains(lines[0], `"result":{}`) {
		t.Errorf("what was taken back is answered: %q", lines)
	}
}

// A server that asks what the client does not offer has its answer at once; what it
// may ask passes as it was written.
func TestAggregatePassesQuestions(t *testing.T) {
	t.Parallel() // its call is never answered, for which the end waits
	script := "SCRIPT=" + bridgetest.Greeting + bridgetest.OneTool("") + `tools/call {"jsonrpc":"2.0","id":"q1","method":"sampling/createMessage","params":{}}
tools/call {"jsonrpc":"2.0","id":2.50,"method":"elicitation/create","params":{"message":"?","x":1.50,"_meta":{"progressToken":"tok"}}}
tools/call {"jsonrpc":"2.0","id":"q3","method":"roots/list"}
tools/call {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q3"}}
tools/call {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":1.50}}}
notifications/progress {"jsonrpc":"2.0","id":$ID,"result":{}}
`
	c := spoken(t, aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "s", Endpoint: plays("script", script)}}}, Options{}), `{"elicitation":{},"roots":{}}`)
	c.Say(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}`)
	lines := strings.Join(append(c.Until("notifications/message"), "\n"), "\n")
	if !strings.Contains(lines, proto.NoteCancelled) { // it may come a little later
		lines += strings.Join(c.Until(proto.NoteCancelled), "\n")
	}
	for _, want := range []string{
		`"method":"elicitation/create","params":{"message":"?","x":1.50,"_meta":{"progressToken":1}}`,
		`"method":"roots/list"`, `"method":"notifications/cancelled"`, `"params":{"level":"info","data":{"a":1.50}}`,
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("%s is missing in\n%s", want, lines)
		}
	}
	if strings.Contains(lines, "sampling") {
		t.Error("the client was asked what it does not offer")
	}
}

// A server of 2026-07-28 asks in its results; a client of the older versions answers
// requests.
func TestAggregateAsksForAModernServer(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer, ok := r.Params.InputResponses["name"].(*mcp.ElicitResult); ok {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(answer.Action, " ", answer.Content["name"], " ", r.Params.RequestState)}}}, nil
		}
		return &mcp.CallToolResult{RequestState: "kept", InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{
			Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		}}}, nil
	})
	h := httptest.NewServer(bridgetest.ModernOnly(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})))
	defer h.Close()
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: func(context.Context) (upstream.Endpoint, error) { return upstream.Endpoint{URL: h.URL}, nil }}}}, Options{})
	for _, version := range bridgetest.Eras {
		cs := bridgetest.Connected(t, piped(t, a), version, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann"}}, nil
		}})
		if got := bridgetest.Said(t, cs, "ask", map[string]any{}); got != "accept ann kept" {
			t.Errorf("%s: %s", version, got)
		}
		cs.Close()
	}
	cs := bridgetest.Connected(t, piped(t, a), proto.Legacy, nil)
	if got := bridgetest.Said(t, cs, "ask", map[string]any{}); !strings.HasPrefix(got, "error: ") {
		t.Errorf("a client that cannot be asked: %s", got)
	}
	cs.Close()
}

// When a client has left nothing of its connection is left.
func TestAggregateLeavesNothing(t *testing.T) {
	a := aggregate(t, upstream.Options{Grace: time.Millisecond, Servers: []upstream.Server{{Name: "silent", Endpoint: plays("silent")}, {Name: "x", Endpoint: plays("sdk")}, {Name: "dead", Endpoint: plays("dies")}}}, Options{})
	before := runtime.NumGoroutine()
	for _, version := range bridgetest.Eras {
		in, w := io.Pipe()
		r, out := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- a.Serve(context.Background(), t.TempDir(), core.Local, in, out) }()
		c := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil)
		cs, err := c.Connect(bridgetest.Patient(t), &mcp.IOTransport{Reader: r, Writer: w}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		bridgetest.ToolNames(t, cs)
		go func() {
			_, _ = cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "wait"}) // it ends with the connection
		}()
		cs.Close()
		w.Close()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-bridgetest.Patient(t).Done():
			t.Fatal("Serve does not return")
		}
		r.Close()
	}
	for end := time.Now().Add(bridgetest.Patience); runtime.NumGoroutine() > before+2; runtime.Gosched() {
		if time.Now().After(end) {
			b := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
	}
}
