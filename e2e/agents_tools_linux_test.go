package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tideServer is an MCP server with one tool. It notes its calls in a file.
const tideServer = `#!/bin/bash
while read -r line; do
	id=${line#*'"id":'}; id=${id%%[,\}]*}
	case $line in
	*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"harbour","version":"1"}}}\n' "$id" ;;
	*'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"tide","inputSchema":{"type":"object","properties":{"day":{"type":"string"}}}}]}}\n' "$id" ;;
	*'"tools/call"'*)
		echo called >>"$0.calls"
		printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"The tide is high."}]}}\n' "$id" ;;
	*'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
	esac
done
`

// An agent has the tools of the user's MCP servers. The user is asked once about a call, whether the agent asks as
// well or not, and the answer holds.
func TestAgentsCallTools(t *testing.T) {
	forAgents(t, false, func(t *testing.T, a acpAgent) {
		if a.noTools != "" {
			return
		}
		p := newPlace(t)
		m := newHostModel(t, func(results []string) step { // aimock cannot call Codex's tools: they are in namespaces
			if len(results) == 0 {
				return step{tool: "harbour__tide", args: object{"day": "today"}}
			}
			return step{text: "I was told: " + results[len(results)-1]}
		})
		m.marks = "harbour__tide"
		server := filepath.Join(p.home, "harbour")
		if err := os.WriteFile(server, []byte(tideServer), 0o700); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
		flags := a.configured(t, p, m.url, object{"mcp_servers": object{"harbour": object{"command": server}}})
		c := p.acpClient(t, object{}, true, flags...)
		for _, permission := range []string{"reject_once", "allow_once"} {
			id := c.sessionWith(a.name)
			c.permission, c.asked = permission, nil
			// Claude waits a few seconds for servers, on a busy machine too few: then its first request has no tools of theirs.
			for before, try := m.plays(), 0; m.plays() == before && try < 5; try++ {
				if stop := c.prompt(id, "How is the tide?"); stop != "end_turn" {
					t.Errorf("%s: %s\n%s", permission, stop, c.stderr())
				}
			}
			if n := len(c.asked); n != 1 {
				t.Errorf("%s: the client was asked %q", permission, c.asked)
			}
			calls, err := os.ReadFile(server + ".calls")
			n, want := strings.Count(string(calls), "called"), 0
			if permission == "allow_once" {
				want = 1
			}
			if n != want {
				t.Errorf("%s: the server was called %d times, want %d (%v)", permission, n, want, err)
			}
			if said := c.said(id); strings.Contains(said, "The tide is high.") != (want == 1) {
				t.Errorf("%s: the agent said %q", permission, said)
			}
		}
		c.leave()
		p.noAgents(t)
	})
}
