package aggregate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// Clients of both eras use one server at the same time, each at its own version: neither
// changes what the other has.
func TestClientsOfTwoErasAtOneServer(t *testing.T) {
	t.Parallel()
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: plays("sdk")}}}, Options{})
	for _, version := range []string{proto.Legacy, proto.Modern, proto.Legacy, proto.Modern} {
		cs := bridgetest.Connected(t, piped(t, a), version, nil)
		if got := bridgetest.Said(t, cs, "echo", map[string]any{"text": "x"}); got != `{"text":"xx"}` {
			t.Errorf("%s: %s", version, got)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for c := range a.callers {
		for _, s := range c.sides() {
			if peer := s.parts()[1].running(); peer != nil {
				n++
				if peer.Version != s.version {
					t.Errorf("a client of %s has a server of %s", s.version, peer.Version)
				}
			}
		}
	}
	if n != 4 {
		t.Errorf("%d connections", n)
	}
}

// A question that a client of 2026-07-28 never comes back to does not keep the client's next
// call from asking: the older call is given up.
func TestAbandonedQuestionsBlockNobody(t *testing.T) {
	t.Parallel()
	up := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	gone := make(chan string, 10)
	up.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		if err != nil {
			gone <- err.Error()
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "it said " + res.Action}}}, nil
	})
	server := hosted(t, "up", up, nil)
	older := server.Endpoint
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: older}}}, Options{})
	a.box.Exports([]string{"*"}, nil)[0].Introduce(upstream.Introduction{Refused: true}) // so that it is spoken to at 2025-11-25
	said := make(chan wire.Message, 10)
	c := a.Connect(access.Owner(core.Local), t.TempDir(), true, func(m wire.Message, _ *wire.Call) { said <- m })
	defer c.Close()
	call := func(key, more string) wire.Message {
		t.Helper()
		c.Take(key, wire.Message{ID: json.RawMessage(key), Method: proto.MethodCallTool, Params: json.RawMessage(
			`{"name":"ask","arguments":{},` + more + bridgetest.ModernMeta(`{"elicitation":{}}`, "") + `}`)})
		for m := range said {
			if m.Kind() == wire.Response {
				return m
			}
		}
		return wire.Message{}
	}
	if m := call("1", ""); !strings.Contains(string(m.Result), proto.ResultInputRequired) {
		t.Fatalf("%s %s", m.Result, m.Error)
	}
	m := call("2", "") // the dialog of the first was closed
	r, ok := proto.ReadInputRequired(m.Result)
	if !ok {
		t.Fatalf("%s %s", m.Result, m.Error)
	}
	<-gone
	for id := range r.Requests {
		m = call("3", fmt.Sprintf(`"requestState":%s,"inputResponses":{%q:{"action":"decline"}},`, r.State, id))
	}
	if !strings.Contains(string(m.Result), "it said decline") {
		t.Errorf("%s %s", m.Result, m.Error)
	}
}

// What the servers say of themselves reaches the first client too, over a pipe as well, at the
// cost of a wait that is bounded.
func TestTheFirstClientHearsInstructions(t *testing.T) {
	t.Parallel()
	up := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, &mcp.ServerOptions{Instructions: "Count to ten."})
	server := hosted(t, "s", up, nil) // the start of a program could take longer than clients wait
	for name, connect := range map[string]func(*testing.T, *Server) mcp.Transport{"pipe": piped, "http": overHTTP} {
		for _, version := range bridgetest.Eras {
			a := aggregate(t, upstream.Options{Servers: []upstream.Server{server}}, Options{})
			cs := bridgetest.Connected(t, connect(t, a), version, nil)
			if got := cs.InitializeResult().Instructions; !strings.Contains(got, "Count to ten.") {
				t.Errorf("%s, %s: %q", name, version, got)
			}
		}
	}
}

// The reason for which a client takes a call back reaches the server.
func TestTheReasonForACancellationIsPassedOn(t *testing.T) {
	t.Parallel()
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{
		{Name: "s", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+
			`tools/call {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"called"}}`+"\n"+
			`notifications/cancelled {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"because $REASON"}}`+"\n")},
	}}, Options{})
	c := spoken(t, a, "{}")
	c.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
	c.Until("called")
	c.Say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"of the rain"}}`)
	if line := bridgetest.Last(c.Until("because")); !strings.Contains(line, "because of the rain") {
		t.Error(line)
	}
}
