package main

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/program"
)

const (
	relayHello  = `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	relayReady  = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	relayList   = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	relayDenied = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"session_list","arguments":{}}}`
)

// relaying returns a place whose configuration has the program itself as a server.
func relaying(t *testing.T) *place {
	p := newPlace(t)
	p.config(t, `mcp_servers:
  self: {command: `+strconv.Quote(binary)+`, args: [mcp], env: {DRAGOMAN_DATA: `+strconv.Quote(p.data)+`}}
  off: {command: x, disabled: true}
policy:
  deny: [{server: self, tool: session_list}]
mcp: {servers: []}
`)
	return p
}

// Calls are recorded, but not their content; the doctor names the file.
func TestCallsAreRecorded(t *testing.T) {
	p := relaying(t)
	call := strings.Replace(strings.Replace(relayDenied, "session_list", "session_get", 1), `"arguments":{}`, `"arguments":{"session_id":"secret"}`, 1)
	call = strings.Replace(call, `"id":3`, `"id":4`, 1)
	p.well(t, strings.Join([]string{relayHello, relayReady, relayDenied, call}, "\n")+"\n", "mcp", "--only", "self")
	path := filepath.Join(p.data, logs.AuditFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`"time":"[^"]*","principal":"[^"]*"|"ms":[0-9.e-]*|"(in|out)":[1-9][0-9]*`).ReplaceAllString(string(b), "_")
	want := `{_,"client":"c 1","server":"self","tool":"session_list","outcome":"refused",_,_,"out":0}
{_,"client":"c 1","server":"self","tool":"session_get","outcome":"tool_error",_,_,_}
`
	if got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if o := p.run(t, "", "doctor"); !strings.Contains(o.out, path) {
		t.Errorf("doctor: %s", o.out)
	}
}

// A server's messages are the same through us, byte for byte; a deny rule applies.
func TestOnlyOneServer(t *testing.T) {
	p := relaying(t)
	said := strings.Join([]string{relayHello, relayReady, relayList}, "\n") + "\n"
	direct, relayed := p.well(t, said, "mcp"), p.well(t, said, "mcp", "--only", "self")
	if direct != relayed || !strings.Contains(direct, "agent_prompt") {
		t.Errorf("directly:\n%s\nrelayed:\n%s", direct, relayed)
	}
	if out := p.well(t, strings.Join([]string{relayHello, relayReady, relayDenied}, "\n")+"\n", "mcp", "--only", "self"); !strings.Contains(out, `"error"`) {
		t.Errorf("a denied call: %s", out)
	}
	for _, name := range []string{"off", "nobody"} {
		if o := p.run(t, said, "mcp", "--only", name); o.code != program.ExitFailed || !strings.Contains(o.errs, `there is no MCP server "`+name+`"`) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// serving serves MCP over HTTP, to everybody on this machine or with other arguments. It ends with ctx.
func serving(t *testing.T, p *place, args ...string) (ctx context.Context, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	if len(args) == 0 {
		args = []string{"--no-auth"}
	}
	cmd := p.command(ctx, append([]string{"mcp", "--http", "127.0.0.1:0"}, args...)...)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	said := bufio.NewReader(errs)
	line, err := said.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, said) //nolint:errcheck // it ends with the program
	return ctx, regexp.MustCompile(`http://[^ ]+/mcp`).FindString(line)
}

// posting serves MCP over HTTP and returns a function that posts to it.
func posting(t *testing.T, p *place) func(path, session, body string) (status int, opened, text string) {
	t.Helper()
	ctx, address := serving(t, p)
	return func(path, session, body string) (int, string, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header.Get("Mcp-Session-Id"), string(text)
	}
}

// All addresses have the same checks: a foreign web page is never admitted, under whatever name
// it calls this machine, and gets no answer that it could read.
func TestForeignPagesAreRefused(t *testing.T) {
	ctx, address := serving(t, relaying(t))
	for _, path := range []string{"", "/self", "/nobody", "/", "/../", "/../health", "/../debug/pprof/", "/../.well-known/oauth-protected-resource"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodHead} {
			for name, c := range map[string]struct{ host, origin, kind string }{
				"another name":             {host: "evil.example"},
				"a name like ours":         {host: "localhost.evil.example:80"},
				"a name before ours":       {host: "evil.example@127.0.0.1"},
				"another page":             {origin: "https://evil.example"},
				"another page as text":     {origin: "https://evil.example", kind: "text/plain"},
				"a page without an origin": {origin: "null"},
				"a file":                   {origin: "file://"},
				"another port":             {origin: "http://127.0.0.1:1"},
				"another name, and page":   {host: "evil.example", origin: "http://evil.example"},
			} {
				req, err := http.NewRequestWithContext(ctx, method, address+path, strings.NewReader(relayHello))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", cmp.Or(c.kind, "application/json"))
				req.Header.Set("Accept", "application/json, text/event-stream")
				if req.Host = cmp.Or(c.host, req.Host); c.origin != "" {
					req.Header.Set("Origin", c.origin)
					req.Header.Set("Access-Control-Request-Method", "POST")
				}
				resp, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if said := resp.Header.Get("Access-Control-Allow-Origin"); resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusBadRequest || said != "" {
					t.Errorf("%s %s, %s: %d, %q", method, path, name, resp.StatusCode, said)
				}
			}
		}
	}
}

func TestServersHaveAddressesOfTheirOwn(t *testing.T) {
	post := posting(t, relaying(t))
	status, session, text := post("/self", "", relayHello)
	if status != http.StatusOK || session == "" || !strings.Contains(text, `"id":"a"`) {
		t.Fatalf("initialize: %d, %q, %s", status, session, text)
	}
	if status, _, text := post("/self", session, relayReady); status != http.StatusAccepted {
		t.Errorf("initialized: %d %s", status, text)
	}
	if status, _, text := post("/self", session, relayList); status != http.StatusOK || !strings.Contains(text, "agent_prompt") {
		t.Errorf("tools/list: %d %s", status, text)
	}
	if status, _, text := post("/self", "guessed", relayList); status != http.StatusNotFound {
		t.Errorf("another session: %d %s", status, text)
	}
	if status, _, text := post("/self", session, relayDenied); status != http.StatusOK || !strings.Contains(text, `"error"`) {
		t.Errorf("a denied call: %d %s", status, text)
	}
	for _, name := range []string{"/off", "/nobody", "/"} {
		if status, _, text := post(name, "", relayHello); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}

// Clients that leave without notice do not exclude others, neither from the agent nor from the
// servers. A running turn continues, and a later client can wait for it.
func TestClientsThatLeaveExcludeNobody(t *testing.T) {
	for name, c := range map[string]struct {
		clients int
		servers string
	}{
		"the agent alone": {1010, "mcp: {servers: []}\n"},
		"all as one":      {80, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.config(t, "mcp_servers:\n  self: {command: "+strconv.Quote(binary)+", args: [mcp], env: {DRAGOMAN_DATA: "+strconv.Quote(p.data)+"}}\n"+c.servers)
			post := posting(t, p)
			begin := func(name string) string {
				t.Helper()
				status, session, text := post("", "", strings.Replace(relayHello, `"name":"c"`, `"name":"`+name+`"`, 1))
				if status != http.StatusOK || session == "" {
					t.Fatalf("%s: %d %s", name, status, text)
				}
				return session
			}
			first := begin("c0")
			for i := range c.clients {
				begin("c" + strconv.Itoa(i+1))
			}
			last := begin("the last")
			if status, _, text := post("", last, relayList); status != http.StatusOK || !strings.Contains(text, "agent_prompt") {
				t.Errorf("the last: %d %s", status, text)
			}
			if status, _, _ := post("", first, relayList); status != http.StatusNotFound {
				t.Errorf("the one silent for longest: %d", status)
			}
		})
	}
}
