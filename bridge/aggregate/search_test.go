package aggregate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

// Of too many tools a client is shown the agent's and two that find the others; rules
// hold for what they call as for any call.
func TestAggregateSearch(t *testing.T) {
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{
		hosted(t, "x", bridgetest.SmallServer("x", "read_mail", "send_mail", "paint", "forbidden", "call_tool"), nil), hosted(t, "y", bridgetest.SmallServer("y", "paint"), nil),
	}}, Options{Tools: 7, Check: func(_, tool string, args json.RawMessage) error {
		if tool == "forbidden" || string(args) == `{"to":"nobody"}` {
			return errors.New("a rule says no")
		}
		return nil
	}})
	for _, version := range bridgetest.Eras {
		cs := bridgetest.Connected(t, piped(t, a), version, nil)
		through := func(name string, args any) string {
			return bridgetest.Said(t, cs, "call_tool", map[string]any{"name": name, "arguments": args})
		}
		none := map[string]any{}
		if got := bridgetest.Said(t, cs, "tool_search", map[string]any{"query": "letters or mail", "limit": 1}); !strings.Contains(got, "2 of 6 tools fit; here are the best 1") || !strings.Contains(got, "_mail\n") || !strings.Contains(got, `arguments: {`) {
			t.Errorf("before anything was listed: %s", got)
		}
		if got := strings.Join(bridgetest.ToolNames(t, cs), " "); got != "agent_prompt reserved tool_search call_tool" {
			t.Errorf("shown: %s", got)
		}
		if got := bridgetest.Said(t, cs, "tool_search", map[string]any{"query": " "}); got != "There are 6 tools. Search for one to see what it is for.\nx__call_tool\nforbidden\nx__paint\nread_mail\nsend_mail\ny__paint\n" {
			t.Errorf("all: %s", got)
		}
		for want, got := range map[string]string{
			"x's send_mail": through("send_mail", none), "x's read_mail": bridgetest.Said(t, cs, "read_mail", none), "y's paint": through("y__paint", nil), "x's call_tool": bridgetest.Said(t, cs, "x__call_tool", none),
			"a rule says no": through("forbidden", none), "rule says no": through("send_mail", map[string]any{"to": "nobody"}),
			"there is no tool": through("nothing", none), "takes {": through("tool_search", none), "None of the 6": bridgetest.Said(t, cs, "tool_search", map[string]any{"query": "zebra"}),
			"I am the agent": through("agent_prompt", none),
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s", want, got)
			}
		}
	}
	few := bridgetest.Connected(t, piped(t, aggregate(t, upstream.Options{Servers: []upstream.Server{hosted(t, "y", bridgetest.SmallServer("y", "paint"), nil)}}, Options{Tools: 7})), proto.Legacy, nil)
	if got := strings.Join(bridgetest.ToolNames(t, few), " "); got != "agent_prompt reserved paint" {
		t.Errorf("few: %s", got)
	}
}
