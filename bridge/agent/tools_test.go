package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/agenttest"
	"dragoman/bridge/toolserver"
	"dragoman/core"
	"dragoman/core/coretest"
)

// The binary of these tests is also the program by which an agent reaches the tools over stdio.
func init() {
	token, relays := os.LookupEnv(toolserver.TokenVar)
	if !relays {
		return
	}
	code := 0
	if err := toolserver.Relay(context.Background(), os.Getenv(toolserver.URLVar), token, os.Stdin, os.Stdout); err != nil {
		code = 1
	}
	syscall.Exit(code)
}

// toolPool returns the server of the tools of sessions, whose program is the binary of these tests.
func toolPool(t *testing.T) *toolserver.Pool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := toolserver.New(toolserver.Options{Version: "test", Program: []string{self}})
	t.Cleanup(p.Close)
	return p
}

// echoing is a tool of an MCP server that returns its arguments.
func echoing(server, name string) coretest.Tool {
	return coretest.Tool{
		Is: core.Spec{Server: server, Name: name, Kind: core.KindOther, Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)},
		Runs: func(_ context.Context, inv core.Invocation) (core.Result, error) {
			return core.Result{Blocks: []core.Block{core.Text{Text: name + " " + string(inv.Args)}}}, nil
		},
	}
}

// tooled begins a session with tools of the MCP server files, of which free is allowed by a rule.
func tooled(t *testing.T, o agenttest.Options, change ...func(*agent.Options)) *chat {
	t.Helper()
	pool := toolPool(t)
	change = append([]func(*agent.Options){func(o *agent.Options) { o.Tools = pool }}, change...)
	r := newRoom(t, []core.Agent{scripted(t, "scripted", o, change...)}, rule{Effect: core.Allow, Server: "files", Tool: "free"})
	r.profile.Toolboxes = []core.Toolbox{coretest.Tools{echoing("files", "free"), echoing("files", "asked"), echoing(core.Native, "shell_command"), waiting}}
	return r.begin("")
}

// waiting is a tool that returns when its call is cancelled.
var waiting = coretest.Tool{
	Is: core.Spec{Server: "files", Name: "waits", Kind: core.KindOther, ReadOnly: true},
	Runs: func(ctx context.Context, _ core.Invocation) (core.Result, error) {
		<-ctx.Done()
		return core.Result{}, context.Cause(ctx)
	},
}

// An agent gets the tools of the session's MCP servers over http or stdio. The rules judge its
// calls, a person is asked once, and the log has each call once, whatever the agent says of it.
func TestToolsOfTheSession(t *testing.T) {
	for _, way := range []struct {
		name string
		o    agenttest.Options
	}{{"stdio", agenttest.Options{}}, {"http", agenttest.Options{HTTP: true}}} {
		t.Run(way.name, func(t *testing.T) {
			c := tooled(t, way.o)
			c.says("mcp-tools", "dragoman: files__free files__asked files__waits\n")
			c.says(`mcp files__free {"text":"a"}`, `{"content":[{"type":"text","text":"free {\"text\":\"a\"}"}]}`+"\n")
			if got := fmt.Sprint(c.calls()); got != `[: succeeded]` {
				t.Errorf("the log has %s", got)
			}
			for _, announced := range []string{
				"", `tool {"toolCallId":"1","title":"mcp__dragoman__files__asked","kind":"other"}` + "\n",
				`permission {"title":"mcp__dragoman__files__asked","kind":"other","rawInput":{"text":"b"}}` + "\n",
				`permission {"title":"files__asked (dragoman MCP Server)","kind":"other","bare":true}` + "\n",
				`permission {"title":"mcp.dragoman.files__asked","kind":"execute","rawInput":{"server":"dragoman","tool":"files__asked","arguments":{"text":"b"}}}` + "\n",
			} {
				for _, reply := range []core.Reply{allow, reject} {
					c.asked, c.answer = nil, always(reply)
					got, end := c.say(announced + `mcp files__asked {"text":"b"}`)
					want, state := `"isError":true`, ": rejected"
					if reply.Decision.Allows() {
						want, state = `asked {\"text\":\"b\"}`, ": succeeded"
					}
					if strings.HasPrefix(announced, "permission") && !strings.HasPrefix(got, "selected allow\n") {
						t.Errorf("%s: the agent is told %q", announced, got)
					}
					if !strings.Contains(got, want) || end.Stop != core.StopEnd {
						t.Errorf("%s: %q, %+v", announced, got, end)
					}
					if calls := c.calls(); len(calls) != 1 || calls[0] != state || len(c.asked) != 1 {
						t.Errorf("%s: calls %q, questions %+v", announced, calls, c.asked)
					}
				}
			}
		})
	}
}

// The name of one of our tools makes nothing else harmless.
func TestOtherCallsUnderTheNameOfATool(t *testing.T) {
	for _, prompt := range []string{
		`permission {"title":"mcp__dragoman__files__free","kind":"other","rawInput":{"command":"rm -rf x"}}`,
		`permission {"title":"mcp__dragoman__files__free","kind":"execute"}`,
		`permission {"title":"mcp__dragoman__files__free","kind":"edit","content":[{"type":"diff","path":"/x","newText":"y"}]}`,
		`tool {"toolCallId":"1","title":"mcp__dragoman__files__free","kind":"other"}` + "\n" + `permission {"toolCallId":"1","bare":true,"title":"t","rawInput":{"command":"rm -rf x"}}`,
		`tool {"toolCallId":"1","title":"mcp__dragoman__files__free","kind":"other"}` + "\n" + `tool {"toolCallId":"1","title":"t","rawInput":{"command":"rm -rf x"}}` +
			"\n" + `permission {"toolCallId":"1","bare":true,"title":"mcp__dragoman__files__free","kind":"other"}`,
		`permission {"title":"mcp__dragoman__files__free","kind":"other","content":[{"type":"diff","path":"/x","newText":"y"}]}`,
		`permission {"title":"mcp__dragoman__files__free","kind":"other","locations":[{"path":"/x"}]}`,
		`tool {"toolCallId":"1","title":"mcp__dragoman__files__free","kind":"other"}` + "\n" + `permission {"toolCallId":"1","bare":true,"title":"t","rawInput":{"script":"rm -rf x"}}`,
	} {
		c := tooled(t, agenttest.Options{})
		c.says("mcp-tools", "dragoman: files__free files__asked files__waits\n")
		c.answer = always(reject)
		if got, _ := c.say(prompt); !strings.Contains(got, "selected reject") || len(c.asked) != 1 {
			t.Errorf("%s: %q, questions %+v", prompt, got, c.asked)
		}
	}
}

// A turn that is stopped ends the calls of its agent.
func TestStoppedCallOfATool(t *testing.T) {
	c := tooled(t, agenttest.Options{HTTP: true})
	c.answer = always(allow)
	id := c.prompt("mcp files__waits")
	c.until(func(ev core.Event) bool {
		e, ok := ev.(core.CallChanged)
		return ok && e.Call.State == core.Running
	})
	if err := c.at.Cancel(c.ctx, id, nil); err != nil {
		t.Fatal(err)
	}
	if end := c.ended(id); end.Stop != core.StopCanceled {
		t.Errorf("%+v", end)
	}
	if calls := c.calls(); !slices.Equal(calls, []string{": canceled"}) && !slices.Equal(calls, []string{": cancelled"}) {
		t.Errorf("%q", calls)
	}
	c.says("say on", "on\n")
}

// The server ends with the agent's program, and each program has another token.
func TestServerEndsWithTheAgent(t *testing.T) {
	c := tooled(t, agenttest.Options{HTTP: true, Resume: true, Dir: t.TempDir()})
	tokens := map[string]bool{}
	for range 2 {
		text, _ := c.say("servers")
		var servers []struct {
			URL     string
			Headers []struct{ Name, Value string }
		}
		if err := json.Unmarshal([]byte(text), &servers); err != nil || len(servers) != 1 || len(servers[0].Headers) != 1 {
			t.Fatalf("%s: %v", text, err)
		}
		token := servers[0].Headers[0].Value
		tokens[token] = true
		status := func() int {
			r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, servers[0].URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", token)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp.StatusCode
		}
		if got := status(); got != http.StatusOK {
			t.Errorf("while the agent runs: %d", got)
		}
		if _, end := c.say("crash"); end.Stop != core.StopError {
			t.Errorf("%+v", end)
		}
		if got := status(); got != http.StatusUnauthorized {
			t.Errorf("when it has ended: %d", got)
		}
	}
	if len(tokens) != 2 {
		t.Error("two programs have the same token")
	}
}

// With "mcp: direct" the agent gets the clients' servers, and the user hears of those that it cannot
// be given.
func TestDirectServersOfClients(t *testing.T) {
	r := newRoom(t, []core.Agent{scripted(t, "scripted", agenttest.Options{}, func(o *agent.Options) {
		o.Direct, o.Tools = true, toolPool(t)
	})})
	s, err := r.gateway.Create(r.ctx, core.Meta{Principal: core.Local, Cwd: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	at := s.Attach(core.Client{Name: "tester", Principal: core.Local, Asks: true, Servers: []core.ServerSpec{
		{Name: "program", Command: "/bin/program", Args: []string{"-v"}, Env: []string{"A=b"}}, {Name: "remote", URL: "https://x"},
	}})
	c := &chat{room: r, at: at, reader: at.Read(core.Pos{})}
	c.says("servers", `[{"name":"program","command":"/bin/program","args":["-v"],"env":[{"name":"A","value":"b"}]}]`+"\n")
	if got := c.notices(); !strings.Contains(got, "the MCP server remote,") {
		t.Errorf("the user hears %q", got)
	}
}

// An agent with a proxy gets a program, and one that runs elsewhere nothing.
func TestWhereAgentsReachUs(t *testing.T) {
	c := tooled(t, agenttest.Options{HTTP: true}, func(o *agent.Options) {
		o.Environ = func() []string { return append(os.Environ(), "HTTP_PROXY=http://127.0.0.1:1") }
	})
	if got, _ := c.say("servers"); strings.Contains(got, `"type"`) || !strings.Contains(got, toolserver.TokenVar) {
		t.Errorf("with a proxy: %s", got)
	}
	c = tooled(t, agenttest.Options{HTTP: true}, func(o *agent.Options) { o.Paths = map[string]string{"/nowhere": "/elsewhere"} })
	if got, _ := c.say("servers"); got != "[]\n" || !strings.Contains(c.notices(), "(paths)") {
		t.Errorf("elsewhere: %s, and the user hears %q", got, c.notices())
	}
}
