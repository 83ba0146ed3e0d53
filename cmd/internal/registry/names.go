package registry

import "strings"

// renamed has the present ids of agents, by ids and packages that they had before and by names that
// people use.
var renamed = map[string]string{
	"claude-code": "claude-acp", "claude-code-acp": "claude-acp", "claude-agent-acp": "claude-acp", "claude-agent": "claude-acp",
	"@zed-industries/claude-code-acp": "claude-acp", "@zed-industries/claude-agent-acp": "claude-acp", "@agentclientprotocol/claude-agent-acp": "claude-acp",
	"zed-claude-code": "claude-acp",
	"codex-cli":       "codex-acp", "@zed-industries/codex-acp": "codex-acp", "@agentclientprotocol/codex-acp": "codex-acp",
	"gemini-cli": "gemini", "@google/gemini-cli": "gemini",
	"opencode-ai": "opencode", "sst-opencode": "opencode",
	"qwen": "qwen-code", "@qwen-code/qwen-code": "qwen-code",
	"copilot": "github-copilot-cli", "github-copilot": "github-copilot-cli", "@github/copilot": "github-copilot-cli",
	"@kilocode/cli": "kilo", "kilocode": "kilo", "@augmentcode/auggie": "auggie", "augment": "auggie",
	"cursor-agent": "cursor", "kimi-cli": "kimi", "pi": "pi-acp",
}

// short are the names of people for ids.
var short = map[string]string{"claude": "claude-acp", "codex": "codex-acp"}

// Renamed returns the present id of an agent that a word names, and why the word is not it; "": the
// word may be an id itself. A package may have a version.
func Renamed(word string) (id, why string) {
	if id, ok := short[word]; ok {
		return id, ""
	}
	name := word
	if i := strings.LastIndexByte(name, '@'); i > 0 {
		name = name[:i]
	}
	name, _, _ = strings.Cut(name, "==")
	id, ok := renamed[strings.ToLower(name)]
	switch {
	case !ok:
		return "", ""
	case strings.HasPrefix(name, "@zed-industries/"):
		return id, "the package " + name + " has another name today; it is agent " + id + " of the registry"
	}
	return id, name + " is agent " + id + " of the registry"
}

// NameFor returns the name under which people know an agent: claude for claude-acp.
func NameFor(id string) string {
	switch id {
	case "github-copilot-cli":
		return "copilot"
	case "qwen-code":
		return "qwen"
	}
	name := id
	for _, end := range []string{"-acp", "-cli"} {
		name = strings.TrimSuffix(name, end)
	}
	if name == "" {
		return id
	}
	return name
}
