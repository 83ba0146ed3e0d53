package aggregate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
)

// unspoken is a client that writes and reads lines, and has said nothing yet.
func unspoken(t *testing.T, a *Server) *bridgetest.Raw {
	t.Helper()
	tr := piped(t, a).(*mcp.IOTransport)
	return bridgetest.NewRaw(t, tr)
}

// old makes a server know nothing of 2026-07-28.
func old(script string) upstream.Server {
	return upstream.Server{Name: "s", Endpoint: plays("script", "SCRIPT="+`server/discover {"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"Method not found"}}`+"\n"+script)}
}

// At 2026-07-28 nobody asks: what an older server asks comes as the call's result, and
// the call that is made again goes on where the first one was.
func TestAggregateParksCalls(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	var taken atomic.Int32
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		text := ""
		for _, message := range []string{"one", "two"} {
			res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
			if err != nil {
				taken.Add(1)
				return nil, nil, err
			}
			text += message + " " + res.Action + " "
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{hosted(t, "up", s, nil)}}, Options{})
	c := unspoken(t, a)
	n := 0
	call := func(caps, more string) (result struct {
		Type     string `json:"resultType"`
		Requests map[string]struct {
			Method string
			Params struct{ Message string }
		} `json:"inputRequests"`
		State   string `json:"requestState"`
		Content []struct{ Text string }
		IsError bool
	}, fault string,
	) {
		t.Helper()
		n++
		c.Say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask","arguments":{},%s%s}}`, n, bridgetest.ModernMeta(caps, ""), more))
		var m struct {
			Result json.RawMessage
			Error  struct{ Message string }
		}
		line := bridgetest.Last(c.Until(fmt.Sprintf(`"id":%d,`, n)))
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Result != nil {
			if err := json.Unmarshal(m.Result, &result); err != nil {
				t.Fatal(err)
			}
		}
		return result, m.Error.Message
	}
	const caps = `{"elicitation":{}}`
	state := ""
	for _, message := range []string{"one", "two"} {
		more := ""
		if state != "" {
			more = `,"requestState":"` + state + `","inputResponses":{"1":{"action":"accept","content":{}}}`
		}
		r, fault := call(caps, more)
		if r.Type != "input_required" || len(r.Requests) != 1 || fault != "" {
			t.Fatalf("%s: %+v %s", message, r, fault)
		}
		for _, q := range r.Requests {
			if q.Method != "elicitation/create" || q.Params.Message != message {
				t.Errorf("%+v", q)
			}
		}
		state = r.State
	}
	for _, bad := range []string{`"nobody's"`, `"` + state + `x"`} {
		if _, fault := call(caps, `,"requestState":`+bad+`,"inputResponses":{}`); !strings.Contains(fault, "requestState") {
			t.Errorf("a state that was tampered with: %s", fault)
		}
	}
	if _, fault := call(`{"elicitation":{},"roots":{}}`, `,"requestState":"`+state+`","inputResponses":{"2":{"action":"accept"}}`); !strings.Contains(fault, "requestState") {
		t.Errorf("another client's state: %s", fault)
	}
	// Without an answer it is asked again, under another state.
	r, _ := call(caps, `,"requestState":"`+state+`"`)
	if r.Type != "input_required" || r.State == state || r.Requests["2"].Params.Message != "two" {
		t.Fatalf("%+v", r)
	}
	if r, fault := call(caps, `,"requestState":"`+r.State+`","inputResponses":{"2":{"action":"decline"}}`); r.Type != "complete" || r.Content[0].Text != "one accept two decline " {
		t.Errorf("%+v %s", r, fault)
	}
	// A client that cannot be asked is not.
	if r, fault := call(`{}`, ""); !r.IsError && fault == "" {
		t.Errorf("%+v", r)
	}
	if taken.Load() != 1 {
		t.Errorf("%d calls failed", taken.Load())
	}
}

// changing is a server with a resource that changes when a tool is called.
func changing(modern bool) (*mcp.Server, func(http.Handler) http.Handler, *mcp.StreamableHTTPOptions) {
	quiet := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler: quiet, UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	s.AddResource(&mcp.Resource{URI: "up://r", Name: "r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "up://r", Text: "r"}}}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "change"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "up://r"})
	})
	mcp.AddTool(s, &mcp.Tool{Name: "grow"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		mcp.AddTool(s, &mcp.Tool{Name: "grown"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
		return nil, nil, nil
	})
	if modern {
		return s, bridgetest.ModernOnly, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}
	}
	return s, func(h http.Handler) http.Handler { return h }, nil
}

// Whatever the versions of the two, a client is told of what it has subscribed to and
// of lists that change.
func TestAggregateFollowsServers(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		for _, version := range bridgetest.Eras {
			t.Run(fmt.Sprintf("modern=%v/%s", modern, version), func(t *testing.T) {
				s, wrap, o := changing(modern)
				h := httptest.NewServer(wrap(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o)))
				t.Cleanup(func() {
					h.CloseClientConnections()
					h.Close()
				})
				a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: func(context.Context) (upstream.Endpoint, error) { return upstream.Endpoint{URL: h.URL}, nil }}}}, Options{})
				updated, changed := make(chan string, 100), make(chan struct{}, 100)
				cs := bridgetest.Connected(t, piped(t, a), version, &mcp.ClientOptions{
					ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
					ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
				})
				bridgetest.ToolNames(t, cs)
				if err := cs.Subscribe(bridgetest.Patient(t), &mcp.SubscribeParams{URI: "up://r"}); err != nil {
					t.Fatal(err)
				}
				// A subscription at 2026-07-28 is acknowledged by us before the server has it.
				for told := false; !told; {
					bridgetest.Said(t, cs, "change", map[string]any{})
					select {
					case uri := <-updated:
						told = uri == "up://r"
					case <-sleepy(t):
					}
				}
				for told := false; !told; {
					s.RemoveTools("grown")
					bridgetest.Said(t, cs, "grow", map[string]any{})
					select {
					case <-changed:
						told = true
					case <-sleepy(t):
					}
				}
				if err := cs.Unsubscribe(bridgetest.Patient(t), &mcp.UnsubscribeParams{URI: "up://r"}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A client of the early dialect gets the agent as it is.
func TestAggregateLeavesTheEarlyDialectToTheAgent(t *testing.T) {
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "x", Endpoint: plays("dies")}}}, Options{
		Agent: standIn{early: func(in io.ReadCloser, out io.WriteCloser) error {
			b, err := io.ReadAll(in)
			_, _ = out.Write(append([]byte("heard "), b...)) // the test fails else
			out.Close()
			return err
		}},
	})
	in, w := io.Pipe()
	r, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(t.Context(), t.TempDir(), core.Local, in, out) }()
	const said = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"prompts/list"}` + "\n"
	go func() {
		io.WriteString(w, said[:30]) //nolint:errcheck // the test fails else
		io.WriteString(w, said[30:]) //nolint:errcheck // as above
		w.Close()
	}()
	if got, err := io.ReadAll(r); err != nil || string(got) != "heard "+said {
		t.Errorf("%q, %v", got, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A server over HTTP that was restarted has forgotten the session: a new one is begun.
func TestAggregateBeginsAnewAtAServerThatForgets(t *testing.T) {
	var handler atomic.Pointer[mcp.StreamableHTTPHandler]
	anew := func() {
		s := bridgetest.SmallServer("up", "act")
		mcp.AddTool(s, &mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "seen"}}}, nil, nil
		})
		handler.Store(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	}
	anew()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.Load().ServeHTTP(w, r) }))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: func(context.Context) (upstream.Endpoint, error) { return upstream.Endpoint{URL: h.URL}, nil }}}}, Options{})
	cs := bridgetest.Connected(t, piped(t, a), proto.Legacy, nil)
	if got := bridgetest.Said(t, cs, "look", map[string]any{}); got != "seen" {
		t.Fatal(got)
	}
	anew()
	if got := bridgetest.Said(t, cs, "look", map[string]any{}); got != "seen" {
		t.Errorf("what may be repeated: %s", got)
	}
	anew()
	if got := bridgetest.Said(t, cs, "act", map[string]any{}); !strings.Contains(got, "may have had its effect") {
		t.Errorf("what may not: %s", got)
	}
	for got := ""; got != "up's act"; got = bridgetest.Said(t, cs, "act", map[string]any{}) {
		if got != "" && !strings.Contains(got, "does not run") {
			t.Fatal(got)
		}
		<-sleepy(t)
	}
}

// Tools that are not what was pinned are refused in an aggregate too, and what is
// called is kept.
func TestAggregateHoldsToPins(t *testing.T) {
	pins, kept := filepath.Join(t.TempDir(), "pins.json"), make(chan upstream.Audit, 10)
	open := func(description string) *mcp.ClientSession {
		script := bridgetest.Greeting + `tools/list {"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"t","description":"` + description + `","inputSchema":{"type":"object"}}]}}` + "\n" + bridgetest.ToolDone
		a := aggregate(t, upstream.Options{PinFile: pins, Audit: func(a upstream.Audit) { kept <- a }, Servers: []upstream.Server{{Name: "s", Endpoint: plays("script", "SCRIPT="+script)}}}, Options{})
		return bridgetest.Connected(t, piped(t, a), proto.Legacy, nil)
	}
	if got := bridgetest.Said(t, open("good"), "t", nil); got != "done" {
		t.Fatal(got)
	}
	if a := <-kept; a.Server != "s" || a.Tool != "t" || a.Outcome != upstream.OutcomeOK || a.Client != "c 1" || a.Principal != core.Local {
		t.Errorf("%+v", a)
	}
	cs := open("evil")
	list, err := cs.ListTools(bridgetest.Patient(t), nil)
	if err != nil || list.Tools[len(list.Tools)-1].Description != "good" {
		t.Errorf("%+v, %v", list, err)
	}
	if got := bridgetest.Said(t, cs, "t", nil); !strings.Contains(got, "has changed since it was agreed to") {
		t.Error(got)
	}
	if a := <-kept; a.Outcome != upstream.OutcomeRefused {
		t.Errorf("%+v", a)
	}
}

// scripted is a server with pinned tools that plays another script at each start.
func scripted(t *testing.T, scripts ...string) *Server {
	t.Helper()
	var n atomic.Int32
	return aggregate(t, upstream.Options{
		PinFile: filepath.Join(t.TempDir(), "pins.json"), FirstPause: time.Millisecond,
		Servers: []upstream.Server{{Name: "s", Endpoint: func(ctx context.Context) (upstream.Endpoint, error) {
			return plays("script", "SCRIPT="+scripts[min(int(n.Add(1)), len(scripts))-1])(ctx)
		}}},
	}, Options{})
}

// A call that is repeated to another program is held to the tools of that program.
func TestAggregateHoldsTheNextProgramToPins(t *testing.T) {
	t.Parallel()
	cs := bridgetest.Connected(t, piped(t, scripted(t,
		bridgetest.Greeting+bridgetest.OneTool(`"readOnlyHint":true`)+"tools/call exit\n",
		bridgetest.Greeting+bridgetest.DescribedTool("t", "evil")+bridgetest.ToolDone,
	)), proto.Legacy, nil)
	if got := bridgetest.Said(t, cs, "t", nil); !strings.Contains(got, "has changed since it was agreed to") {
		t.Error(got)
	}
}

// A call is not judged by a list that was requested before a change that was announced before the
// call, even if the list came after it.
func TestAggregateDoesNotTrustALateList(t *testing.T) {
	t.Parallel()
	c := spoken(t, scripted(t, bridgetest.Greeting+
		`tools/list {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n"+bridgetest.OneTool("")+
		strings.Replace(bridgetest.DescribedTool("t", "evil"), "tools/list", "tools/list#2", 1)+bridgetest.ToolDone), "{}")
	c.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	c.Until(`"id":1,`)
	c.Say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}`)
	if got := bridgetest.Last(c.Until(`"id":2,`)); !strings.Contains(got, "has changed since it was agreed to") {
		t.Error(got)
	}
}

// Calls that come at once wait for a list, and none is refused because others wait for it. In the
// first round nothing is known of the tools, in the second one they have changed.
func TestAggregateJudgesCallsThatComeAtOnce(t *testing.T) {
	t.Parallel()
	const calls = 20
	done := strings.TrimPrefix(bridgetest.ToolDone, "tools/call ")
	last := fmt.Sprintf("tools/call#%d ", calls)
	c := spoken(t, scripted(t, bridgetest.Greeting+bridgetest.OneTool("")+bridgetest.ToolDone+
		last+`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n"+last+done), "{}")
	for round := range 2 {
		for i := range calls {
			c.Say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, i))
		}
		for range calls {
			if got := bridgetest.Last(c.Until(`"id":`)); !strings.Contains(got, `"done"`) {
				t.Errorf("round %d: %s", round, got)
			}
		}
	}
}

// What goes round in a circle ends, and each gateway says that it was there.
func TestAggregateEndsCircles(t *testing.T) {
	script := bridgetest.Greeting + bridgetest.OneTool("") + `tools/call {"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"called"}]}}` + "\n"
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "s", Endpoint: plays("script", "SCRIPT="+script)}}}, Options{})
	c := spoken(t, a, "{}")
	for hops, want := range []string{"called", "called", "called", "called", "circle", "circle"} {
		c.Say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","_meta":{"dragoman/hops":%d}}}`, hops+1, hops))
		if line := bridgetest.Last(c.Until(fmt.Sprintf(`"id":%d,`, hops+1))); !strings.Contains(line, want) {
			t.Errorf("%d hops: %s", hops, line)
		}
	}
	far := unspoken(t, a)
	far.Say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"g","version":"1"},"_meta":{"dragoman/hops":4}}}`)
	far.Until(`"id":1,`)
	far.Say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	far.Say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if line := bridgetest.Last(far.Until(`"id":2,`)); strings.Contains(line, `"name":"t"`) || !strings.Contains(line, "agent_prompt") {
		t.Errorf("a gateway that is far away: %s", line)
	}
}

// Log messages pass at the level that was asked for, in either way of asking.
func TestAggregateLogLevels(t *testing.T) {
	script := `initialize {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"script","version":"1"}}}
` + bridgetest.OneTool("") +
		`logging/setLevel {"jsonrpc":"2.0","id":$ID,"result":{}}
logging/setLevel {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"it was told"}}
tools/call {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"it says"}}
` + bridgetest.ToolDone
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{old(script)}}, Options{})
	c := spoken(t, a, "{}")
	c.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	c.Until(`"id":1,`)
	c.Say(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"warning"}}`)
	c.Until("it was told")

	m := unspoken(t, a)
	m.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + bridgetest.ModernMeta("{}", "") + `}}`)
	if lines := strings.Join(m.Until(`"id":1,`), ""); strings.Contains(lines, "it says") || !strings.Contains(lines, `"resultType":"complete"`) {
		t.Errorf("nobody has asked for that: %s", lines)
	}
	m.Say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t",` + bridgetest.ModernMeta("{}", `,"io.modelcontextprotocol/logLevel":"info"`) + `}}`)
	if lines := strings.Join(m.Until(`"id":2,`), ""); !strings.Contains(lines, "it says") {
		t.Errorf("it was asked for: %s", lines)
	}
}

// A log level is with the servers when the client gets its answer: a call might come first otherwise.
func TestLogLevelsComeBeforeCalls(t *testing.T) {
	t.Parallel()
	script := `initialize {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"script","version":"1"}}}
` + bridgetest.OneTool("") +
		`logging/setLevel {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"it was told"}}
logging/setLevel {"jsonrpc":"2.0","method":"ping","id":"p"}
answer {"jsonrpc":"2.0","id":$BEFORE,"result":{}}
`
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{old(script)}}, Options{})
	c := spoken(t, a, "{}")
	c.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	c.Until(`"id":1,`)
	c.Say(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`)
	if lines := strings.Join(c.Until(`"id":2,`), ""); !strings.Contains(lines, "it was told") {
		t.Errorf("answered before the server had the level: %s", lines)
	}
}

// The tasks of 2025-11-25 are their server's, also for a client that knows one from
// before.
func TestAggregateRelaysTasks(t *testing.T) {
	script := `initialize {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"script","version":"1"}}}
` + bridgetest.OneTool("") + `tools/call {"jsonrpc":"2.0","id":$ID,"result":{"task":{"taskId":"T1","status":"working"}}}
tools/call {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"T1","status":"completed"}}
tasks/get {"jsonrpc":"2.0","id":$ID,"result":{"taskId":"T1","status":"completed"}}
tasks/result {"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"the result"}]}}
tasks/list {"jsonrpc":"2.0","id":$ID,"result":{"tasks":[{"taskId":"T1","status":"completed"}]}}
`
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "s", Endpoint: plays("script", "SCRIPT="+script)}, {Name: "x", Endpoint: plays("sdk")}}}, Options{})
	c := unspoken(t, a)
	c.Say(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	if line := bridgetest.Last(c.Until(`"id":"hello"`)); !strings.Contains(line, `"tasks":{"list":{}`) {
		t.Errorf("not declared: %s", line)
	}
	for i, test := range []struct{ method, params, want string }{
		{"tools/list", `{}`, `"name":"t"`},
		{"tools/call", `{"name":"t","task":{"ttl":1.50}}`, `"taskId":"T1"`},
		{"tasks/result", `{"taskId":"T1"}`, "the result"},
		{"tasks/list", `{}`, `{"tasks":[{"taskId":"T1","status":"completed"}]}`},
	} {
		c.Say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, test.method, test.params))
		if line := bridgetest.Last(c.Until(fmt.Sprintf(`"id":%d,`, i))); !strings.Contains(line, test.want) {
			t.Errorf("%s: %s", test.method, line)
		}
	}
	later := spoken(t, a, "{}")
	later.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	later.Until(`"id":1,`)
	later.Say(`{"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"T1"}}`)
	if line := bridgetest.Last(later.Until(`"id":2,`)); !strings.Contains(line, "the result") {
		t.Errorf("from before: %s", line)
	}
}

// If tasks are declared, an unknown task is a wrong parameter, and not an unknown
// method: whether no server has tasks, or one that has them does not know it either.
func TestAggregateWithoutTheTask(t *testing.T) {
	t.Parallel()
	unknown := `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"never heard of it"}}` + "\n"
	for kind, server := range map[string]upstream.Server{
		"without": {Name: "x", Endpoint: plays("sdk")},
		"with": {Name: "x", Endpoint: plays("script", "SCRIPT="+strings.Replace(bridgetest.Greeting, `"tools":{`, `"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}},"tools":{`, 1)+
			bridgetest.OneTool("")+"tasks/get "+unknown+"tasks/result "+unknown+"tasks/cancel "+unknown)},
	} {
		for way, c := range speakers(t, "{}", server) {
			i := 0
			for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
				for params, want := range map[string]string{
					`null`:              "the parameter taskId is missing",
					`{}`:                "the parameter taskId is missing",
					`{"taskId":null}`:   "the parameter taskId is missing",
					`{"taskId":"gone"}`: `there is no task \"gone\"`,
				} {
					i++
					c.Say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, params))
					if line := bridgetest.Last(c.Until(fmt.Sprintf(`"id":%d,`, i))); !strings.Contains(line, `"code":-32602`) || !strings.Contains(line, want) {
						t.Errorf("%s, %s: %s %s: %s", kind, way, method, params, line)
					}
				}
			}
			c.Say(`{"jsonrpc":"2.0","id":"update","method":"tasks/update","params":{"taskId":"gone"}}`)
			if line := bridgetest.Last(c.Until(`"id":"update"`)); !strings.Contains(line, `"code":-32601`) {
				t.Errorf("%s, %s: a method of a later version: %s", kind, way, line)
			}
		}
	}
}

// What the configuration has not any more cannot be called.
func TestAggregateLeavesOldServersAlone(t *testing.T) {
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "s", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+bridgetest.ToolDone)}}}, Options{})
	cs := bridgetest.Connected(t, piped(t, a), proto.Legacy, nil)
	if got := bridgetest.Said(t, cs, "t", nil); got != "done" {
		t.Fatal(got)
	}
	a.box.Set(nil)
	if got := bridgetest.Said(t, cs, "t", nil); !strings.Contains(got, "the configuration has changed") {
		t.Error(got)
	}
}
