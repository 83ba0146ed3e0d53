package aggregate

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
)

// countsLists is a script that lists a tool t, which is described by the number of the request for the
// list, and a tool change, which announces a change.
func countsLists(greeting string) string {
	s := greeting
	for i := range 9 {
		s += fmt.Sprintf(`tools/list#%d {"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"t","description":"list %[1]d","inputSchema":{"type":"object"}}]}}`+"\n", i+1)
	}
	return s + `server/discover {"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"none"}}` + "\ntools/list exit\n" + `tools/call {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n" + bridgetest.ToolDone
}

// listed returns the description of the tool t.
func listed(t *testing.T, cs *mcp.ClientSession) string {
	t.Helper()
	list, err := cs.ListTools(bridgetest.Patient(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.Name == "t" {
			return tool.Description
		}
	}
	return "none"
}

// A server that announces changes is asked for its tools once, and again when it has announced one,
// when it was started again, and when its configuration has changed. Others are asked each time.
func TestListIsKept(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(*testing.T, *Server) mcp.Transport{"pipe": piped, "http": overHTTP} {
		for _, version := range bridgetest.Eras {
			t.Run(name+"/"+version, func(t *testing.T) {
				t.Parallel()
				server := func(rev int, script string) []upstream.Server {
					return []upstream.Server{{Name: "s", Rev: rev, Endpoint: plays("script", "SCRIPT="+script)}}
				}
				announces := countsLists(bridgetest.Greeting)
				a := aggregate(t, upstream.Options{Servers: server(1, announces)}, Options{})
				cs := bridgetest.Connected(t, connect(t, a), version, nil)
				same := func(want string) {
					t.Helper()
					for range 3 {
						if got := listed(t, cs); got != want {
							t.Errorf("got %s, want %s", got, want)
						}
					}
				}
				same("list 1")
				if got := bridgetest.Said(t, cs, "t", nil); got != "done" {
					t.Error(got)
				}
				same("list 2")
				a.box.Set(server(2, announces))
				a.Update(Options{Servers: []string{"*"}})
				same("list 1")
				a.box.Set(server(3, countsLists(strings.Replace(bridgetest.Greeting, `"listChanged":true`, "", 1))))
				a.Update(Options{Servers: []string{"*"}})
				for _, want := range []string{"list 1", "list 2", "list 3"} {
					if got := listed(t, cs); got != want {
						t.Errorf("a server that announces nothing: got %s, want %s", got, want)
					}
				}
			})
		}
	}
	cs := bridgetest.Connected(t, piped(t, scripted(t, bridgetest.Greeting+bridgetest.OneTool("")+"tools/call exit\n",
		bridgetest.Greeting+strings.Replace(bridgetest.OneTool(""), `"name":"t"`, `"name":"t","description":"again"`, 1)+bridgetest.ToolDone)), proto.Legacy, nil)
	if got := listed(t, cs); got != "" {
		t.Errorf("before the restart: %s", got)
	}
	if got := bridgetest.Said(t, cs, "t", nil); !strings.Contains(got, "ended") {
		t.Error(got)
	}
	got := ""
	for got == "" || strings.Contains(got, "it can be started again") {
		<-sleepy(t)
		for listed(t, cs) == "none" { // while it starts
			<-sleepy(t)
		}
		got = bridgetest.Said(t, cs, "t", nil)
	}
	if !strings.Contains(got, "has changed since it was agreed to") {
		t.Errorf("after the restart: %s", got)
	}
}

// A kept list follows the pins: what a user agrees to, in whatever process, is in the next list.
func TestKeptListFollowsPins(t *testing.T) {
	t.Parallel()
	pins := filepath.Join(t.TempDir(), "pins.json")
	open := func(description string) (*mcp.ClientSession, upstream.Options) {
		o := upstream.Options{PinFile: pins, Servers: []upstream.Server{{Name: "s", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+
			strings.Replace(bridgetest.DescribedTool("t", description), "tools/list", "tools/list#1", 1)+"tools/list exit\n"+bridgetest.ToolDone)}}}
		return bridgetest.Connected(t, piped(t, aggregate(t, o, Options{})), proto.Legacy, nil), o
	}
	first, _ := open("good")
	if got := listed(t, first); got != "good" {
		t.Fatal(got)
	}
	cs, o := open("evil")
	for range 3 {
		if got := listed(t, cs); got != "good" {
			t.Errorf("it is listed as %q", got)
		}
	}
	box := upstream.New(o) // as in another process
	defer box.Close()
	trials, err := box.Try(bridgetest.Patient(t), core.Meta{Cwd: t.TempDir()})
	if err != nil || len(trials[0].Changes) != 1 {
		t.Fatalf("%+v, %v", trials, err)
	}
	if err := box.Agree("s", trials[0].Changes); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, cs); got != "evil" {
		t.Errorf("after the consent it is listed as %q", got)
	}
	if got := bridgetest.Said(t, cs, "t", nil); got != "done" {
		t.Error(got)
	}
}

// A call of a tool that is held back asks no server for its tools, and adds nothing to the log, where
// one line has named all of them.
func TestHeldBackCallAsksNobody(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"program", "address"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			var lists atomic.Int32
			hold := func(names ...string) upstream.Server {
				s := bridgetest.SmallServer("s", names...)
				s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
						if method == proto.MethodListTools {
							lists.Add(1)
						}
						return next(ctx, method, r)
					}
				})
				return hosted(t, "s", s, nil)
			}
			many := make([]string, 0, 51)
			for i := range 50 {
				many = append(many, fmt.Sprintf("new_%d", i))
			}
			var mu sync.Mutex
			var warned []string
			o := upstream.Options{PinFile: filepath.Join(t.TempDir(), "pins.json"), Log: func(_, level, text string) {
				mu.Lock()
				defer mu.Unlock()
				if level == "warn" {
					warned = append(warned, text)
				}
			}}
			o.Servers = []upstream.Server{hold("known")}
			bridgetest.ToolNames(t, bridgetest.Connected(t, piped(t, aggregate(t, o, Options{})), proto.Legacy, nil))
			if o.Servers = []upstream.Server{hold(append(many, "known")...)}; way == "program" {
				tools := `{"name":"known","inputSchema":{"type":"object"}}`
				for _, name := range many {
					tools += `,{"name":"` + name + `","inputSchema":{"type":"object"}}`
				}
				o.Servers = []upstream.Server{{Name: "s", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+
					`tools/list#1 {"jsonrpc":"2.0","id":$ID,"result":{"tools":[`+tools+`]}}`+"\ntools/list exit\n"+bridgetest.ToolDone)}}
			}
			a := aggregate(t, o, Options{})
			for range 2 {
				cs := bridgetest.Connected(t, piped(t, a), proto.Legacy, nil)
				if got := bridgetest.ToolNames(t, cs); strings.Contains(strings.Join(got, " "), "new_") {
					t.Errorf("tools: %s", got)
				}
				before := lists.Load()
				for _, name := range append(many, "s__new_7") {
					if got := bridgetest.Said(t, cs, name, nil); !strings.Contains(got, "is new, and may do something else now") {
						t.Errorf("%s: %s", name, got)
					}
				}
				if n := lists.Load() - before; n > 0 {
					t.Errorf("the server was asked %d times for its tools", n)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if len(warned) != 1 || !strings.Contains(warned[0], " tools of the MCP server s are new or have changed") {
				t.Errorf("%d warnings: %.2000q", len(warned), warned)
			}
		})
	}
}
