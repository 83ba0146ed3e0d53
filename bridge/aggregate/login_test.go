package aggregate

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/login/logintest"
	"dragoman/bridge/upstream"
)

// A client sees that a server wants a login, and how to log in: in a log message when the server
// refuses us, in the error for a tool that is missing, and in the instructions of later sessions.
func TestClientIsToldOfALogin(t *testing.T) {
	const how = "The MCP server up is missing: it requires a login: dragoman mcp-servers login up"
	a := logintest.New(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return bridgetest.SDKServer() }, nil))
	both := aggregate(t, upstream.Options{
		Servers: []upstream.Server{{Name: "up", Endpoint: at(bridgetest.Place{URL: a.Resource})}}, Tokens: &logintest.Memory{},
	}, Options{})
	logged, changed := make(chan string, 10), make(chan struct{}, 10)
	cs := bridgetest.Connected(t, piped(t, both), proto.Legacy, &mcp.ClientOptions{
		LoggingMessageHandler:  func(_ context.Context, r *mcp.LoggingMessageRequest) { logged <- r.Params.Data.(string) }, //nolint:staticcheck // servers that log live on
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	if names := bridgetest.ToolNames(t, cs); slices.Contains(names, "echo") {
		t.Errorf("listed %q", names)
	}
	select {
	case got := <-logged:
		if got != how {
			t.Errorf("logged %q", got)
		}
	case <-bridgetest.Patient(t).Done():
		t.Error("nothing was logged")
	}
	if got := bridgetest.Said(t, cs, "echo", nil); !strings.Contains(got, how) {
		t.Errorf("the error: %s", got)
	}
	for _, version := range bridgetest.Eras {
		later := bridgetest.Connected(t, piped(t, both), version, nil)
		if got := later.InitializeResult().Instructions; !strings.Contains(got, how) {
			t.Errorf("the instructions: %q", got)
		}
	}
	if err := both.box.Login(bridgetest.Patient(t), "up", logintest.Browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	case <-bridgetest.Patient(t).Done():
		t.Error("the changed list was not announced")
	}
	if names := bridgetest.ToolNames(t, cs); !slices.Contains(names, "echo") {
		t.Errorf("listed %q", names)
	}
	if got := bridgetest.Connected(t, piped(t, both), proto.Legacy, nil).InitializeResult().Instructions; strings.Contains(got, "is missing") {
		t.Errorf("the instructions: %q", got)
	}
}
