package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// servers configures the reference servers from npm, and says where they are.
func (p *place) servers(t *testing.T, more string) (config, everything string) {
	t.Helper()
	dir := filepath.Join(needClients(t), "node_modules", "@modelcontextprotocol")
	everything = filepath.Join(dir, "server-everything", "dist", "index.js")
	return p.config(t, fmt.Sprintf(`mcp_servers:
  everything: {command: node, args: [%q]}
  files: {command: node, args: [%q, %q], without_tools: ["*write*", "edit_file"]}
  broken: {command: node, args: ["-e", "console.error('no license found'); process.exit(7)"]}
%s`, everything, filepath.Join(dir, "server-filesystem", "dist", "index.js"), p.work, more)), everything
}

func TestServersOfOthers(t *testing.T) {
	p := newPlace(t)
	cfg, _ := p.servers(t, "")
	out, errs, code := p.run(t, "--config", cfg, "mcp-servers", "list", "--tools")
	if code != 1 { // one does not start
		t.Fatalf("exit code %d\n%s\n%s", code, out, errs)
	}
	for _, want := range []string{"  echo ", "  read_text_file ", "exit code 7; it said: no license found"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	for _, unwanted := range []string{"write_file", "edit_file"} {
		if strings.Contains(out, unwanted) {
			t.Errorf("%s was taken out, and is in\n%s", unwanted, out)
		}
	}
}

// A model's call of a server's tool reaches it from every protocol's clients.
func TestServersToolsInATurn(t *testing.T) {
	p := newPlace(t)
	url := p.aimock(t, `{"fixtures":[
		{"match":{"toolCallId":"call_1"},"response":{"toolCalls":[{"id":"call_2","name":"files__read_text_file","arguments":{"path":"notes.txt"}}]}},
		{"match":{"toolCallId":"call_2"},"response":{"content":"It says what the server says."}},
		{"match":{"userMessage":"ask the server"},"response":{"toolCalls":[{"id":"call_1","name":"everything__echo","arguments":{"message":"from the model"}}]}}]}`)
	cfg, _ := p.servers(t, fmt.Sprintf(`model: mock/gpt-mock
providers:
  mock: {kind: openai-chat, base_url: "%s/v1", api_key: x}
`, url))
	for _, server := range []string{"everything", "files"} { // a turn does not wait for ever for the tools of a server that starts
		if out, errs, code := p.run(t, "--config", cfg, "mcp-servers", "approve", server); code != 0 {
			t.Fatalf("approve %s: exit code %d\n%s\n%s", server, code, out, errs)
		}
	}
	const want = "It says what the server says."
	for protocol, args := range map[string][]string{"acp": {"acp"}, "eca": {"eca"}} {
		s := p.drive(t, protocol+".mjs", slices.Concat([]string{"--prompt", "ask the server", "--", "--config", cfg}, args)...)
		if !s.contains("Echo: from the model") {
			t.Errorf("%s: the server's answer is not shown", protocol)
		}
		kind := map[string]string{"acp": "stop", "eca": "finished"}[protocol]
		wantText(t, protocol, get[string](s.one(kind, 0), "text"), want)
	}
}

// contains reports whether anything that the driver saw holds a text.
func (s *session) contains(text string) bool {
	return slices.ContainsFunc(s.events, func(e seen) bool { return strings.Contains(string(e.raw), text) })
}

// What the reference server says to its client is the same, message for message,
// with the gateway in between.
func TestServerAloneIsNotChanged(t *testing.T) {
	p := newPlace(t)
	cfg, everything := p.servers(t, "")
	said := strings.Join([]string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":"two","method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"prompts/list"}`,
		`{"jsonrpc":"2.0","id":4,"method":"resources/templates/list"}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x"},"_meta":{"progressToken":"p"}}}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"get-tiny-image","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"no/such"}`,
	}, "\n") + "\n"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answers := func(cmd *exec.Cmd) []string {
		t.Helper()
		cmd.Env, cmd.Dir, cmd.Stdin = p.nodeEnv(), p.work, strings.NewReader(said)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", cmd.Args, err)
		}
		var list []string
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, `"id":`) {
				list = append(list, line)
			}
		}
		slices.Sort(list)
		return list
	}
	direct := answers(exec.CommandContext(ctx, "node", everything))
	relayed := answers(exec.CommandContext(ctx, binary, "--config", cfg, "mcp", "--only", "everything"))
	if len(direct) != 7 || !slices.Equal(direct, relayed) {
		t.Errorf("directly:\n%s\nthrough us:\n%s", strings.Join(direct, ""), strings.Join(relayed, ""))
	}
}
