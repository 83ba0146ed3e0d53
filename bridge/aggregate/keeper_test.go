package aggregate

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/login/logintest"
	"dragoman/bridge/upstream"
)

// begun answers a call with nothing but a log message.
const begun = `tools/call {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"begun"}}`

// underWay begins a call that the server never answers.
func underWay(c *bridgetest.Raw, id string) {
	c.Say(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t"}}`)
	c.Until("begun")
}

// A server that a person stops is stopped for clients, too, until somebody starts it
// again; no other is.
func TestAggregateOfAStoppedServer(t *testing.T) {
	t.Parallel()
	var starts atomic.Int32
	x := func(ctx context.Context) (upstream.Endpoint, error) {
		starts.Add(1)
		return plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+begun)(ctx)
	}
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "x", Endpoint: x}, {Name: "y", Endpoint: plays("sdk")}}}, Options{})
	t.Cleanup(a.box.Close)
	c := spoken(t, a, "{}")
	underWay(c, "1")
	if err := a.box.Stop("x"); err != nil {
		t.Fatal(err)
	}
	if line := bridgetest.Last(c.Until(`"id":1,`)); !strings.Contains(line, "ended in the middle of the call") {
		t.Error(line)
	}
	c.Say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}`)
	if line := bridgetest.Last(c.Until(`"id":2,`)); !strings.Contains(line, "it was stopped, and stays so until somebody starts it again") {
		t.Error(line)
	}
	c.Say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`)
	if line := bridgetest.Last(c.Until(`"id":3,`)); !strings.Contains(line, "xx") {
		t.Error(line)
	}
	if err := a.box.Start(nil, "x"); err != nil {
		t.Fatal(err)
	}
	underWay(c, "4")
	// A client that comes while the server is stopped does not start it, either.
	if err := a.box.Stop("x"); err != nil {
		t.Fatal(err)
	}
	before := starts.Load()
	late := spoken(t, a, "{}")
	late.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if line := bridgetest.Last(late.Until(`"id":1,`)); strings.Contains(line, `"name":"t"`) || !strings.Contains(line, `"echo"`) || starts.Load() != before {
		t.Errorf("%d starts more, %s", starts.Load()-before, line)
	}
}

// A change of the configuration ends the clients' connections to what has changed, and
// no others.
func TestAggregateOfAChangedConfiguration(t *testing.T) {
	x, y := upstream.Server{Name: "x", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+begun)}, upstream.Server{Name: "y", Endpoint: plays("sdk")}
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{x, y}}, Options{})
	c := spoken(t, a, "{}")
	c.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pid"}}`)
	pid := bridgetest.Last(c.Until(`"id":1,`))
	underWay(c, "2")
	x.Rev++
	a.box.Set([]upstream.Server{x, y})
	if line := bridgetest.Last(c.Until(`"id":2,`)); !strings.Contains(line, "ended in the middle of the call") {
		t.Error(line)
	}
	c.Say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}`)
	if line := bridgetest.Last(c.Until(`"id":3,`)); !strings.Contains(line, "the configuration has changed; reconnect to use it") {
		t.Error(line)
	}
	c.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pid"}}`)
	if line := bridgetest.Last(c.Until(`"id":1,`)); line != pid {
		t.Errorf("y was started again: %s, before %s", line, pid)
	}
}

// A login starts the connections that clients waited for, whose lists they are told of; a
// logout ends them.
func TestAggregateOfAServerThatWantsALogin(t *testing.T) {
	t.Parallel()
	authority := logintest.New(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return bridgetest.SDKServer() }, nil))
	up := upstream.Server{Name: "up", Endpoint: at(bridgetest.Place{URL: authority.Resource})}
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{up}, Tokens: &logintest.Memory{}}, Options{})
	c := spoken(t, a, "{}")
	c.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if line := bridgetest.Last(c.Until(`"id":1,`)); strings.Contains(line, `"echo"`) {
		t.Error(line)
	}
	if err := a.box.Login(bridgetest.Patient(t), "up", logintest.Browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	c.Until("notifications/tools/list_changed")
	c.Say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`)
	if line := bridgetest.Last(c.Until(`"id":2,`)); !strings.Contains(line, "xx") {
		t.Error(line)
	}
	if err := a.box.Logout(bridgetest.Patient(t), "up"); err != nil {
		t.Fatal(err)
	}
	c.Say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`)
	if line := bridgetest.Last(c.Until(`"id":3,`)); !strings.Contains(line, "requires a login: dragoman mcp-servers login up") {
		t.Error(line)
	}
}
