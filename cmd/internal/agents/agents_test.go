package agents

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/bridge/agent"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/program/programtest"
	"dragoman/configs"
)

// environment returns one with a configuration, and a folder that is its PATH and has the given
// programs.
func environment(t *testing.T, config string, programs ...string) (env *program.Environment, bin string, out *bytes.Buffer) {
	t.Helper()
	programtest.UnixOnly(t) // what is executable has another name elsewhere
	home := t.TempDir()
	bin = filepath.Join(home, "bin")
	for _, name := range programs {
		programtest.Write(t, filepath.Join(bin, name), "#!/bin/sh\nexit 0\n")
		if err := os.Chmod(filepath.Join(bin, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	programtest.Write(t, filepath.Join(home, "config.yaml"), config)
	vars := map[string]string{"HOME": home, "PATH": bin}
	out = &bytes.Buffer{}
	return &program.Environment{
		Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		Out:    out, Flags: program.Flags{Config: filepath.Join(home, "config.yaml")},
	}, bin, out
}

const sample = `
default_agent: claude
agents:
  claude: {acp: {command: claude-agent-acp, env: {ANTHROPIC_API_KEY: sk-secret-canary}}, description: Claude}
  box: {acp: {command: [ssh, box, "claude-agent-acp"]}, mode: all}
  here: {acp: {command: bin/mine --acp}, mode: subagent}
  lost: {acp: {command: codex-acp}}
  unset: {acp: {command: "${env:NOWHERE}"}}
  elsewhere: {acp: {command: claude-agent-acp, env: {PATH: /nowhere}}}
  explorer: {mode: all, description: Looks}
  reviewer: {description: Reviews}
`

func TestList(t *testing.T) {
	env, bin, out := environment(t, sample, "claude-agent-acp", "mine", "ssh")
	if err := List(t.Context(), env, false); err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(out.String(), bin, "BIN")
	squeezed := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, line := range []string{
		"claude (default) external people - own BIN/claude-agent-acp Claude\ncode builtin people - - - Works on the code",
		"explorer builtin people, tasks - - - Looks", "general builtin tasks - - - ", "box external people, tasks - own BIN/ssh External agent (ssh)",
		"here external tasks - own BIN/mine External agent (mine)", "lost external people - own codex-acp: there is no such program in PATH",
		"unset external people - own environment variable NOWHERE is not set; ",
		"elsewhere external people - own claude-agent-acp: there is no such program in PATH", "reviewer configured people - - - Reviews",
	} {
		if !strings.Contains(squeezed(got), squeezed(line)) {
			t.Errorf("no %q in\n%s", line, got)
		}
	}
	if strings.Contains(got, "canary") {
		t.Error("a secret is shown")
	}
}

func TestListJSON(t *testing.T) {
	env, bin, out := environment(t, sample, "claude-agent-acp", "mine", "ssh")
	if err := List(t.Context(), env, true); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(out.String(), bin, "BIN")), "\n")
	for _, want := range []string{
		`{"name":"claude","kind":"external","mode":"primary","default":true,"description":"Claude","command":["claude-agent-acp"],"program":"BIN/claude-agent-acp","origin":"own"}`,
		`{"name":"box","kind":"external","mode":"all","description":"External agent (ssh)","command":["ssh","box","claude-agent-acp"],"program":"BIN/ssh","origin":"own"}`,
		`{"name":"lost","kind":"external","mode":"primary","description":"External agent (codex-acp)","command":["codex-acp"],"origin":"own","problem":"codex-acp: there is no such program in PATH"}`,
		`{"name":"reviewer","kind":"configured","mode":"primary","description":"Reviews"}`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if len(lines) != 11 {
		t.Errorf("%d agents", len(lines))
	}
}

// A program's references are looked up when it is started, each time. Its secrets are removed from
// what it says.
func TestProgramsAreResolvedAtTheirStart(t *testing.T) {
	env, bin, _ := environment(t, "agents: {claude: {acp: {command: [bin/claude, '--dir=${env:HERE}'], env: {KEY: '${env:KEY}', MODE: warn}}, options: {fast: true, n: 5}, idle: 0, mcp: direct}}\n")
	c, err := env.LoadConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	now := map[string]string{}
	lookup := func(name string) (string, bool) { v, ok := now[name]; return v, ok }
	o := Options("claude", c.Agents["claude"], lookup, nil, agent.Options{Version: "1"})
	if o.Name != "claude" || o.Known.ID != "claude-acp" || o.Version != "1" || !o.Direct || o.Idle != 0 || o.Choices["fast"] != "true" || o.Choices["n"] != "5" {
		t.Errorf("%+v", o)
	}
	if _, err := o.Program(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "agents.claude.acp.command[1]: environment variable HERE is not set") {
		t.Errorf("without the variable: %v", err)
	}
	for _, key := range []string{"canary-one", "canary-two"} {
		now["HERE"], now["KEY"] = "/x", key
		p, err := o.Program(t.Context(), nil)
		if err != nil || p.Path != filepath.Join(bin, "claude") || !slices.Equal(p.Args, []string{"--dir=/x"}) || p.Env["KEY"] != key {
			t.Fatalf("%+v, %v", p, err)
		}
		if got := p.Hide("warn: the key " + key + " is wrong"); got != "warn: the key [KEY] is wrong" {
			t.Errorf("%s", got)
		}
	}
}

// The names of the built-in agents are those of the configuration.
func TestBuiltinAgents(t *testing.T) {
	var names []string
	for _, b := range builtin {
		names = append(names, b.Name)
	}
	if !slices.Equal(names, configs.BuiltinAgents()) {
		t.Errorf("%v", names)
	}
}

// An agent that is not configured gets a suggestion: one that is, or how to install a known one.
func TestUnknownAgents(t *testing.T) {
	for _, c := range []struct {
		name    string
		names   []string
		problem string
		hint    string
	}{
		{"cluade", []string{"claude"}, `there is no external agent cluade in the configuration; did you mean "claude"?`, ""},
		{"claude", []string{"box"}, "there is no external agent claude", "\"dragoman agents add claude\" adds it; or install it (npm install -g @agentclientprotocol/claude-agent-acp) and write: agents: {claude: {acp: {command: claude-agent-acp}}}"},
		{"codex", nil, "there is no external agent codex", "agents: {codex: {acp: {command: codex-acp}}}"},
		{"opencod", nil, "there is no external agent opencod", "agents: {opencode: {acp: {command: opencode acp}}}"},
		{"zzzz", []string{"a", "b"}, "there is no external agent zzzz in the configuration; there are a, b", "\"dragoman agents add\" lists agents"},
	} {
		problem, hint := Unknown(c.name, c.names)
		if !strings.HasPrefix(problem, c.problem) || !strings.Contains(hint, c.hint) || c.hint == "" && hint != "" {
			t.Errorf("%s: %s; %s", c.name, problem, hint)
		}
	}
	for program, want := range map[string]string{
		"claude-agent-acp": "npm install -g @agentclientprotocol/claude-agent-acp", "claude-agnet-acp": "did you mean claude-agent-acp", "/opt/gemini": "@google/gemini-cli",
		"npx": "Node.js", "something-else": "install it, or write its absolute path",
	} {
		if got := missing(program); !strings.Contains(got, want) {
			t.Errorf("%s: %s", program, got)
		}
	}
}

// A program that cannot be started has one sentence of advice on what to change.
func TestAdviceOnPrograms(t *testing.T) {
	for _, c := range []struct {
		name, command string
		file          string // the text of bin/agent
		mode          os.FileMode
		found         bool
		want          string
	}{
		{"no first line", "bin/agent", "console.log(1)\n", 0o700, true, "its first line does not name the program that runs it, such as #!/usr/bin/env node"},
		{"empty", "bin/agent", "", 0o700, true, "its first line does not name the program"},
		{"no interpreter", "bin/agent", "#!/no/such/node --x\n", 0o700, true, "its first line names /no/such/node, which is not there"},
		{"no line end", "bin/agent", "#!/no/such/node", 0o700, true, "its first line names /no/such/node, which is not there"},
		{"CR LF", "bin/agent", "#!/bin/sh\r\nexit 0\r\n", 0o700, true, "its lines end as on Windows (CR LF)"},
		{"CR LF behind env", "bin/agent", "#!/usr/bin/env sh\r\nexit 0\r\n", 0o700, true, "its lines end as on Windows (CR LF)"},
		{"another processor", "bin/agent", "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 200), 0o700, true, "it was built for another system or processor"},
		{"it ends by itself", "bin/agent", "#!/bin/sh\nexit 3\n", 0o700, true, ""},
		{"not executable", "bin/agent", "#!/bin/sh\n", 0o600, false, "make it executable: chmod +x bin/agent"},
		{"a folder", "bin/", "", 0o700, false, "write the path of the program in it"},
		{"a line in brackets", "sh -c x", "", 0o700, false, "write the line without brackets, or each word as an element"},
		{"a path in brackets", "bin/agent --acp", "", 0o700, false, "write the line without brackets, or each word as an element"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env, bin, _ := environment(t, "agents: {bot: {acp: {command: ['"+c.command+"']}}}\n")
			path := filepath.Join(bin, "agent")
			programtest.Write(t, path, c.file)
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			config, err := env.LoadConfig(nil)
			if err != nil {
				t.Fatal(err)
			}
			x := New(env, nil, config, "bot")
			at, err := x.Find(t.Context())
			if c.found != (err == nil) {
				t.Fatalf("%s, %v", at, err)
			}
			got := ""
			if err != nil {
				got = x.Missing(err)
			} else if _, err = x.Try(t.Context()); err == nil {
				t.Fatal("it was started")
			} else {
				got = x.Hint(at, err)
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%v: %s", err, got)
			}
		})
	}
}
