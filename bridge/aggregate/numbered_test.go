package aggregate

import (
	"strings"
	"testing"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

// The tools of a server of the early dialect are listed and called as those of any other, if it has a
// list of them; one that refuses the list has none.
func TestServersOfTheEarlyDialect(t *testing.T) {
	t.Parallel()
	const hello = `server/discover {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"unknown method"}}
initialize {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"protocolVersion must be a number"}}
initialize1 {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":1,"capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}}
tools/call {"jsonrpc":"2.0","id":$ID,"result":{"output":"called"}}
`
	server := func(name, list string) upstream.Server {
		return upstream.Server{Name: name, Endpoint: plays("script", "SCRIPT="+hello+list)}
	}
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{
		server("lists", `tools/list {"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}`),
		server("refuses", `tools/list {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"unknown method"}}`),
	}}, Options{})
	for _, version := range bridgetest.Eras {
		cs := bridgetest.Connected(t, piped(t, a), version, nil)
		if got := strings.Join(bridgetest.ToolNames(t, cs), " "); got != "agent_prompt reserved t" {
			t.Errorf("%s: tools: %s", version, got)
		}
		if got := bridgetest.Said(t, cs, "t", map[string]any{}); got != "called" {
			t.Errorf("%s: t: %s", version, got)
		}
	}
}
