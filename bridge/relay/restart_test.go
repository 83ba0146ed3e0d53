package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
)

// starts is a server that is another program at each start.
type starts struct {
	scripts []string // the last one for all later starts
	n       atomic.Int32
}

func (s *starts) endpoint(ctx context.Context) (upstream.Endpoint, error) {
	n := int(s.n.Add(1))
	return plays("script", "SCRIPT="+s.scripts[min(n, len(s.scripts))-1])(ctx)
}

// restarts is a client over a pipe of a relay to a server that is started more than once.
type restarts struct {
	*bridgetest.Raw
	*starts
	in    io.Closer
	ended chan error // what Serve returns
}

func restarting(t *testing.T, o upstream.Options, scripts ...string) *restarts {
	t.Helper()
	r := &restarts{starts: &starts{scripts: scripts}, ended: make(chan error, 1)}
	o.Servers = []upstream.Server{{Name: "up", Endpoint: r.endpoint}}
	if o.FirstPause == 0 {
		o.FirstPause = time.Millisecond
	}
	o.Log = func(_, level, text string) { t.Log(level, text) }
	box := upstream.New(o)
	t.Cleanup(box.Close)
	relay, ok := New(box, "up", nil)
	if !ok {
		t.Fatal("there is no relay")
	}
	down, fromDown := io.Pipe()
	toDown, up := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.ended <- relay.Serve(context.Background(), core.Local, t.TempDir(), down, up)
	}()
	t.Cleanup(func() {
		fromDown.Close()
		toDown.Close()
		<-done
	})
	r.in = fromDown
	r.Raw = bridgetest.NewRaw(t, &mcp.IOTransport{Reader: toDown, Writer: fromDown})
	return r
}

// greets has the client introduce itself.
func (r *restarts) greets() {
	r.Say(hello1)
	r.Until(`"id":1,`)
	r.Say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func callOfT(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, id)
}

const (
	dies    = "tools/call exit\n"
	pinging = `{"jsonrpc":"2.0","id":%d,"method":"ping"}`
	// change is told after a restart.
	change = `"method":"notifications/tools/list_changed"`
)

// A program that ends is started again for its client, which hears nothing of the second
// handshake. The call in the middle of which it ended is answered, and the next one works.
func TestRelayStartsAProgramAgain(t *testing.T) {
	t.Parallel()
	good := bridgetest.Greeting + bridgetest.OneTool("")
	r := restarting(t, upstream.Options{}, good+dies, good+bridgetest.ToolDone)
	r.greets()
	r.Say(callOfT(2))
	if got := r.Next(); !strings.Contains(got, `"id":2,"error"`) || !strings.Contains(got, "ended in the middle of the call, which may have had its effect: the program ended with exit code 4; it said: fatal: told to exit") {
		t.Errorf("the call: %s", got)
	}
	r.Say(callOfT(3)) // while it starts
	lines := r.Until(`"id":3,`)
	if len(lines) != 2 || !strings.Contains(lines[0], change) || !strings.Contains(lines[1], "done") {
		t.Errorf("afterwards: %q", lines)
	}
	r.in.Close()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if n := r.n.Load(); n != 2 {
		t.Errorf("%d starts", n)
	}
}

// A call is repeated if its tool is annotated as read-only or idempotent, once.
func TestRelayRepeatsAHarmlessCall(t *testing.T) {
	t.Parallel()
	for _, hint := range []string{"readOnlyHint", "idempotentHint"} {
		t.Run(hint, func(t *testing.T) {
			t.Parallel()
			good := bridgetest.Greeting + bridgetest.OneTool(`"`+hint+`":true`)
			r := restarting(t, upstream.Options{PinFile: filepath.Join(t.TempDir(), "pins.json")}, good+dies, good+bridgetest.ToolDone+"ping exit\n", good+dies)
			r.greets()
			r.Say(callOfT(2))
			if lines := r.Until(`"id":2,`); !strings.Contains(bridgetest.Last(lines), "done") {
				t.Errorf("the call: %q", lines)
			}
			r.Say(fmt.Sprintf(pinging, 3)) // the next one ends at each call
			r.Say(callOfT(4))
			if got := bridgetest.Last(r.Until(`"id":4,`)); !strings.Contains(got, `"error"`) || !strings.Contains(got, "ended in the middle of the call: ") {
				t.Errorf("a call that always ends it: %s", got)
			}
		})
	}
}

// A server over HTTP that answers 404 to our session gets a new one. The client keeps its own.
func TestRelayBeginsAnewAtAServerThatForgets(t *testing.T) {
	t.Parallel()
	var handler atomic.Pointer[mcp.StreamableHTTPHandler]
	levels := make(chan struct{}, 10)
	anew := func() {
		s := bridgetest.SmallServer("up", "act")
		mcp.AddTool(s, &mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "seen"}}}, nil, nil
		})
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
				if method == proto.MethodSetLevel {
					levels <- struct{}{}
				}
				return next(ctx, method, r)
			}
		})
		handler.Store(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	}
	anew()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.Load().ServeHTTP(w, r) }))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	box := upstream.New(upstream.Options{
		Servers:    []upstream.Server{{Name: "up", Endpoint: at(bridgetest.Place{URL: h.URL})}},
		FirstPause: time.Millisecond, Log: func(_, level, text string) { t.Log(level, text) },
	})
	t.Cleanup(box.Close)
	relay, _ := New(box, "up", nil)
	cs := joined(t, faces["pipe"](t, relay))
	if err := cs.SetLoggingLevel(bridgetest.Patient(t), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil { //nolint:staticcheck // clients that set it live on
		t.Fatal(err)
	}
	if got := bridgetest.ToolNames(t, cs); !slices.Contains(got, "look") {
		t.Fatal(got)
	}
	anew()
	if got := bridgetest.Said(t, cs, "look", map[string]any{}); got != "seen" {
		t.Errorf("what may be repeated: %s", got)
	}
	for range 2 { // by the client, and by us
		select {
		case <-levels:
		case <-bridgetest.Patient(t).Done():
			t.Fatal("its log level was not set")
		}
	}
	anew()
	if got := bridgetest.Said(t, cs, "act", map[string]any{}); !strings.Contains(got, "may have had its effect: the server no longer knows our session") {
		t.Errorf("what may not: %s", got)
	}
	if got := bridgetest.Said(t, cs, "act", map[string]any{}); got != "up's act" {
		t.Errorf("the next call: %s", got)
	}
}

// A call waits for the tools of the next session also if their list is what shows that the session has
// been forgotten.
func TestRelayListsAtAServerThatForgets(t *testing.T) {
	t.Parallel()
	lists := bridgetest.JSONServer(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}`)
	var session atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		m, _ := wire.Parse(b)
		known := fmt.Sprint("session ", session.Load())
		switch {
		case m.Method == proto.MethodInitialize:
			w.Header().Set(proto.HeaderSession, known)
		case r.Header.Get(proto.HeaderSession) != known:
			w.WriteHeader(http.StatusNotFound)
			return
		case m.Method == proto.MethodCallTool: // after each call the tools have to be listed again
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {%s,\"jsonrpc\":\"2.0\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"done\"}\n\n", change, m.ID)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
		lists.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	box := upstream.New(upstream.Options{
		Servers:    []upstream.Server{{Name: "up", Endpoint: at(bridgetest.Place{URL: site.URL})}},
		FirstPause: time.Millisecond, PinFile: filepath.Join(t.TempDir(), "pins.json"), Log: func(_, level, text string) { t.Log(level, text) },
	})
	t.Cleanup(box.Close)
	relay, _ := New(box, "up", nil)
	c := bridgetest.NewRaw(t, faces["pipe"](t, relay).(*mcp.IOTransport))
	c.Say(hello1)
	c.Until(`"id":1,`)
	for id := range 3 {
		c.Say(callOfT(id + 2))
		if got := bridgetest.Last(c.Until(fmt.Sprintf(`"id":%d,`, id+2))); !strings.Contains(got, `"done"`) {
			t.Error(got)
		}
		session.Add(1)
	}
}

// The log level and the subscriptions of the client are those of the next program, too.
func TestRelayTellsANewProgramWhatTheClientHasSet(t *testing.T) {
	t.Parallel()
	heard := func(method, text string) string {
		return method + ` {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + text + `"}}` + "\n"
	}
	answers := func(method string) string { return method + ` {"jsonrpc":"2.0","id":$ID,"result":{}}` + "\n" }
	first := bridgetest.Greeting + answers("logging/setLevel") + answers("resources/subscribe") + answers("resources/unsubscribe")
	r := restarting(t, upstream.Options{}, first+"ping exit\n",
		first+heard("logging/setLevel", "level")+heard("resources/subscribe", "subscribed")+heard("notifications/initialized", "initialized")+answers("ping"))
	r.greets()
	for i, line := range []string{
		`"logging/setLevel","params":{"level":"info"}`, `"resources/subscribe","params":{"uri":"a:1"}`,
		`"resources/subscribe","params":{"uri":"a:2"}`, `"resources/unsubscribe","params":{"uri":"a:1"}`,
	} {
		r.Say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%s}`, 10+i, line))
		r.Until(fmt.Sprintf(`"id":%d,`, 10+i))
	}
	r.Say(fmt.Sprintf(pinging, 20))
	all := strings.Join(r.Until(`"id":20,`), "\n")
	var found []int
	for _, text := range []string{change, `"initialized"`, `"id":1,`, `"data":"level"`, `"data":"subscribed"`} {
		found = append(found, strings.Count(all, text))
	}
	if !slices.Equal(found, []int{1, 1, 0, 1, 1}) || !strings.Contains(all, `"id":20,"result"`) {
		t.Errorf("%v in %s", found, all)
	}
	if strings.Index(all, `"data":"initialized"`) > strings.Index(all, `"data":"level"`) {
		t.Errorf("in another order: %s", all)
	}
}

// The questions of a program that has ended are withdrawn. An answer that comes all the same is not
// taken for that to a question of the next program, which has the same id.
func TestRelayWithdrawsTheQuestionsOfAProgramThatHasEnded(t *testing.T) {
	t.Parallel()
	good := bridgetest.Greeting + bridgetest.OneTool("")
	asks := `tools/call {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"sure?"}}` + "\n"
	heard := `answer {"jsonrpc":"2.0","id":$BEFORE,"result":{"content":[{"type":"text","text":"heard"}]}}` + "\n"
	r := restarting(t, upstream.Options{}, good+asks+dies, good+asks+heard)
	r.greets()
	r.Say(callOfT(2))
	lines := r.Until(`"id":2,`)
	if len(lines) != 3 || !strings.Contains(lines[0], `"id":1,"method":"elicitation/create"`) ||
		!strings.Contains(lines[1], `"notifications/cancelled","params":{"requestId":1,`) || !strings.Contains(lines[2], "may have had its effect") {
		t.Fatalf("%q", lines)
	}
	r.Say(callOfT(3))
	question := bridgetest.Last(r.Until("elicitation/create"))
	if !strings.Contains(question, `"id":"1/1"`) {
		t.Fatalf("the next question: %s", question)
	}
	r.Say(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`) // late
	r.Say(`{"jsonrpc":"2.0","id":"1/1","result":{"action":"accept"}}`)
	if got := r.Next(); !strings.Contains(got, `"id":3,`) || !strings.Contains(got, "heard") {
		t.Errorf("the answer: %s", got)
	}
	r.in.Close()
	if rest, _ := io.ReadAll(r.rest()); len(rest) > 0 {
		t.Errorf("and then %s", rest)
	}
}

// rest reads what is left of the lines.
func (r *restarts) rest() io.Reader {
	var lines []string
	for r.Out.Scan() {
		lines = append(lines, r.Out.Text())
	}
	return strings.NewReader(strings.Join(lines, "\n"))
}

// A program that ends after each handshake is not started for ever. The error names the server
// and says what to do.
func TestRelayGivesUpAProgramThatAlwaysEnds(t *testing.T) {
	t.Parallel()
	r := restarting(t, upstream.Options{}, bridgetest.Greeting+"notifications/initialized exit\n")
	r.greets()
	_, _ = io.ReadAll(r.rest())
	err := <-r.ended
	if err == nil || !strings.Contains(err.Error(), "the MCP server up: the program ended with exit code 4; it said: fatal: told to exit; it has failed too often in a row") ||
		!strings.Contains(err.Error(), "dragoman mcp-servers list") {
		t.Error(err)
	}
	if n := r.n.Load(); n != 6 {
		t.Errorf("%d starts", n)
	}
}

// A program that cannot be started at first ends the relay at once, as does one that never answers.
func TestRelayOfAProgramThatNeverWorked(t *testing.T) {
	t.Parallel()
	missing := relayTo(t, upstream.Server{Name: "up", Endpoint: at(bridgetest.Place{Command: "/no/such/program"})}, nil)
	in, out := io.Pipe()
	if err := missing.Serve(t.Context(), core.Local, t.TempDir(), in, out); err == nil ||
		!strings.Contains(err.Error(), "the MCP server up cannot be started: start /no/such/program") || !strings.Contains(err.Error(), "dragoman mcp-servers list") {
		t.Error(err)
	}
	r := restarting(t, upstream.Options{}, "initialize exit\n")
	r.Say(hello1)
	if got := r.Next(); !strings.Contains(got, `"id":1,"error"`) || !strings.Contains(got, "exit code 4") {
		t.Errorf("initialize: %s", got)
	}
	_, _ = io.ReadAll(r.rest())
	if err := <-r.ended; err == nil || !strings.Contains(err.Error(), "the MCP server up: the program ended with exit code 4") {
		t.Error(err)
	}
	if n := r.n.Load(); n != 1 {
		t.Errorf("%d starts", n)
	}
}

// Requests that wait for a start are answered when it fails, and the version must be what the
// client was told.
func TestRelayRefusesAnotherVersionAfterARestart(t *testing.T) {
	t.Parallel()
	r := restarting(t, upstream.Options{FirstPause: 20 * time.Millisecond}, bridgetest.Greeting+"ping exit\n", strings.ReplaceAll(bridgetest.Greeting, "2025-11-25", "2025-06-18"))
	r.greets()
	r.Say(callOfT(2))
	r.Say(fmt.Sprintf(pinging, 3))
	lines := r.Until(`"id":3,`)
	if all := strings.Join(lines, "\n"); !strings.Contains(all, `the MCP server up does not run: it speaks version \"2025-06-18\" of the protocol now, and the client \"2025-11-25\"`) {
		t.Errorf("%s", all)
	}
	_, _ = io.ReadAll(r.rest())
	if err := <-r.ended; err == nil || !strings.Contains(err.Error(), "the MCP server up: it speaks version") {
		t.Error(err)
	}
}

// A call waits for the tools of the next program, and for no third one if that ends as well.
func TestRelayOfAProgramThatEndsAtItsList(t *testing.T) {
	t.Parallel()
	o := upstream.Options{PinFile: filepath.Join(t.TempDir(), "pins.json")}
	ends := bridgetest.Greeting + "tools/list exit\n"
	r := restarting(t, o, ends, bridgetest.Greeting+bridgetest.OneTool("")+bridgetest.ToolDone+"a/b exit\n", ends, ends, bridgetest.Greeting+bridgetest.OneTool("")+bridgetest.ToolDone)
	r.greets()
	r.Say(callOfT(2))
	if got := bridgetest.Last(r.Until(`"id":2,`)); !strings.Contains(got, "done") {
		t.Errorf("the second has a list: %s", got)
	}
	r.Say(`{"jsonrpc":"2.0","id":3,"method":"a/b"}`)
	r.Until(`"id":3,`)
	r.Say(callOfT(4))
	if got := bridgetest.Last(r.Until(`"id":4,`)); !strings.Contains(got, "did not list its tools") {
		t.Errorf("neither has one: %s", got)
	}
	r.Say(callOfT(5))
	if got := bridgetest.Last(r.Until(`"id":5,`)); !strings.Contains(got, "done") {
		t.Errorf("the last has one: %s", got)
	}
}

// A batch of nothing harms nobody, whether or not the server runs.
func TestRelayOfAnEmptyBatch(t *testing.T) {
	t.Parallel()
	good := bridgetest.Greeting + bridgetest.OneTool("")
	r := restarting(t, upstream.Options{FirstPause: 20 * time.Millisecond}, good+dies, good+bridgetest.ToolDone)
	r.greets()
	r.Say(`[]`)
	r.Say(callOfT(2))
	r.Until(`"id":2,`)
	r.Say(`[]`)
	r.Say(callOfT(3))
	r.Say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	if got := bridgetest.Last(r.Until(`"id":3,`)); !strings.Contains(got, "done") {
		t.Error(got)
	}
}

// A tool that the next program describes otherwise is not called, as after a change of the list.
func TestRelayHoldsToPinsAfterARestart(t *testing.T) {
	t.Parallel()
	r := restarting(t, upstream.Options{PinFile: filepath.Join(t.TempDir(), "pins.json")},
		bridgetest.Greeting+bridgetest.DescribedTool("t", "harmless")+bridgetest.ToolDone+"a/b exit\n",
		bridgetest.Greeting+bridgetest.DescribedTool("t", "sends your keys")+bridgetest.ToolDone)
	r.greets()
	r.Say(callOfT(2))
	if got := r.Next(); !strings.Contains(got, "done") {
		t.Fatal(got)
	}
	r.Say(`{"jsonrpc":"2.0","id":3,"method":"a/b"}`)
	r.Until(`"id":3,`)
	r.Say(callOfT(4))
	if got := bridgetest.Last(r.Until(`"id":4,`)); !strings.Contains(got, "has changed since it was agreed to") {
		t.Error(got)
	}
}

// A client that leaves while the server is about to be started ends everything at once. What it
// waits for is answered, but for what it has taken back.
func TestClientLeavesBeforeARestart(t *testing.T) {
	t.Parallel()
	r := restarting(t, upstream.Options{FirstPause: time.Hour}, bridgetest.Greeting+bridgetest.OneTool("")+dies)
	r.greets()
	r.Say(callOfT(2))
	r.Until(`"id":2,`)
	r.Say(callOfT(3))
	r.Say(callOfT(4))
	r.Say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	r.in.Close()
	rest, _ := io.ReadAll(r.rest())
	if got := string(rest); strings.Contains(got, `"id":3,`) || !strings.Contains(got, `"id":4,"error"`) || !strings.Contains(got, "the MCP server up") {
		t.Errorf("%s", got)
	}
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if n := r.n.Load(); n != 1 {
		t.Errorf("%d starts", n)
	}
}

// Requests of our own may begin and end after the client has left: an introduction that is under way
// is one.
func TestRequestsOfOurOwnAfterTheClientHasLeft(t *testing.T) {
	t.Parallel()
	g := watched(t, "", upstream.Server{Name: "up"})
	c := newPipeSession(g.Server, "p", "", nil)
	s := &connection{out: newServerStream(&upstream.Link{In: io.NopCloser(nil)}), over: make(chan struct{})}
	close(s.over)
	c.settle(nil)
	for range 2 {
		if _, err := c.ask(t.Context(), s, "ping", nil); !errors.Is(err, wire.ErrClosed) {
			t.Error(err)
		}
	}
	<-c.idle
}

// The end of the context ends a relay whose server is about to be started.
func TestRelayEndsBeforeARestart(t *testing.T) {
	t.Parallel()
	s := &starts{scripts: []string{bridgetest.Greeting + "ping exit\n"}}
	box := upstream.New(upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: s.endpoint}}, FirstPause: time.Hour})
	t.Cleanup(box.Close)
	relay, _ := New(box, "up", nil)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- relay.Serve(ctx, core.Local, t.TempDir(), in, out) }()
	r := bridgetest.NewRaw(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer})
	r.Say(hello1)
	r.Next()
	r.Say(fmt.Sprintf(pinging, 2))
	r.Say(fmt.Sprintf(pinging, 3))
	stopped := errors.New("stopped")
	cancel(stopped)
	for r.Out.Scan() {
	}
	if err := <-ended; !errors.Is(err, stopped) {
		t.Error(err)
	}
}

// Requests of 2026-07-28 need no handshake with the next program.
func TestRelayStartsAModernProgramAgain(t *testing.T) {
	t.Parallel()
	tool := bridgetest.OneTool("")
	r := restarting(t, upstream.Options{}, tool+bridgetest.ToolDone+"a/b exit\n", tool+bridgetest.ToolDone)
	meta := bridgetest.ModernMeta("{}", "")
	called := func(id int) string {
		r.Say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t",%s}}`, id, meta))
		return r.Next()
	}
	if got := called(1); !strings.Contains(got, "done") {
		t.Fatal(got)
	}
	r.Say(`{"jsonrpc":"2.0","id":2,"method":"a/b","params":{` + meta + `}}`)
	if got := r.Next(); !strings.Contains(got, `"id":2,"error"`) || !strings.Contains(got, "ended in the middle") {
		t.Error(got)
	}
	if got := called(3); !strings.Contains(got, "done") {
		t.Error(got)
	}
}

// The handshake is repeated as the client made it, also that of the first days.
func TestRelayStartsAnEarlyProgramAgain(t *testing.T) {
	t.Parallel()
	early := `initialize1 {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":1}}` + "\n"
	r := restarting(t, upstream.Options{}, early+"a/b exit\n", early+`a/b {"jsonrpc":"2.0","id":$ID,"result":"c"}`+"\n")
	r.Say(`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":1}}`)
	r.Next()
	r.Say(`{"jsonrpc":"2.0","id":2,"method":"a/b"}`)
	if got := r.Next(); !strings.Contains(got, `"id":2,"error"`) {
		t.Error(got)
	}
	r.Say(`{"jsonrpc":"2.0","id":3,"method":"a/b"}`)
	if got := r.Next(); !strings.Contains(got, `"id":3,"result":"c"`) {
		t.Error(got)
	}
}
