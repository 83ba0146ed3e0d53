package agents

import (
	"path/filepath"
	"slices"
	"strings"

	"dragoman/configs"
)

// installable is an external agent that people often use.
type installable struct {
	id      string // in the registry of agents
	command string // that starts it
	install string // how its program is installed
}

// installables come from the registry of agents, as of November 2026.
var installables = []installable{
	{"claude-acp", "claude-agent-acp", "npm install -g @agentclientprotocol/claude-agent-acp"},
	{"codex-acp", "codex-acp", "npm install -g @agentclientprotocol/codex-acp"},
	{"gemini", "gemini --acp", "npm install -g @google/gemini-cli"},
	{"opencode", "opencode acp", "npm install -g opencode-ai"},
	{"qwen-code", "qwen --acp", "npm install -g @qwen-code/qwen-code"},
	{"github-copilot-cli", "copilot --acp --stdio", "npm install -g @github/copilot"},
	{"kilo", "kilo acp", "npm install -g @kilocode/cli"},
	{"auggie", "auggie --acp", "npm install -g @augmentcode/auggie"},
	{"pi-acp", "pi-acp", "npm install -g pi-acp"},
	{"goose", "goose acp", "see https://block.github.io/goose"},
	{"cursor", "cursor-agent acp", "see https://cursor.com/cli"},
	{"kimi", "kimi acp", "see https://github.com/MoonshotAI/kimi-cli"},
	{"eca", "eca server", "see https://eca.dev"},
}

// program returns the name of the program.
func (i installable) program() string { return strings.Fields(i.command)[0] }

// setting returns the setting that starts it.
func (i installable) setting() string {
	if i.id == "eca" {
		return "eca"
	}
	return "acp"
}

// short returns the name that people use: claude for claude-acp.
func (i installable) short() string {
	if i.program() == "copilot" {
		return i.program()
	}
	short, _, _ := strings.Cut(i.id, "-")
	return short
}

// find returns the agent that a word names: its id, its short name or its program, also mistyped.
func find(word string) (installable, bool) {
	byName := map[string]installable{}
	var names []string
	for _, i := range installables {
		for _, name := range []string{i.id, i.short(), i.program()} {
			if _, taken := byName[name]; !taken {
				byName[name] = i
				names = append(names, name)
			}
		}
	}
	i, ok := byName[configs.Suggest(word, names)]
	return i, ok
}

// Unknown describes an agent that is not configured, with advice. names are those that are.
func Unknown(name string, names []string) (problem, hint string) {
	problem = "there is no external agent " + name + " in the configuration"
	if near := configs.Suggest(name, names); near != "" {
		return problem + configs.DidYouMean(name, names), ""
	}
	if i, ok := find(name); ok {
		return problem, "\"dragoman agents add " + i.short() + "\" adds it; or install it (" + i.install + ") and write: agents: {" + i.short() + ": {" + i.setting() + ": {command: " + i.command + "}}}"
	}
	if len(names) > 0 {
		problem += "; there are " + strings.Join(names, ", ")
	}
	return problem, "\"dragoman agents add\" lists agents and adds one"
}

// missing returns advice for a program that is not installed.
func missing(program string) string {
	base := strings.TrimSuffix(filepath.Base(program), ".exe")
	i, ok := find(base)
	switch {
	case ok && i.program() == base:
		return i.install + ", or write the absolute path"
	case ok:
		return "did you mean " + i.program() + " (" + i.install + ")?"
	case slices.Contains([]string{"npx", "npm", "node"}, base):
		return "install Node.js, version 22 or later"
	}
	return "install it, or write its absolute path"
}
