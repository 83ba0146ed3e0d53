package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/child"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

func TestCallsOverEveryTransport(t *testing.T) {
	for name, server := range ways(t) {
		t.Run(name, func(t *testing.T) {
			h := &host{}
			_, s := open(t, h, Options{Servers: []Server{server}})
			tool := toolOf(t, s, "echo")
			spec := tool.Spec()
			if spec.Server != "up" || spec.Title != "Echo" || spec.Description != "says it again" || !spec.ReadOnly || !json.Valid(spec.Schema) {
				t.Errorf("spec: %+v", spec)
			}
			res, err := call(t, tool, `{"text":"né"}`)
			if err != nil || res.Failed || text(res) != `{"text":"nénné"}` && text(res) != `{"text":"néné"}` || string(res.Structured) != `{"text":"néné"}` {
				t.Errorf("echo: %+v, %v", res, err)
			}
			if !strings.Contains(string(res.Raw), `"structuredContent"`) {
				t.Errorf("raw: %s", res.Raw)
			}
			res, err = call(t, toolOf(t, s, "fail"), `{}`)
			if err != nil || !res.Failed || text(res) != "it does not work" {
				t.Errorf("fail: %+v, %v", res, err)
			}
			if name == "httpJSON" { // such a server cannot send its own messages in between
				return
			}
			var shown sync.Mutex
			var out strings.Builder
			_, err = toolOf(t, s, "steps").Run(bridgetest.Patient(t), core.Invocation{Args: json.RawMessage(`{}`), Output: func(s string) {
				shown.Lock()
				defer shown.Unlock()
				out.WriteString(s)
			}})
			if err != nil || !strings.HasSuffix(out.String(), "3/3 step\n") {
				t.Errorf("steps: %q, %v", out.String(), err)
			}
		})
	}
}

// A server's questions about the session reach the session, and the answers reach the server.
func TestServersAskTheSession(t *testing.T) {
	for name, server := range ways(t) {
		if name == "httpJSON" || name == "http2026" {
			continue // the server cannot ask there, or has other words for it
		}
		t.Run(name, func(t *testing.T) {
			var asked []core.Ask
			answers := []core.Reply{
				{Outcome: core.OutcomeAnswered, Option: "choice-1"},
				{Outcome: core.OutcomeAnswered, Text: "12"},
				{Outcome: core.OutcomeAnswered, Text: " 42 "},
				{Outcome: core.OutcomeAnswered, Option: "default"},
			}
			h := &host{meta: core.Meta{Cwd: t.TempDir(), Roots: []string{"/a b", "/c"}}, ask: func(a core.Ask) core.Reply {
				asked = append(asked, a)
				if len(asked) > len(answers) {
					return core.Reply{Outcome: core.OutcomeDeclined}
				}
				return answers[len(asked)-1]
			}}
			_, s := open(t, h, Options{Servers: []Server{server}})
			res, err := call(t, toolOf(t, s, "roots"), `{}`)
			if err != nil || !strings.Contains(text(res), `"uri":"file:///a%20b"`) || !strings.Contains(text(res), `"uri":"file:///c"`) {
				t.Errorf("roots: %+v, %v", res, err)
			}
			res, err = call(t, toolOf(t, s, "ask"), `{}`)
			if err != nil || !strings.Contains(text(res), `"action":"accept"`) {
				t.Fatalf("ask: %+v, %v", res, err)
			}
			for _, part := range []string{`"name":"bob"`, `"age":42`, `"sure":true`} {
				if !strings.Contains(text(res), part) {
					t.Errorf("ask: %s, want %s", text(res), part)
				}
			}
			if len(asked) != 4 || !strings.HasPrefix(asked[0].Text, "The MCP server up asks: Who?") || !strings.Contains(asked[2].Text, "at least 18") {
				t.Errorf("asked: %+v", asked)
			}
			if res, err = call(t, toolOf(t, s, "ask"), `{}`); err != nil || !strings.Contains(text(res), `"action":"decline"`) {
				t.Errorf("declined: %+v, %v", res, err)
			}
			h.ask = nil
			if res, err = call(t, toolOf(t, s, "ask"), `{}`); err != nil || !strings.Contains(text(res), `"action":"cancel"`) {
				t.Errorf("nobody there: %+v, %v", res, err)
			}
			if res, err = call(t, toolOf(t, s, "sample"), `{}`); err != nil || !res.Failed {
				t.Errorf("sampling without a model: %+v, %v", res, err)
			}
		})
	}
}

// A server may ask the session's model if the user agrees to the exact request, and not
// otherwise.
func TestServersAskTheModel(t *testing.T) {
	t.Parallel()
	for name, server := range ways(t) {
		if name == "httpJSON" {
			continue // the server cannot ask there
		}
		tool := "sample"
		if name == "http2026" {
			tool = "sampleAgain"
		}
		t.Run(name, func(t *testing.T) {
			var asked []core.Ask
			reply := core.Reply{Outcome: core.OutcomeAnswered, Option: optionYes}
			four := coretest.Answer{Stop: core.StopTokens}.Think("hm").Say("fo", "ur")
			script := coretest.NewScript(four, coretest.Answer{Err: errors.New("no net")})
			h := &host{meta: core.Meta{ID: "s1"}, model: script, ask: func(a core.Ask) core.Reply {
				asked = append(asked, a)
				return reply
			}}
			_, s := open(t, h, Options{Servers: []Server{server}})
			res, err := call(t, toolOf(t, s, tool), `{}`)
			if err != nil || res.Failed || !strings.Contains(text(res), "four") || strings.Contains(text(res), "hm") {
				t.Fatalf("agreed: %+v, %v", res, err)
			}
			r := script.Requests()[0]
			if r.Session != "s1" || r.MaxOut != 10 || len(r.Messages) != 1 || len(r.Tools) != 0 {
				t.Errorf("the request: %+v", r)
			}
			if a := asked[0]; a.Kind != core.AskConsent || !strings.Contains(a.Text, "server up wants to ask the model script/model") || !strings.HasSuffix(a.Text, "user: 2+2?") {
				t.Errorf("asked: %+v", a)
			}
			if tool == "sampleAgain" && !strings.Contains(asked[0].Text, "instructions: Be short.") {
				t.Errorf("asked: %+v", asked[0])
			}
			if res, err = call(t, toolOf(t, s, tool), `{}`); tool == "sample" && (err != nil || !res.Failed || !strings.Contains(text(res), "no net")) {
				t.Errorf("a model that fails: %+v, %v", res, err)
			}
			for _, reply = range []core.Reply{
				{Outcome: core.OutcomeAnswered, Option: optionNo},
				{Outcome: core.OutcomeDeclined},
				{Outcome: core.OutcomeAlone},
				{Outcome: core.OutcomeExpired},
				{Outcome: core.OutcomeAnswered, Text: "yes"},
				{},
			} {
				n := len(script.Requests())
				if res, err = call(t, toolOf(t, s, tool), `{}`); err == nil && !res.Failed || len(script.Requests()) != n {
					t.Errorf("%+v: %+v, %v", reply, res, err)
				}
			}
			h.model = &coretest.Script{Is: inference.ModelInfo{ID: "offline/demo", Offline: true}}
			n := len(asked)
			if res, err = call(t, toolOf(t, s, tool), `{}`); err == nil && !res.Failed || len(asked) != n {
				t.Errorf("no language model: %+v, %v", res, err)
			}
		})
	}
}

// Sampling is declared without tools, and a server that sends tools all the same is refused,
// without the user being asked.
func TestSamplingWithToolsIsNeitherDeclaredNorDone(t *testing.T) {
	script := bridgetest.Greeting + bridgetest.OneTool("") +
		`tools/call {"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"tools":[{"name":"x","inputSchema":{"type":"object"}}]}}` + "\n" +
		`answer {"jsonrpc":"2.0","id":$BEFORE,"result":{"content":[],"structuredContent":$ERROR}}` + "\n"
	h := &host{model: coretest.NewScript(), ask: func(a core.Ask) core.Reply {
		t.Errorf("asked: %s", a.Text)
		return core.Reply{Outcome: core.OutcomeDeclined}
	}}
	_, s := open(t, h, Options{Servers: []Server{{Name: "x", Endpoint: plays("script", "SCRIPT="+script)}}})
	res, err := call(t, toolOf(t, s, "t"), `{}`)
	if err != nil || !strings.Contains(string(res.Structured), "-32602") || !strings.Contains(string(res.Structured), "sampling with tools is not offered") {
		t.Errorf("%s, %v", res.Structured, err)
	}
	var caps struct{ Sampling map[string]any }
	if err := json.Unmarshal(s.(*set).ups[0].capabilities(true), &caps); err != nil || caps.Sampling == nil || len(caps.Sampling) > 0 {
		t.Errorf("declared: %v, %v", caps.Sampling, err)
	}
}

// The user sees the whole request for consent, in order, with a note on omissions.
func TestSamplingIsShown(t *testing.T) {
	var s sampleRequest
	err := json.Unmarshal([]byte(`{"systemPrompt":"Do\u200b this.","messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","data":"AA==","mimeType":"image/png"}]},{"role":"assistant","content":{"type":"text","text":"`+strings.Repeat("ä", maxShown)+`"}}]}`), &s)
	if err != nil {
		t.Fatal(err)
	}
	got := s.shown()
	if !strings.HasPrefix(got, "instructions: Do this.\nuser: look\nuser: (image)\nassistant: ää") || !strings.HasSuffix(got, "bytes more)") || len(got) > maxShown+100 {
		t.Errorf("%.200s … %s", got, got[len(got)-40:])
	}
}

// A cancelled call is withdrawn, and the connection continues.
func TestCancelReachesTheServer(t *testing.T) {
	for name, server := range ways(t) {
		t.Run(name, func(t *testing.T) {
			_, s := open(t, &host{}, Options{Servers: []Server{server}})
			tool := toolOf(t, s, "wait")
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error)
			go func() {
				_, err := tool.Run(ctx, core.Invocation{Args: json.RawMessage(`{}`)})
				done <- err
			}()
			cancel(core.ErrCanceled)
			if err := <-done; !errors.Is(err, core.ErrCanceled) {
				t.Errorf("wait: %v", err)
			}
			if res, err := call(t, toolOf(t, s, "echo"), `{"text":"x"}`); err != nil || res.Failed {
				t.Errorf("after: %+v, %v", res, err)
			}
		})
	}
}

func TestListIsReadAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stdio", "http", "sse"} {
		t.Run(name, func(t *testing.T) {
			grows(t, ways(t)[name], func() {})
		})
	}
}

// grows has a server add 20 tools to its list, and waits until a session has them. grown is
// called in between.
func grows(t *testing.T, server Server, grown func()) {
	t.Helper()
	_, s := open(t, &host{}, Options{Servers: []Server{server}})
	before, err := listed(bridgetest.Patient(t), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, toolOf(t, s, "grow"), `{}`); err != nil {
		t.Fatal(err)
	}
	grown()
	within := bridgetest.Patient(t)
	for after := before; len(after) != len(before)+20; { // its start may be announced twice
		select {
		case <-s.Changed():
		case <-within.Done():
			t.Fatalf("%d tools, then %d", len(before), len(after))
		}
		if after, err = listed(within, s); err != nil {
			t.Fatal(err)
		}
	}
}

// A change before the server can announce it is seen once it can: its stream of notifications
// opens after the first list has been read.
func TestChangeBeforeNotifications(t *testing.T) {
	sdk := bridgetest.SDKServer()
	get := func(*http.Request) *mcp.Server { return sdk }
	for name, h := range map[string]http.Handler{
		"2025": mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return bridgetest.SDKServer() }, nil),
		"2026": bridgetest.ModernOnly(mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			grown := make(chan struct{})
			late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == proto.MethodListen {
					<-grown
				}
				h.ServeHTTP(w, r)
			}))
			t.Cleanup(func() {
				late.CloseClientConnections()
				late.Close()
			})
			server := Server{Name: "up", Endpoint: func(context.Context) (Endpoint, error) { return Endpoint{URL: late.URL}, nil }}
			grows(t, server, func() { close(grown) })
		})
	}
}

func TestServerGetsNoSecrets(t *testing.T) {
	_, s := open(t, &host{}, Options{
		Environ: []string{"PATH=" + child.Lookup(environ(), "PATH"), "HOME=/h", "OPENAI_API_KEY=canary", "SSH_AUTH_SOCK=/canary", "LC_ALL=C"},
		Servers: []Server{{Name: "up", Endpoint: plays("sdk", "GIVEN=yes")}},
	})
	res, err := call(t, toolOf(t, s, "env"), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Split(text(res), "\n")
	for _, want := range []string{"HOME=/h", "GIVEN=yes", "LC_ALL=C"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in %q", want, env)
		}
	}
	if strings.Contains(text(res), "canary") {
		t.Errorf("a secret was handed on: %q", env)
	}
}

// One server that does not start, or never answers, delays no other.
func TestOneBadServerDelaysNoOther(t *testing.T) {
	h := &host{board: board.New()}
	b, s := open(t, h, Options{Grace: 20e9, Servers: []Server{
		{Name: "dies", Endpoint: plays("dies")},
		{Name: "none", Endpoint: func(context.Context) (Endpoint, error) { return Endpoint{Command: "no-such-program"}, nil }},
		{Name: "off", Disabled: true, Endpoint: plays("sdk")},
		{Name: "misset", Endpoint: func(context.Context) (Endpoint, error) {
			return Endpoint{}, errors.New("config.yaml:3:4: TOKEN is not set")
		}},
		{Name: "up", Endpoint: plays("sdk")},
	}})
	_ = b
	toolOf(t, s, "echo")
	for _, want := range []struct{ name, status, why string }{
		{"dies", "failed", "exit code 3; it said: cannot find the license file"},
		{"none", "failed", "there is no such program in PATH"},
		{"off", "disabled", ""},
		{"misset", "failed", "config.yaml:3:4: TOKEN is not set"},
		{"up", "running", ""},
	} {
		item := awaitStatus(t, h.board, want.name, want.status)
		if !strings.Contains(item.Why, want.why) {
			t.Errorf("%s: why %q, want %q", want.name, item.Why, want.why)
		}
		if (want.name == "up") != (len(item.Tools) > 0) {
			t.Errorf("%s has %d tools", want.name, len(item.Tools))
		}
	}
}

// awaitStatus waits until the board shows this status of a server.
func awaitStatus(t *testing.T, b *board.Board, server, status string) board.Server {
	t.Helper()
	return awaitItem(t, b, server, status, func(item board.Server) bool { return item.Status == status })
}

// awaitItem waits until the board shows a given state of a server.
func awaitItem(t *testing.T, b *board.Board, server, what string, so func(board.Server) bool) board.Server {
	t.Helper()
	ctx := bridgetest.Patient(t)
	var last board.Server
	for since := uint64(0); ; {
		posts, rev, err := b.Next(ctx, since)
		if err != nil {
			t.Fatalf("%s never was %s, but %s: %s", server, what, last.Status, last.Why)
		}
		since = rev
		for _, p := range posts {
			if item, ok := p.Item.(board.Server); ok && item.Name == server {
				if last = item; so(item) {
					return item
				}
			}
		}
	}
}

func TestServerIsStartedAgain(t *testing.T) {
	h := &host{board: board.New()}
	_, s := open(t, h, Options{Servers: []Server{{Name: "up", Endpoint: plays("sdk")}}})
	_, err := call(t, toolOf(t, s, "die"), `{}`)
	if err == nil || !strings.Contains(err.Error(), "in the middle of the call, which may have had its effect") || !strings.Contains(err.Error(), "out of cheese") {
		t.Errorf("die: %v", err)
	}
	awaitStatus(t, h.board, "up", "running")
	for {
		res, err := call(t, toolOf(t, s, "echo"), `{"text":"x"}`)
		if _, down := errors.AsType[*DownError](err); down {
			continue // the pause is not over
		}
		if err != nil || res.Failed {
			t.Errorf("after: %+v, %v", res, err)
		}
		break
	}
}

func TestOnlyHarmlessCallsAreRepeated(t *testing.T) {
	for annotations, want := range map[string]string{
		``:                      "which may have had its effect",
		`"readOnlyHint":true`:   "in the middle of the call, twice",
		`"idempotentHint":true`: "in the middle of the call, twice",
	} {
		_, s := open(t, &host{}, Options{Servers: []Server{{Name: "x", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool(annotations)+"tools/call exit")}}})
		_, err := call(t, toolOf(t, s, "t"), `{}`)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "told to exit") {
			t.Errorf("{%s}: %v, want %q", annotations, err, want)
		}
	}
}

func TestListsAreKnownInLaterSessions(t *testing.T) {
	h := &host{board: board.New(), meta: core.Meta{Cwd: t.TempDir()}}
	b, s := open(t, h, Options{Servers: []Server{{Name: "up", Endpoint: plays("sdk")}}})
	first, err := listed(bridgetest.Patient(t), s)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	list, err := listed(bridgetest.Patient(t), second)
	if err != nil || len(list) != len(first) {
		t.Fatalf("%d tools, %v", len(list), err)
	}
	if status, _, _ := second.(*set).ups[0].state(); status != statusStopped {
		t.Errorf("the second session's server is %s before anybody called it", status)
	}
	if res, err := call(t, toolOf(t, second, "echo"), `{"text":"x"}`); err != nil || res.Failed {
		t.Errorf("echo: %+v, %v", res, err)
	}
}

// A server that a client brings along is started after the user has agreed, once; it ends when
// the client leaves.
func TestClientsBringServers(t *testing.T) {
	e, err := plays("sdk")(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spec := core.ServerSpec{Name: "mine", Command: e.Command, Env: []string{bridgetest.PlayVar + "=sdk"}}
	asked, answer := 0, "no"
	h := &host{meta: core.Meta{Cwd: t.TempDir()}, servers: []core.ServerSpec{spec, {Name: "up", Command: "no-such-program"}}}
	h.ask = func(a core.Ask) core.Reply {
		if asked++; !strings.Contains(a.Text, "wants to start the MCP server mine, which is the program: "+e.Command) {
			t.Errorf("asked: %s", a.Text)
		}
		return core.Reply{Outcome: core.OutcomeAnswered, Option: answer}
	}
	b, s := open(t, h, Options{Servers: []Server{{Name: "up", Endpoint: plays("sdk")}}})
	count := func(s core.Toolset) (n int) {
		t.Helper()
		list, err := listed(bridgetest.Patient(t), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list {
			if tool.Spec().Server == "mine" {
				n++
			}
		}
		if len(list) == n {
			t.Error("the user's own server is gone")
		}
		return n
	}
	again, err := b.Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if n := count(s) + count(again); n > 0 || asked != 1 {
		t.Errorf("%d tools of a server that was refused, asked %d times", n, asked)
	}
	h.servers[0].Args, answer = []string{"-other"}, "start"
	if count(s) == 0 || count(again) == 0 || asked != 2 {
		t.Errorf("another command line: asked %d times", asked)
	}
	elsewhere := &host{meta: core.Meta{Cwd: t.TempDir()}, servers: h.servers, ask: h.ask}
	other, err := b.Open(t.Context(), elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if count(other) == 0 || asked != 3 {
		t.Errorf("in another folder, where the words may mean another program: asked %d times", asked)
	}
	h.servers = nil
	if n := count(s); n > 0 {
		t.Errorf("%d tools of a server whose client has left", n)
	}
}

// No process asks again about a permanent agreement, as long as it is the same program in the
// same folder.
func TestPermanentAgreement(t *testing.T) {
	e, err := plays("sdk")(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "data", "agreed.json")
	spec := core.ServerSpec{Name: "mine", Command: e.Command, Env: []string{bridgetest.PlayVar + "=sdk", "KEY=hunter2"}}
	asked, answer := 0, "always"
	h := &host{meta: core.Meta{Cwd: t.TempDir()}, servers: []core.ServerSpec{spec}}
	h.ask = func(a core.Ask) core.Reply {
		asked++
		return core.Reply{Outcome: core.OutcomeAnswered, Option: answer}
	}
	tools := func() int {
		t.Helper()
		_, s := open(t, h, Options{AgreedFile: file})
		list, err := listed(bridgetest.Patient(t), s)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if n := tools() * tools(); n == 0 || asked != 1 {
		t.Errorf("%d tools, asked %d times", n, asked)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), `"server": "mine"`) {
		t.Errorf("it keeps %s, %v", text, err)
	}
	answer = "no"
	h.servers[0].Env = []string{bridgetest.PlayVar + "=sdk", "NODE_OPTIONS=--require=./x"}
	if n := tools(); n != 0 || asked != 2 {
		t.Errorf("in another environment: %d tools, asked %d times", n, asked)
	}
	h.servers = []core.ServerSpec{spec}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := tools(); n != 0 || asked != 3 {
		t.Errorf("with a file that cannot be read: %d tools, asked %d times", n, asked)
	}
}

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		allow, deny string
		tool        string
		want        bool
	}{
		{"", "", "x", true},
		{"a*", "", "abc", true},
		{"a*", "", "xabc", false},
		{"", "*_delete", "file_delete", false},
		{"*", "get", "get", false},
		{"a*c*e", "", "abcde", true},
		{"a*c*e", "", "abde", false},
		{"*", "", "", true},
		{"ab", "", "abc", false},
	} {
		s := Server{}
		if c.allow != "" {
			s.Allow = []string{c.allow}
		}
		if c.deny != "" {
			s.Deny = []string{c.deny}
		}
		if got := s.offers(c.tool); got != c.want {
			t.Errorf("allow %q, deny %q: %q %v", c.allow, c.deny, c.tool, got)
		}
	}
}

// A client's server with the name of our own tools does not start, and the user gets advice.
func TestClientsServerCalledNative(t *testing.T) {
	h := &host{meta: core.Meta{Cwd: t.TempDir()}, board: board.New(), servers: []core.ServerSpec{{Name: core.Native, Command: "no-such-program"}}}
	_, s := open(t, h, Options{Servers: []Server{{Name: "up", Endpoint: plays("sdk")}}})
	if _, err := listed(bridgetest.Patient(t), s); err != nil {
		t.Fatal(err)
	}
	item := awaitStatus(t, h.board, "native (the client's)", "failed")
	if want := `the name "native" is that of dragoman's own tools: give the server another one`; item.Why != want {
		t.Errorf("why %q, want %q", item.Why, want)
	}
	h.servers = append(slices.Clone(h.servers), core.ServerSpec{Name: "other", Command: "no-such-program"})
	if _, err := listed(bridgetest.Patient(t), s); err != nil {
		t.Fatal(err)
	}
	if list := s.(*set).ups; len(list) != 3 {
		t.Errorf("%d servers are there when the client brings another one, want 3", len(list))
	}
	h.servers = nil
	if _, err := listed(bridgetest.Patient(t), s); err != nil {
		t.Fatal(err)
	}
	if list := s.(*set).ups; len(list) != 1 {
		t.Errorf("%d servers are left when the client brings none", len(list))
	}
}
