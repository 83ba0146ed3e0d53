package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/wire"
	"dragoman/bridge/bridgetest"
	"dragoman/core"
)

// An agent lists before the first turn, and calls within one.
func TestListAndCall(t *testing.T) {
	each(t, func(t *testing.T, s *Session, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		cs := connect(nil)
		if init := cs.InitializeResult(); init.ServerInfo.Name != Name || init.ServerInfo.Version != "1.2.3" || init.Capabilities.Tools == nil || !init.Capabilities.Tools.ListChanged {
			t.Errorf("it says of itself %+v, %+v", init.ServerInfo, init.Capabilities)
		}
		list, err := cs.ListTools(bridgetest.Patient(t), nil)
		if err != nil || len(list.Tools) != 1 || list.NextCursor != "" {
			t.Fatalf("listed are %+v, %v", list, err)
		}
		tool := list.Tools[0]
		schema, _ := json.Marshal(tool.InputSchema)
		if tool.Name != "files__echo" || tool.Title != "Echo" || tool.Description != "says it again" || !tool.Annotations.ReadOnlyHint || !strings.Contains(string(schema), `"text"`) {
			t.Errorf("the tool is %+v, %s", tool, schema)
		}
		args := map[string]any{"text": "hi"}
		if got := bridgetest.Said(t, cs, "files__echo", args); !strings.Contains(got, "runs no turn") {
			t.Errorf("without a turn a call says %q", got)
		}
		end := begin(t, s, &turn{specs: []core.Spec{echo}})
		if got := bridgetest.Said(t, cs, "files__echo", args); got != `c-1 files/echo {"text":"hi"}` {
			t.Errorf("a call says %q", got)
		}
		if got := bridgetest.Said(t, cs, "nothing", nil); !strings.Contains(got, `there is no tool "nothing"`) {
			t.Errorf("a call of no tool says %q", got)
		}
		end()
		res, err := cs.CallTool(bridgetest.Patient(t), &mcp.CallToolParams{Name: "files__echo", Arguments: args})
		if err != nil || !res.IsError {
			t.Errorf("after the turn a call says %+v, %v", res, err)
		}
		names(t, cs, "files__echo")
	})
}

// The agent hears of changes between two turns, at a turn's beginning and through its own calls.
func TestListChanges(t *testing.T) {
	each(t, func(t *testing.T, s *Session, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		told := make(chan struct{}, 10)
		cs := connect(&mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} }})
		names(t, cs, "files__echo")
		more, third := echo, echo
		more.Name, third.Name = "more", "third"
		heard := func(want ...string) {
			t.Helper()
			select {
			case <-told:
			case <-bridgetest.Patient(t).Done():
				t.Fatal("the agent was not told")
			}
			names(t, cs, want...)
		}
		listening(t, s)
		s.List([]core.Spec{echo, more})
		heard("files__echo", "files__more")
		s.List([]core.Spec{echo, more}) // says nothing
		w := &turn{specs: []core.Spec{more}}
		defer begin(t, s, w)()
		heard("files__more")
		w.invoke = func(context.Context, core.Call) (core.Result, error) {
			w.set(more, third)
			return core.Result{}, nil
		}
		bridgetest.Said(t, cs, "files__more", nil)
		heard("files__more", "files__third")
		if len(told) > 0 {
			t.Error("the agent was told of changes that were none")
		}
	})
}

// listening waits until a client can be told of changes.
func listening(t *testing.T, s *Session) {
	t.Helper()
	ctx := bridgetest.Patient(t)
	for heard := false; !heard && ctx.Err() == nil; {
		s.mu.Lock()
		for c := range s.conns {
			heard = heard || !c.modern || len(c.listeners()) > 0
		}
		s.mu.Unlock()
	}
}

// A call ends when the agent cancels it.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, s *Session, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		cs := connect(nil)
		began, ended := make(chan struct{}), make(chan error, 1)
		w := &turn{specs: []core.Spec{echo}}
		w.invoke = func(ctx context.Context, _ core.Call) (core.Result, error) {
			close(began)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return core.Result{}, context.Cause(ctx)
		}
		defer begin(t, s, w)()
		ctx, cancel := context.WithCancel(bridgetest.Patient(t))
		go func() {
			<-began
			cancel()
		}()
		if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "files__echo"}); !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled call says %v", err)
		}
		if cause := <-ended; !errors.Is(cause, context.Canceled) {
			t.Errorf("it ended because of %v", cause)
		}
	})
}

// The end of a turn ends its calls, and waits for them.
func TestTurnEndsItsCalls(t *testing.T) {
	s := open(t, newPool(t), echo)
	cs := bridgetest.Connected(t, ways["http"](t, s), bridgetest.Eras[0], nil)
	began, left := make(chan struct{}), false
	w := &turn{specs: []core.Spec{echo}}
	w.invoke = func(ctx context.Context, _ core.Call) (core.Result, error) {
		close(began)
		<-ctx.Done()
		left = true
		return core.Result{}, context.Cause(ctx)
	}
	end := begin(t, s, w)
	said := make(chan string, 1)
	go func() { said <- bridgetest.Said(t, cs, "files__echo", nil) }()
	<-began
	if _, err := s.Begin(t.Context(), w); err == nil {
		t.Error("a second turn has begun within the first")
	}
	end()
	if !left {
		t.Error("the turn has ended before its call")
	}
	if got := <-said; !strings.Contains(got, "runs no turn") {
		t.Errorf("the call says %q", got)
	}
	defer begin(t, s, &turn{specs: []core.Spec{echo}})()
	if got := bridgetest.Said(t, cs, "files__echo", nil); got != `c-1 files/echo {}` && got != `c-1 files/echo ` {
		t.Errorf("in the next turn a call says %q", got)
	}
}

// A call that the agent has announced keeps the id under which it was proposed.
func TestAnnouncedCalls(t *testing.T) {
	p := newPool(t)
	s, err := p.Open(Client{Name: "tools", CallID: func(spec core.Spec, args, meta json.RawMessage) core.CallID {
		if spec.Name == "echo" && string(args) == `{"text":"a"}` && strings.Contains(string(meta), `"toolu_1"`) {
			return "announced"
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer begin(t, s, &turn{specs: []core.Spec{echo}})()
	cs := bridgetest.Connected(t, ways["http"](t, s), bridgetest.Eras[0], nil)
	if got := cs.InitializeResult().ServerInfo.Name; got != "tools" || !s.Owns("mcp__tools__files__echo") || s.Owns("mcp__dragoman__files__echo") {
		t.Errorf("it is called %q", got)
	}
	for text, want := range map[string]string{"a": "announced", "b": "c-1"} {
		res, err := cs.CallTool(bridgetest.Patient(t), &mcp.CallToolParams{Meta: mcp.Meta{"x/id": "toolu_1"}, Name: "files__echo", Arguments: map[string]any{"text": text}})
		if err != nil || !strings.HasPrefix(res.Content[0].(*mcp.TextContent).Text, want+" ") {
			t.Errorf("%s: %+v, %v", text, res, err)
		}
	}
}

// A turn that cannot list its tools does not begin.
func TestBrokenTurn(t *testing.T) {
	s := open(t, newPool(t), echo)
	broken := errors.New("broken")
	if _, err := s.Begin(t.Context(), &turn{err: broken}); !errors.Is(err, broken) {
		t.Errorf("it has begun: %v", err)
	}
	begin(t, s, &turn{specs: []core.Spec{echo}})()
}

// Sessions have their own tools, calls and tokens.
func TestTwoSessions(t *testing.T) {
	p := newPool(t)
	other := echo
	other.Server = "other"
	for way, over := range ways {
		a, b := open(t, p, echo), open(t, p, other)
		defer begin(t, a, &turn{specs: []core.Spec{echo}})()
		ca, cb := bridgetest.Connected(t, over(t, a), bridgetest.Eras[0], nil), bridgetest.Connected(t, over(t, b), bridgetest.Eras[1], nil)
		names(t, ca, "files__echo")
		names(t, cb, "other__echo")
		if got := bridgetest.Said(t, cb, "files__echo", nil); !strings.Contains(got, "there is no tool") {
			t.Errorf("%s: a tool of the other session says %q", way, got)
		}
		if got := bridgetest.Said(t, cb, "other__echo", nil); !strings.Contains(got, "runs no turn") {
			t.Errorf("%s: a tool in the other session's turn says %q", way, got)
		}
	}
}

// Results are passed on as their servers wrote them, however large they are.
func TestRawResults(t *testing.T) {
	each(t, func(t *testing.T, s *Session, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		cs := connect(nil)
		w := &turn{specs: []core.Spec{echo}}
		defer begin(t, s, w)()
		for _, size := range []int{10, 1 << 20} {
			text := strings.Repeat("é\u2028x", size/6)
			raw, err := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "structuredContent": map[string]any{"n": 1}})
			if err != nil {
				t.Fatal(err)
			}
			w.invoke = func(context.Context, core.Call) (core.Result, error) {
				return core.Result{Raw: raw, Blocks: []core.Block{core.Text{Text: "cut"}}}, nil
			}
			res, err := cs.CallTool(bridgetest.Patient(t), &mcp.CallToolParams{Name: "files__echo"})
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Content[0].(*mcp.TextContent).Text; got != text || fmt.Sprint(res.StructuredContent) != "map[n:1]" {
				t.Errorf("%d bytes came as %d, with %v", size, len(got), res.StructuredContent)
			}
		}
	})
}

// What has no words of a server is translated.
func TestBlocks(t *testing.T) {
	res := resultOf(core.Result{Failed: true, Meta: json.RawMessage(`{"a":1}`), Blocks: []core.Block{
		core.Text{Text: "t"},
		core.Image{MIME: "image/png", Data: []byte("png")},
		core.Image{URI: "https://x/y.png"},
		core.Audio{MIME: "audio/wav", Data: []byte("wav")},
		core.Link{URI: "file:///x", Name: "x"},
		core.Resource{URI: "file:///y", Text: "y"},
		core.Resource{URI: "file:///z", Blob: []byte("z")},
		core.Diff{Path: "/x", Patch: "-a\n+b\n"},
		core.Terminal{ID: "1"},
	}})
	const want = `{"content":[{"type":"text","text":"t"},{"type":"image","data":"cG5n","mimeType":"image/png"},` +
		`{"type":"resource_link","uri":"https://x/y.png","name":"https://x/y.png"},{"type":"audio","data":"d2F2","mimeType":"audio/wav"},` +
		`{"type":"resource_link","uri":"file:///x","name":"x"},{"type":"resource","resource":{"uri":"file:///y","text":"y"}},` +
		`{"type":"resource","resource":{"uri":"file:///z","blob":"eg=="}},{"type":"text","text":"-a\n+b\n"}],"isError":true,"_meta":{"a":1}}`
	if string(res) != want {
		t.Errorf("got  %s\nwant %s", res, want)
	}
	if got := string(resultOf(core.Result{})); got != `{"content":[]}` {
		t.Errorf("nothing is %s", got)
	}
	var m map[string]any
	if err := wire.Unmarshal(resultOf(core.Result{Structured: json.RawMessage(`{"a`)}), &m); err != nil || m["isError"] != true {
		t.Errorf("broken JSON is %v, %v", m, err)
	}
}
