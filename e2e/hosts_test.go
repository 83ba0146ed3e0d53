package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// mcpHost is a program whose model is given the tools of MCP servers.
type mcpHost struct {
	name    string // of its folder in hosts, too
	quick   bool   // it is installed quickly enough for every run
	refuses bool   // it answers questions to its user itself, with no
	program string // its file in node_modules, a pattern
	// settings writes the host's settings and returns its variables and arguments. server is the command line of
	// dragoman, url the model's.
	settings func(t *testing.T, p *place, server []string, url string) (env, args []string)
}

const hostPrompt = "Have dragoman make the file."

var mcpHosts = []mcpHost{
	{name: "claude", quick: true, program: "@anthropic-ai/claude-code-*/claude*", settings: claudeCode},
	{name: "codex", refuses: true, program: "@openai/codex/bin/codex.js", settings: codex},
	{name: "gemini", quick: true, program: "@google/gemini-cli/bundle/gemini.js", settings: geminiCLI},
	{name: "opencode", program: "opencode-*/bin/opencode", settings: openCode},
}

func claudeCode(t *testing.T, p *place, server []string, url string) (env, args []string) {
	config := p.settings(t, "mcp.json", asJSON(object{"mcpServers": object{"dragoman": object{"command": server[0], "args": server[1:]}}}))
	env = []string{
		"ANTHROPIC_API_KEY=sk-none", "ANTHROPIC_BASE_URL=" + url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"ENABLE_TOOL_SEARCH=false", "IS_SANDBOX=1",
	}
	args = []string{
		"-p", hostPrompt, "--mcp-config", config, "--strict-mcp-config", "--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose",
	}
	return env, args
}

func codex(t *testing.T, p *place, server []string, url string) (env, args []string) {
	p.settings(t, ".codex/config.toml", fmt.Sprintf(`model = "mock"
model_provider = "mock"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
apps = false
daemon_auto_start = false
plugins = false

[model_providers.mock]
name = "mock"
base_url = %q
wire_api = "responses"
env_key = "OPENAI_API_KEY"

[mcp_servers.dragoman]
command = %q
args = %s
`, url+"/v1", server[0], asJSON(server[1:])))
	return []string{"OPENAI_API_KEY=sk-none"}, []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json", hostPrompt}
}

func geminiCLI(t *testing.T, p *place, server []string, url string) (env, args []string) {
	p.settings(t, ".gemini/settings.json", asJSON(object{
		"general":    object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"privacy":    object{"usageStatisticsEnabled": false},
		"telemetry":  object{"enabled": false},
		"security":   object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
		"mcpServers": object{"dragoman": object{"command": server[0], "args": server[1:]}},
	}))
	return []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + url},
		[]string{"-p", hostPrompt, "--model", "gemini-2.5-flash", "--approval-mode", "yolo", "--output-format", "json"}
}

func openCode(_ *testing.T, _ *place, server []string, url string) (env, args []string) {
	return []string{
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_CONFIG_CONTENT=" + asJSON(object{
			"model": "mock/m",
			"provider": object{"mock": object{
				"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": url + "/v1", "apiKey": "none"}, "models": object{"m": object{"name": "m"}},
			}},
			"mcp": object{"dragoman": object{"type": "local", "command": server, "enabled": true}},
		}),
	}, []string{"run", "--format", "json", hostPrompt}
}

// settings writes a file below the home and returns its path.
func (p *place) settings(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(p.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// everyHost reports whether the hosts that take long to install are wanted as well (make test-hosts).
func everyHost() bool { return os.Getenv("DRAGOMAN_HOSTS") == "all" }

// A host's model has dragoman run a command, which needs an approval. Where the host's user is not asked, the
// model is told to ask, and how to go on; it sees so whether the host shows it texts or structured results.
func TestHosts(t *testing.T) {
	for _, h := range mcpHosts {
		if !h.quick && !everyHost() {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			results := p.host(t, h, passingOn)
			_, err := os.Stat(filepath.Join(p.work, "made"))
			if h.refuses {
				wantText(t, "the result", results[0], "This call did not run: rejected by")
				if err == nil || len(results) != 1 {
					t.Errorf("the user refused; the command ran: %v; the model was told:\n%q", err == nil, results)
				}
				return
			}
			if err != nil || len(results) != 3 {
				t.Fatalf("%v; the model was told:\n%q", err, results)
			}
			wantText(t, "the first result", results[0], "The turn waits for a decision on", "touch made", "Ask the user, then call agent_approve")
			wantText(t, "the second result", results[1], "agent_wait")
			wantText(t, "the third result", results[2], "exit status 0")
		})
	}
}

// host runs a host until its model has nothing more to do, and returns what the tools have told the model.
func (p *place) host(t *testing.T, h mcpHost, play func([]string) step) []string {
	t.Helper()
	program := needProgram(t, "hosts/"+h.name, h.program)
	m := newHostModel(t, play)
	config := p.config(t, "model: offline/demo\n") // hosts pass on the keys of their models
	env, args := h.settings(t, p, []string{binary, "--config", config, "--data-dir", p.data, "mcp", "--root", p.work}, m.url)
	if filepath.Ext(program) == ".js" {
		args, program = append([]string{program}, args...), "node"
	}
	out, code := p.program(t, append(env, "HTTP_PROXY="+m.url, "HTTPS_PROXY="+m.url, "NO_PROXY=127.0.0.1"), program, args...)
	if code != 0 {
		t.Errorf("%s exits with %d; it printed:\n%s", h.name, code, out)
	}
	results, outside := m.seen()
	if len(outside) > 0 {
		t.Logf("%s was kept from reaching %q", h.name, outside)
	}
	if len(results) == 0 {
		t.Fatalf("the model was told nothing; %s printed:\n%s", h.name, out)
	}
	return results
}

// program runs somebody else's program to its end, and returns what it printed and its exit code. Nothing of
// it is left then.
func (p *place) program(t *testing.T, env []string, name string, args ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Dir = slices.Concat(p.nodeEnv(), env), p.work
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ownGroup(cmd)
	cmd.Cancel = func() error { killGroup(cmd); return nil }
	err := cmd.Run()
	if cmd.Process == nil {
		t.Fatal(err)
	}
	killGroup(cmd)
	if err != nil && stderr.Len() > 0 {
		t.Logf("%s: %v\n%.4000s", filepath.Base(name), err, stderr.String())
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

var (
	sessionID  = regexp.MustCompile(`session_id\W+(\w+)`)
	approvalID = regexp.MustCompile(`approval_id\W+([\w-]+)`)
)

// passingOn is a model that prompts the agent, passes on its user's approval when it is told to, and waits
// for the turn's end.
func passingOn(results []string) step {
	if len(results) == 0 {
		return step{tool: "agent_prompt", args: object{"prompt": "run touch made"}}
	}
	last, session := results[len(results)-1], sessionID.FindStringSubmatch(results[0])
	approval := approvalID.FindStringSubmatch(last)
	switch {
	case session == nil || len(results) > 3:
	case approval != nil && strings.Contains(last, "call agent_approve"):
		return step{tool: "agent_approve", args: object{"session_id": session[1], "approval_id": approval[1], "decision": "allow_once"}}
	case strings.Contains(last, "agent_wait"):
		return step{tool: "agent_wait", args: object{"session_id": session[1]}}
	}
	return step{text: "There is nothing more to do."}
}
