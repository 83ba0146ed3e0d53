package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/adapters/proto/acp"
	"dragoman/bridge/toolserver"
	"dragoman/core"
)

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Servers of clients are passed on in the forms that the agent takes; the rest is reported.
func TestDirectServers(t *testing.T) {
	servers := []core.ServerSpec{
		{Name: "bare", Command: "/bin/bare"},
		{Name: "full", Command: "/bin/full", Args: []string{"-v"}, Env: []string{"A=1", "B=x=y", "C"}},
		{Name: "web", URL: "https://web", Headers: map[string]string{"X": "2", "A": "1"}},
		{Name: "old", URL: "https://old", SSE: true},
	}
	const (
		programs = `{"name":"bare","command":"/bin/bare","args":[],"env":[]},` +
			`{"name":"full","command":"/bin/full","args":["-v"],"env":[{"name":"A","value":"1"},{"name":"B","value":"x=y"},{"name":"C","value":""}]}`
		web = `{"type":"http","name":"web","url":"https://web","headers":[{"name":"A","value":"1"},{"name":"X","value":"2"}]}`
		old = `{"type":"sse","name":"old","url":"https://old","headers":[]}`
	)
	for _, c := range []struct {
		caps       acp.MCPCapabilities
		want, left string
	}{
		{acp.MCPCapabilities{}, `[` + programs + `]`, "web old"},
		{acp.MCPCapabilities{HTTP: true}, `[` + programs + `,` + web + `]`, "old"},
		{acp.MCPCapabilities{SSE: true}, `[` + programs + `,` + old + `]`, "web"},
		{acp.MCPCapabilities{HTTP: true, SSE: true}, `[` + programs + `,` + web + `,` + old + `]`, ""},
	} {
		list, left := directServers(servers, c.caps)
		if got := asJSON(t, list); got != c.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", c.caps, got, c.want)
		}
		names := strings.Fields(c.left)
		for i, name := range names {
			if i >= len(left) || !strings.Contains(left[i], "the MCP server "+name+",") {
				t.Errorf("%+v: %s is not reported: %q", c.caps, name, left)
			}
		}
		if len(left) != len(names) {
			t.Errorf("%+v: reported are %q", c.caps, left)
		}
	}
	if list, left := directServers(nil, acp.MCPCapabilities{}); asJSON(t, list) != "[]" || left != nil {
		t.Errorf("none are %s, %q", asJSON(t, list), left)
	}
}

// The session's server is an address where the agent takes one, and else a program; the token is in
// a header or a variable. It ends with the agent's program.
func TestServing(t *testing.T) {
	pool := toolserver.New(toolserver.Options{Version: "1", Program: []string{"/bin/dragoman", "session-tools"}})
	defer pool.Close()
	var s serving
	defer s.Close()
	names := func() bool { return s.owns("other", nil, "mcp__dragoman__files__echo") }
	s.Know([]core.Spec{{Server: "files", Name: "echo"}})
	if names() {
		t.Error("a tool is ours before there is a server")
	}
	web, err := s.offer(pool, nil, true, "")
	if err != nil || web.Type != "http" || web.Name != "dragoman" || !strings.HasPrefix(web.URL, "http://127.0.0.1:") ||
		!strings.HasPrefix(asJSON(t, web.Headers), `[{"name":"Authorization","value":"Bearer `) {
		t.Errorf("%s, %v", asJSON(t, web), err)
	}
	if !names() {
		t.Error("a tool that was known before the server is not ours")
	}
	program, err := s.offer(pool, []core.ServerSpec{{Name: "dragoman"}}, false, "")
	if err != nil || program.Type != "" || program.Name != "dragoman-tools" || program.Command != "/bin/dragoman" || asJSON(t, program.Args) != `["session-tools"]` ||
		len(*program.Env) != 2 || (*program.Env)[1].Value == (*web.Headers)[0].Value[len("Bearer "):] {
		t.Errorf("%s, %v", asJSON(t, program), err)
	}
	if names() || !s.owns("", nil, "mcp__dragoman-tools__files__echo") {
		t.Error("the name of the server does not count")
	}
	s.Close()
	if s.owns("", nil, "mcp__dragoman-tools__files__echo") {
		t.Error("a tool of a server that has ended is ours")
	}
	if end, err := s.Begin(t.Context(), nil); err != nil {
		t.Error(err)
	} else {
		end()
	}
}

// A call is ours by its name, unless it is described as anything else.
func TestOurCalls(t *testing.T) {
	pool := toolserver.New(toolserver.Options{Version: "1", Program: []string{"x"}})
	defer pool.Close()
	var s serving
	defer s.Close()
	s.Know([]core.Spec{
		{Server: "files", Name: "echo", Schema: json.RawMessage(`{"type":"object","properties":{"text":{},"path":{}}}`)},
		{Server: "files", Name: "open", Schema: json.RawMessage(`{"type":"object"}`)},
	})
	if _, err := s.offer(pool, nil, false, ""); err != nil {
		t.Fatal(err)
	}
	const codex = `{"server":"dragoman","tool":"files__echo","arguments":{"text":"hi"}}`
	for _, c := range []struct {
		kind  acp.ToolKind
		input string
		names []string
		want  bool
	}{
		{"other", `{"text":"hi"}`, []string{"mcp__dragoman__files__echo"}, true},
		{"other", `{}`, []string{"dragoman_files__echo", ""}, true},
		{"other", ``, []string{"files__echo (dragoman MCP Server)"}, true},
		{"", codex, []string{"Tool: dragoman/files__echo"}, true},
		{"execute", codex, []string{"mcp.dragoman.files__echo"}, true},
		{"execute", codex, []string{"rm -rf ~"}, false},
		{"execute", `{"command":"rm -rf ~"}`, []string{"mcp__dragoman__files__echo"}, false},
		{"execute", `{"server":"other","tool":"echo"}`, []string{"mcp.dragoman.files__echo"}, false},
		{"edit", `{}`, []string{"mcp__dragoman__files__echo"}, false},
		{"other", `{"text":"hi","path":"/x"}`, []string{"mcp__dragoman__files__echo"}, true},
		{"other", `{"command":"rm -rf ~"}`, []string{"mcp__dragoman__files__echo"}, false},
		{"other", `{"anything":"hi"}`, []string{"mcp__dragoman__files__open"}, true},
		{"other", `{"command":"rm -rf ~"}`, []string{"mcp__dragoman__files__open"}, false},
		{"other", `{"file_path":"/x"}`, []string{"mcp__dragoman__files__open"}, false},
		{"execute", `{"server":"dragoman","tool":"files__echo","command":"rm -rf ~"}`, []string{"mcp.dragoman.files__echo"}, false},
		{"other", `{}`, []string{"mcp__other__files__echo", "echo"}, false},
		{"other", `{}`, nil, false},
		{"other", `["rm -rf ~"]`, []string{"mcp__dragoman__files__echo"}, false},
		{"other", `"rm -rf ~"`, []string{"mcp__dragoman__files__open"}, false},
	} {
		if got := s.owns(c.kind, json.RawMessage(c.input), c.names...); got != c.want {
			t.Errorf("%s %s %q: %v", c.kind, c.input, c.names, got)
		}
	}
}
