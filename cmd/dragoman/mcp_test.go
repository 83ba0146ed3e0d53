package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dragoman/bridge/agent/agenttest"
	"dragoman/cmd/internal/program"
)

// The token is created once, printed alone, and readable only by its owner.
func TestMCPToken(t *testing.T) {
	p := newPlace(t)
	first := p.run(t, "", "mcp", "--show-token")
	again := p.run(t, "", "mcp", "--show-token")
	if first.code != 0 || first.out != again.out || len(strings.TrimSpace(first.out)) < 40 || strings.Count(first.out, "\n") != 1 {
		t.Errorf("%+v, %+v", first, again)
	}
	if runtime.GOOS == "windows" {
		return // which has no such modes
	}
	file := filepath.Join(p.data, "mcp-token")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if o := p.run(t, "", "mcp", "--show-token"); o.code != 1 || !strings.Contains(o.errs, "can be read by others") || o.out != "" {
		t.Errorf("%+v", o)
	}
}

func TestMCPFlagsThatDoNotFit(t *testing.T) {
	p := newPlace(t)
	for args, want := range map[string]string{
		"mcp --no-auth":                           "--no-auth has an effect only with --http",
		"mcp --http 0.0.0.0:0 --no-auth":          "0.0.0.0:0 is not one",
		"mcp --http example.com:0 --no-auth":      "is not one",
		"mcp --http nonsense":                     "nonsense",
		"mcp --http 127.0.0.1:0 --root nowhere":   "nowhere",
		"mcp --show-token --no-auth --http :0":    "--no-auth and --show-token exclude each other",
		"mcp --http 127.0.0.1:99999999 --no-auth": "port",
	} {
		if o := p.run(t, "", strings.Fields(args)...); o.code == 0 || !strings.Contains(o.errs, want) {
			t.Errorf("%s: exit %d, %s", args, o.code, o.errs)
		}
	}
}

// Clients may still have --codex-tools in their settings: it warns, is not in the help, and
// changes nothing else.
func TestCodexToolsOnlyWarns(t *testing.T) {
	p := newPlace(t)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
	plain := p.run(t, hello, "mcp")
	o := p.run(t, hello, "mcp", "--codex-tools")
	if o.code != program.ExitOK || o.out != plain.out || !strings.Contains(o.out, "agent_prompt") {
		t.Errorf("with the flag, exit code %d:\n%s\nwithout:\n%s", o.code, o.out, plain.out)
	}
	if !strings.Contains(o.errs, "--codex-tools does nothing any more") || !strings.Contains(o.errs, "use agent_prompt") {
		t.Errorf("the warning is %q", o.errs)
	}
	if help := p.well(t, "", "mcp", "--help"); strings.Contains(help, "codex") {
		t.Errorf("the help is\n%s", help)
	}
}

// The tools' list names the configured agents, and starts none of them.
func TestToolsNameTheConfiguredAgents(t *testing.T) {
	p := newPlace(t)
	record := filepath.Join(p.home, "record")
	p.config(t, "default_agent: scripted\nagents:\n"+entry("scripted", agenttest.Options{Record: record}, ""))
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
	if got := p.well(t, hello, "mcp"); !strings.Contains(got, `"Who answers: scripted, code, plan; omit for scripted."`) {
		t.Errorf("%s", got)
	}
	if b, err := os.ReadFile(record); !os.IsNotExist(err) {
		t.Errorf("the agent was started: %s, %v", b, err)
	}
}
