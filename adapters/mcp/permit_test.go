package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp/permit"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

// listed returns the tools that a holder is offered.
func listed(t *testing.T, s *Server, of access.Holder) (names []string) {
	t.Helper()
	answers := make(chan proto.Message, 10)
	c := s.Connect(t.Context(), of, func(m proto.Message) { answers <- m })
	defer c.Close()
	ask := func(id, method, params string) proto.Message {
		c.Send(proto.Message{ID: json.RawMessage(id), Method: method, Params: json.RawMessage(params)})
		for {
			if m := <-answers; string(m.ID) == id {
				return m
			}
		}
	}
	ask("1", proto.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)
	c.Send(proto.Message{Method: proto.NoteInitialized})
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(ask("2", proto.MethodListTools, `{}`).Result, &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// A holder is offered exactly the tools that it may call. A new tool has to be added here, and to the table
// of rights: without a row it is offered as a server's.
func TestToolsOfRights(t *testing.T) {
	g := coretest.Gateway(jsonl.New(t.TempDir()), nil, coretest.Always(core.Verdict{Effect: core.Deny}))
	defer g.Close(context.Background()) //nolint:errcheck // nothing runs
	s := New(Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir()})
	all := listed(t, s, access.Owner(core.Local))
	if len(all) != 7 {
		t.Errorf("%q", all)
	}
	want := map[access.Rights]string{
		access.Watch:  "agent_wait session_get session_list",
		access.Prompt: "agent_cancel agent_prompt agent_wait",
		access.Answer: "agent_approve",
		access.Act:    "agent_cancel session_close",
	}
	for right, tools := range want {
		got := listed(t, s, access.Holder{Principal: core.Local, Token: "a", Name: "a", Rights: right})
		if !slices.Equal(got, strings.Fields(tools)) {
			t.Errorf("%v: %q", right, got)
		}
	}
	for _, name := range all {
		if permit.Tool(name).Met(0) {
			t.Errorf("%s needs no right", name)
		}
	}
}

// At 2026-07-28 a client is known by the name that it gives. Two tokens are two clients all the same:
// what one of them has open the other one cannot bring back, and each is a caller of its own.
func TestTheSameNameOverTwoTokens(t *testing.T) {
	g := coretest.Gateway(jsonl.New(t.TempDir()), nil, coretest.Always(core.Verdict{Effect: core.Deny}))
	defer g.Close(context.Background()) //nolint:errcheck // nothing runs
	s := New(Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir()})
	h := s.HTTP(func(*http.Request) access.Holder { return access.Holder{} })
	defer h.Close()
	visit := func(of access.Holder) *client {
		v, err := h.door(of).named("same 1", httptest.NewRequest(http.MethodPost, "/mcp", nil))
		if err != nil {
			t.Fatal(err)
		}
		v.place.Done()
		return v.client
	}
	holder := func(id string, r access.Rights) access.Holder {
		return access.Holder{Principal: core.Local, Token: id, Name: id, Rights: r}
	}
	a, b, main := visit(holder("a", access.All)), visit(holder("b", access.All)), visit(access.Owner(core.Local))
	if a == b || a.caller == b.caller || a.caller == main.caller || a.caller != "token:a" || a != visit(holder("a", access.All)) {
		t.Errorf("%q, %q, %q", a.caller, b.caller, main.caller)
	}
	state, err := s.seal(resumeState{Of: a.host.of.Key(), Tool: toolWait, Until: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	for c, want := range map[*client]bool{a: true, b: false, main: false} {
		if got, err := c.unseal(&mcp.CallToolParamsRaw{Name: toolWait, RequestState: state}); (err == nil) != want {
			t.Errorf("%s brings back %v, %v", c.caller, got, err)
		}
	}
}
