package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/coretest"
)

// An optional argument of any tool may be null. A required one that is null counts as missing.
func TestNullIsNoArgument(t *testing.T) {
	for name, serve := range map[string]func(*testing.T, mcp.Options) (peer, func()){"a pipe": servePipe, "HTTP": serveHTTP} {
		synctest.Test(t, func(t *testing.T) {
			o := mcp.Options{Gateway: newGateway(coretest.NewMemory(), 0, nil), Principal: core.Local, Cwd: t.TempDir()}
			p, stop := serve(t, o)
			defer func() {
				stop()
				if err := o.Gateway.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			ask := func(line string) (answer string) {
				if err := p.Send(line); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				answer, err := p.Next()
				if err != nil {
					t.Fatal(err)
				}
				return answer
			}
			ask(initialize)
			var tools struct {
				Result struct {
					Tools []struct {
						Name   string
						Schema struct {
							Properties map[string]any
							Required   []string
						} `json:"inputSchema"`
					}
				}
			}
			if err := json.Unmarshal([]byte(ask(request("tools/list", ""))), &tools); err != nil || len(tools.Result.Tools) != 7 {
				t.Fatalf("%s: %d tools, %v", name, len(tools.Result.Tools), err)
			}
			for _, tool := range tools.Result.Tools {
				args := map[string]any{}
				for p := range tool.Schema.Properties {
					args[p] = nil
				}
				for _, p := range tool.Schema.Required {
					b, err := json.Marshal(map[string]any{"name": tool.Name, "arguments": args})
					if err != nil {
						t.Fatal(err)
					}
					if got := ask(request("tools/call", string(b))); !strings.Contains(got, "missing properties") {
						t.Errorf("%s: %s with %s null: %s", name, tool.Name, p, got)
					}
					args[p] = "say hello"
				}
				b, err := json.Marshal(map[string]any{"name": tool.Name, "arguments": args})
				if err != nil {
					t.Fatal(err)
				}
				if got := ask(request("tools/call", string(b))); strings.Contains(got, "Wrong arguments") {
					t.Errorf("%s: %s: %s", name, tool.Name, got)
				}
			}
		})
	}
}

// The list of tools names the agents of now, the default one first.
func TestToolsNameTheAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var agents []string
		o := mcp.Options{Gateway: newGateway(coretest.NewMemory(), 0, nil), Principal: core.Local, Cwd: t.TempDir(), Settings: func() mcp.Settings { return mcp.Settings{Agents: agents} }}
		p, stop := servePipe(t, o)
		defer func() {
			stop()
			if err := o.Gateway.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		ask := func(line string) string {
			if err := p.Send(line); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			answer, err := p.Next()
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		ask(initialize)
		for _, c := range []struct {
			agents []string
			want   string
		}{
			{nil, "Who answers, such as code or plan; omit for the default."},
			{[]string{"claude", "code", "plan"}, "Who answers: claude, code, plan; omit for claude."},
			{[]string{"code", "plan"}, "Who answers: code, plan; omit for code."},
		} {
			agents = c.agents
			if got := ask(request("tools/list", "")); strings.Count(got, `"description":"`+c.want+`"`) != 1 || strings.Count(got, "Who answers") != 1 {
				t.Errorf("%q: %s", c.agents, got)
			}
		}
	})
}
