package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A program that is started, and what it is given, comes from the user's own configuration only.
func TestExternalAgentsAreTheUsersOwn(t *testing.T) {
	for text, want := range map[string]string{
		`{"agents":{"x":{"acp":{"command":"evil"}}}}`:                         "agents.x.acp: an editor's options set up no external agents; write it in your own configuration file",
		`{"agents":{"x":{"acp":{"env":{"NODE_OPTIONS":"-r evil"}}}}}`:         "agents.x.acp: an editor's options set up",
		`{"agents":{"x":{"acp":null}}}`:                                       "agents.x.acp: an editor's options set up",
		`{"agents":{"claude":{"options":{"mode":"bypassPermissions"}}}}`:      "agents.claude.options: an editor's options set up",
		`{"agents":{"claude":{"paths":{"/":"/"}}}}`:                           "agents.claude.paths: an editor's options set up",
		`{"agents":{"claude":{"mcp":"direct"}}}`:                              "agents.claude.mcp: an editor's options set up",
		`{"agents":{"claude":{"idle":0}}}`:                                    "agents.claude.idle: an editor's options set up",
		`{"agents":{"claude":{"shared":false}}}`:                              "agents.claude.shared: an editor's options set up",
		`{"agents":{"x":{"eca":{"command":"evil"}}}}`:                         "agents.x.eca: an editor's options set up no external agents",
		`{"agents":{"x":{"eca":null}}}`:                                       "agents.x.eca: an editor's options set up",
		`{"sessions":{"delete_after":"1d"}}`:                                  "sessions: an editor's options do not decide",
		`{"limits":{"agents":1}}`:                                             "limits.agents: an editor's options do not limit",
		`{"agents":{"a":{"description":"a"},"x":{"acp":{"command":["rm"]}}}}`: "agents.x.acp: an editor's options set up",
	} {
		layer, _, err := ParseEditor([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		c, err := Load(Options{Env: environment(), Editor: layer})
		if err != nil || len(c.Agents) != 0 || c.Limits.Agents != 8 {
			t.Errorf("%s: %+v, %v", text, c.Agents, err)
		}
	}
	user := layer(t, "user.yaml", "agents: {claude: {acp: {command: claude, env: {A: b}}, options: {mode: plan}}}")
	workspace := layer(t, "ws.yaml", `
agents:
  claude: {acp: {command: evil, env: {A: c, NODE_OPTIONS: -r evil}}, options: {mode: bypass}, paths: {/: /}, mcp: direct, idle: 0, shared: true, description: theirs}
  other: {acp: {command: evil}, description: x}
  third: {eca: {command: evil}, description: x}
limits: {agents: 1000}
default_agent: claude
`)
	c, err := Resolve(user, workspace, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, w := range c.Warnings {
		got.WriteString(w.String() + "\n")
	}
	const want = `ws.yaml:3:27: agents.claude.acp.command: is left out: a workspace cannot set this
ws.yaml:3:33: agents.claude.acp.env: is left out: a workspace cannot set this
ws.yaml:3:70: agents.claude.options: is left out: a workspace cannot set this
ws.yaml:3:95: agents.claude.paths: is left out: a workspace cannot set this
ws.yaml:3:115: agents.claude.mcp: is left out: a workspace cannot set this
ws.yaml:3:129: agents.claude.idle: is left out: a workspace cannot set this
ws.yaml:3:140: agents.claude.shared: is left out: a workspace cannot set this
ws.yaml:4:26: agents.other.acp.command: is left out: a workspace cannot set this
ws.yaml:5:26: agents.third.eca.command: is left out: a workspace cannot set this
ws.yaml:6:18: limits.agents: is left out: a workspace cannot set this
ws.yaml:7:16: default_agent: is left out: a workspace cannot set this
`
	claude := c.Agents["claude"]
	switch {
	case got.String() != want:
		t.Errorf("warnings:\n%swant:\n%s", got.String(), want)
	case claude.ACP.Command[0].String() != "claude" || len(claude.ACP.Env) != 1 || claude.Options["mode"] != "plan" || len(claude.Paths) != 0,
		claude.MCP != "gateway" || claude.Idle != 10*time.Minute || claude.Shared || claude.Description != "theirs":
		t.Errorf("%+v", claude)
	case c.Agents["other"].External() || c.Agents["third"].External() || c.Limits.Agents != 8 || c.DefaultAgent != "":
		t.Errorf("%+v", c)
	}
}

// What belongs to an external agent's program, or is an option of its own, says where it is written.
func TestMisplacedSettingsOfAnExternalAgent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	for text, want := range map[string]string{
		"agents: {c: {command: claude}}":                       "agents.c.command: unknown key; did you mean acp: {command: …}?",
		"agents: {c: {acp: {command: claude}, env: {A: b}}}":   "agents.c.env: unknown key; did you mean acp: {env: …}?",
		"agents: {c: {acp: {command: claude}, mode: plan}}":    `got "plan"; a mode that an external agent has itself is one of its options: {mode: …}`,
		"agents: {c: {acp: {command: claude}, mode: primry}}":  `got "primry"; did you mean "primary"?`,
		"agents: {c: {acp: {command: claude}, commands: [x]}}": "agents.c.commands: unknown key; here can be ",
	} {
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(Options{Path: file}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What an editor or a workspace writes for an agent that the user has made an external one is left
// out: it must not make the user's configuration an error.
func TestOthersSettingsOfAnExternalAgent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("agents: {claude: {acp: {command: claude}}, mine: {max_steps: 3}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	editor, _, err := ParseEditor([]byte(`{"agents":{"claude":{"disabled_tools":["a"],"max_steps":3,"description":"d"},"mine":{"disabled_tools":["a"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(Options{Path: file, Editor: editor})
	if err != nil {
		t.Fatal(err)
	}
	claude, mine := c.Agents["claude"], c.Agents["mine"]
	if claude.DisabledTools != nil || claude.MaxSteps != 0 || claude.Description != "d" || len(mine.DisabledTools) != 1 || mine.MaxSteps != 3 {
		t.Errorf("%+v\n%+v", claude, mine)
	}
	if len(c.Warnings) != 2 || c.Warnings[0].String() != "the editor's options: agents.claude.disabled_tools: is left out: it means nothing for an external agent (acp)" {
		t.Errorf("%v", c.Warnings)
	}
	user := layer(t, "user.yaml", "agents: {claude: {acp: {command: claude}}}")
	c, err = Resolve(user, layer(t, "ws.yaml", "agents: {claude: {instructions: x, model: groq/x}}"), nil)
	if err != nil || len(c.Warnings) != 2 || c.Agents["claude"].Model != "" || !c.Agents["claude"].Instructions.IsZero() {
		t.Errorf("%+v, %v, %v", c.Agents, c.Warnings, err)
	}
	// The user's own are errors, whatever the editor writes.
	if err := os.WriteFile(file, []byte("agents: {claude: {acp: {command: claude}, disabled_tools: [b]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Options{Path: file, Editor: editor}); err == nil || !strings.Contains(err.Error(), "config.yaml:1:43: agents.claude.disabled_tools: means nothing") {
		t.Errorf("%v", err)
	}
}

// An entry merges like any other, at every depth, and the layer below stays as it was.
func TestExternalAgentsMerge(t *testing.T) {
	user := layer(t, "user.yaml", "agents: {c: {acp: {command: a b, env: {A: one, B: two}}, options: {x: 1}, paths: {/a: /b}, idle: 5m}}")
	over := layer(t, "over.yaml", "agents: {c: {acp: {command: [z], env: {B: three}}, options: {y: true}, idle: 0s, shared: true}}")
	c, err := Resolve(user, nil, over)
	if err != nil {
		t.Fatal(err)
	}
	a := c.Agents["c"]
	one, _ := a.ACP.Env["A"].Resolve(nil)
	three, _ := a.ACP.Env["B"].Resolve(nil)
	if len(a.ACP.Command) != 1 || one != "one" || three != "three" || a.Options["x"] != "1" || a.Options["y"] != "true" || a.Paths["/a"] != "/b" || a.Idle != 0 || !a.Shared {
		t.Errorf("%+v", a)
	}
	below := user.Agents["c"]
	if two, _ := below.ACP.Env["B"].Resolve(nil); two != "two" || len(below.ACP.Command) != 2 || len(below.Options) != 1 {
		t.Errorf("the layer below was changed: %+v", below)
	}
}

// 0 is a value where it means something: the default replaces only what nobody wrote.
func TestZeroIsKept(t *testing.T) {
	c, err := read("config.yaml", []byte("limits: {tools: 0}\nagents: {a: {acp: {command: x}, idle: 0}, b: {acp: {command: x}}}\n"))
	if err != nil || c.Limits.Tools != 0 || c.Agents["a"].Idle != 0 || c.Agents["b"].Idle != 10*time.Minute || c.Limits.CompactAt != 75 {
		t.Errorf("%+v, %v", c, err)
	}
}

// A secret below an entry that others can read is reported.
func TestNestedSecretsAreReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	for text, key := range map[string]string{
		"agents: {claude: {acp: {command: x, env: {ANTHROPIC_API_KEY: sk-secret-key-123456}}}}":                    "agents.claude.acp.env.ANTHROPIC_API_KEY",
		"mcp_servers: {x: {url: 'https://x.example', oauth: {client_id: a, client_secret: sk-secret-key-123456}}}": "mcp_servers.x.oauth.client_secret",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Options{Path: file})
		if err != nil || len(c.Warnings) != 1 || c.Warnings[0].Key != key {
			t.Errorf("%s: %v, %v", key, c.Warnings, err)
		}
	}
}
