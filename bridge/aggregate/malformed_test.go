package aggregate

import (
	"slices"
	"strings"
	"testing"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

// One malformed tool takes neither its server's other tools away nor those of other servers.
func TestMalformedToolIsRepairedInTheAggregate(t *testing.T) {
	t.Parallel()
	cs := bridgetest.Connected(t, piped(t, aggregate(t, upstream.Options{Servers: []upstream.Server{
		{Name: "a", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+
			`tools/list {"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"null","inputSchema":null},{"name":"none"},{"name":"types","inputSchema":{"type":["object"]}},{"name":"fine","inputSchema":{"type":"object"}}]}}`+"\n"+bridgetest.ToolDone)},
		{Name: "b", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+bridgetest.ToolDone)},
	}}, Options{})), proto.Legacy, nil)
	names := bridgetest.WellFormedTools(t, cs)
	for _, want := range []string{"agent_prompt", "null", "none", "types", "fine", "t"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %q", want, names)
		}
		if want == "agent_prompt" {
			continue
		}
		if got := bridgetest.Said(t, cs, want, map[string]any{}); got != "done" {
			t.Errorf("%s: %s", want, got)
		}
	}
}

// An answer over the limit of one message ends the call with an error, and the connection lives on.
func TestAnswerOverTheLimitEndsTheCallOfAnAggregate(t *testing.T) {
	t.Parallel()
	cs := bridgetest.Connected(t, piped(t, aggregate(t, upstream.Options{Servers: []upstream.Server{
		{Name: "a", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+"tools/call#1 huge\n"+bridgetest.ToolDone)},
	}}, Options{})), proto.Legacy, nil)
	bridgetest.ToolNames(t, cs)
	if got := bridgetest.Said(t, cs, "t", map[string]any{}); !strings.Contains(got, "exceeds 64 MiB") {
		t.Errorf("%.300s", got)
	}
	if got := bridgetest.Said(t, cs, "t", map[string]any{}); got != "done" {
		t.Errorf("the next call: %.300s", got)
	}
}
