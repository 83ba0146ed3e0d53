package configs

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program returns an external agent of a command line.
func program(words ...string) Agent {
	var a Agent
	for _, w := range words {
		a.ACP.Command = append(a.ACP.Command, NewValue(w))
	}
	return a
}

func withEnv(a Agent, name, value string) Agent {
	a.ACP.Env = map[string]Secret{name: NewSecret(value)}
	return a
}

// loadAgents loads an agents.json, and a configuration next to it unless that is empty.
func loadAgents(t *testing.T, agents, yaml string, editor *Config) (*Config, error) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "agents.json"), agents, 0o600)
	if yaml != "" {
		write(t, filepath.Join(dir, "config.yaml"), yaml, 0o600)
	}
	c, err := Load(Options{ConfigDir: dir, Editor: editor})
	for i := range c.Warnings {
		c.Warnings[i].File = filepath.Base(c.Warnings[i].File)
	}
	return c, err
}

// An entry has the form of the YAML, or that of an editor's settings. A mistake in one affects no
// other.
func TestAgentsOfAgentsJSON(t *testing.T) {
	const text = `// mine
{"agents": {
  "claude": {"acp": {"command": ["node", "a b.js"], "env": {"KEY": "${env:KEY}"}}, "options": {"mode": "plan"}},
  "line": {"acp": {"command": "codex-acp --x"}},
  "pasted": {"type": "custom", "command": "/opt/x", "args": ["acp"], "env": {"A": "b"}},
  "registry": {"type": "registry"},
  "no name": {"acp": {"command": "x"}},
  "code": {"acp": {"command": "x"}},
  "typo": {"acp": {"comand": "x"}},
  "taken": {"acp": {"command": "x"}},
},
"agent_servers": {"zed": {"command": "gemini", "args": ["--acp"], "env": {}}},
"agnts": {"x": {"command": "x"}},
"other": {"acp": {"command": "x"}}}`
	c, err := loadAgents(t, text, "agents: {taken: {acp: {command: mine}}}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		words := []string{name}
		for _, w := range c.Agents[name].ACP.Command {
			words = append(words, w.String())
		}
		fmt.Fprintln(&got, strings.Join(words, "|"), len(c.Agents[name].ACP.Env), c.AgentListed(name))
	}
	for _, w := range c.Warnings {
		fmt.Fprintln(&got, w)
	}
	const want = `claude|node|a b.js 1 true
line|codex-acp|--x 0 true
pasted|/opt/x|acp 1 true
taken|mine 0 false
zed|gemini|--acp 0 true
agents.json:6:15: agents.registry: an agent of the registry is added by dragoman agents add
agents.json:7:3: agents["no name"]: a name is 1 to 64 letters, digits, - and _
agents.json:8:12: agents.code.acp: "code" is a built-in agent; an external one needs another name than code, plan, explorer or general
agents.json:9:20: agents.typo.acp.comand: unknown key; did you mean "command"?
agents.json:10:3: agents.taken: is not used, because DIR configures it
agents.json:13:1: agnts: is not read; did you mean "agents"?
agents.json:14:1: other: is not read: an agent belongs into agents
`
	text2 := strings.ReplaceAll(got.String(), c.Source+":1:10", "DIR")
	if text2 != want {
		t.Errorf("got\n%swant\n%s", text2, want)
	}
	if len(c.UnusableAgents) != 4 || c.AgentsFile == "" || !strings.Contains(string(Marshal(c)), "# from "+c.AgentsFile+":3:3\n  claude:") {
		t.Errorf("%d unusable; %s\n%s", len(c.UnusableAgents), c.AgentsFile, Marshal(c))
	}
}

// A file that is not such an object is an error, as for mcp.json.
func TestWrongAgentsFile(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: "must be an object, {\"agents\": {…}}", `{"agents": 1}`: "must be an object, {NAME: {…}}", `{`: "the file ends too early",
		`{"agents": {}, "agents": {}}`: "duplicate member",
	} {
		if _, err := loadAgents(t, text, "", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The editor's settings change nothing of an agent of agents.json, and an agent of a repository's file
// is not read.
func TestEditorAndAgentsFile(t *testing.T) {
	editor, _, err := ParseEditor([]byte(`{"agents": {"claude": {"model": "openrouter/b"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := loadAgents(t, `{"agents": {"claude": {"acp": {"command": ["mine"]}}}}`, "", editor)
	if a := c.Agents["claude"]; err != nil || len(a.ACP.Command) != 1 || a.ACP.Command[0].String() != "mine" || a.Model != "" {
		t.Errorf("%+v, %v", a, err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "agents.json"), `{"agents": {"claude": {"acp": {"command": "evil"}}}}`, 0o600)
	write(t, filepath.Join(dir, "config.yaml"), "", 0o600)
	if c, err := Load(Options{Path: filepath.Join(dir, "config.yaml"), Env: environment("HOME", dir)}); err != nil || len(c.Agents) > 0 {
		t.Errorf("a repository's file is read: %v, %v", c.Agents, err)
	}
	if got := AgentsFile(filepath.Join(dir, "x.yaml"), nil); got != filepath.Join(dir, "x.agents.json") {
		t.Error(got)
	}
}

// Only the named entry changes; comments and other entries stay to the byte.
func TestAgentEdits(t *testing.T) {
	const text = `// mine
{
  // the first
  "agents": {
    "a": {"acp": {"command": ["x", "1"]}, /* stays */ "options": {"mode": "plan"}},
    "b": {"command": "y", "args": ["acp"], "env": {"K": "v"}} // pasted
  },
  "agent_servers": {"c": {"command": "z"}}
}
`
	with := func(a Agent) Agent {
		a.Options = map[string]Option{"mode": "plan"}
		return a
	}
	for _, c := range []struct {
		name string
		edit AgentEdit
		old  string // what is replaced in the text
		is   string
	}{
		{"update", PutAgent("a", with(withEnv(program("x", "2"), "U", "1"))), `{"command": ["x", "1"]}`, `{"command": ["x", "2"], "env": {"U": "1"}}`},
		{"the same", PutAgent("b", withEnv(program("y", "acp"), "K", "v")), "", ""},
		{"pasted", PutAgent("b", program("y", "2")), `{"command": "y", "args": ["acp"], "env": {"K": "v"}}`, "{\n      \"acp\": {\n        \"command\": [\"y\", \"2\"]\n      }\n    }"},
		{"drop", DropAgent("c"), `{"c": {"command": "z"}}`, "{}"},
		{"add", AddAgent("d", program("$${x")), " // pasted\n", ", // pasted\n    \"d\": {\n      \"acp\": {\n        \"command\": [\"$${x\"]\n      }\n    }\n"},
	} {
		got, err := ApplyAgents("agents.json", []byte(text), nil, c.edit)
		want := text
		if c.old != "" {
			want = strings.Replace(text, c.old, c.is, 1)
		}
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s", c.name, err, got)
		}
	}
	for _, c := range []struct {
		edit AgentEdit
		want string
	}{
		{AddAgent("a", program("x")), "is there already"},
		{DropAgent("A"), `is not in this file; did you mean "a"?`},
		{AddAgent("code", program("x")), "is a built-in agent"},
		{AddAgent("a b", program("x")), "a name is 1 to 64 letters, digits, - and _"},
		{AddAgent("n", Agent{}), ""},
	} {
		if got, err := ApplyAgents("agents.json", []byte(text), nil, c.edit); c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %s\n%s", err, c.want, got)
		}
	}
	user, problems := decodeFile("config.yaml", []byte("agents: {a: {acp: {command: y}}}\n"), true)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, edit := range []AgentEdit{DropAgent("a"), PutAgent("a", program("z")), AddAgent("a", program("z"))} {
		if _, err := ApplyAgents("agents.json", []byte(text), user, edit); err == nil || !strings.Contains(err.Error(), "config.yaml:1:10: agents.a: is configured in this file, which no command changes") {
			t.Errorf("of the YAML: %v", err)
		}
	}
}

// The file is made, private, and beside the configuration.
func TestEditAgents(t *testing.T) {
	dir := t.TempDir()
	path, err := EditAgents(t.Context(), Options{ConfigDir: dir}, AddAgent("a", program("x", "y")))
	if err != nil || path != filepath.Join(dir, "agents.json") {
		t.Fatalf("%s, %v", path, err)
	}
	const want = "{\n  \"agents\": {\n    \"a\": {\n      \"acp\": {\n        \"command\": [\"x\", \"y\"]\n      }\n    }\n  }\n}\n"
	if got := read1(t, path); got != want {
		t.Errorf("%s", got)
	}
	c, err := Load(Options{ConfigDir: dir})
	if err != nil || !c.Agents["a"].Means(program("x", "y")) {
		t.Errorf("%+v, %v", c.Agents, err)
	}
}
