package demo

import (
	"encoding/json"
	"strings"

	"dragoman/cmd/internal/terminal"
	"dragoman/core/display"
)

// editorSettings returns the text to paste into each editor, with this program's path.
func editorSettings(self string, c terminal.Palette) string {
	var b strings.Builder
	b.WriteString(c.Strong("Let your editor do the same") + "\n\n")
	for _, e := range settingsOf(self) {
		b.WriteString("  " + c.Strong(e.editor) + c.Faint("  "+e.where) + "\n")
		b.WriteString(display.Indented(e.text, "    ") + "\n\n")
	}
	b.WriteString("  A real model: set OPENAI_API_KEY, OPENROUTER_API_KEY, ANTHROPIC_API_KEY or another key, or give\n" +
		"  one with \"dragoman login PROVIDER\". \"dragoman doctor\" says what was found, here and in editors.\n\n" +
		"  Another agent, such as Claude: \"npm install -g @agentclientprotocol/claude-agent-acp\", and in the\n" +
		"  configuration (\"dragoman config path\")\n\n" +
		"    default_agent: claude\n" +
		"    agents: {claude: {acp: {command: [claude-agent-acp]}}}\n\n" +
		"  \"dragoman agents doctor\" says whether it starts.\n")
	return b.String()
}

// editorSnippet is one editor's settings.
type editorSnippet struct{ editor, where, text string }

func settingsOf(self string) []editorSnippet {
	q := func(s string) string { // a JSON string with a path is also valid in Lua and Emacs Lisp
		b, _ := json.Marshal(s) // a string always encodes
		return string(b)
	}
	path := q(self)
	return []editorSnippet{
		{"Zed", "settings.json", `"agent_servers": {
  "dragoman": { "type": "custom", "command": ` + path + `, "args": ["acp"], "env": {} }
}`},
		{
			"JetBrains",
			"~/.jetbrains/acp.json",
			`{ "agent_servers": { "dragoman": { "command": ` + path + `, "args": ["acp"], "env": {} } } }`,
		},
		{"VS Code", "settings.json, with the ECA extension", `"eca.serverPath": ` + path},
		{"Emacs", "init.el, with eca-emacs", `(setq eca-custom-command '(` + path + ` "server"))`},
		{"Emacs", "init.el, with agent-shell", `(defun dragoman ()
  (interactive)
  (agent-shell-start
   :config (agent-shell-make-agent-config
            :identifier 'dragoman :mode-line-name "dragoman" :buffer-name "dragoman"
            :shell-prompt "dragoman> " :shell-prompt-regexp "dragoman> "
            :client-maker (lambda (buffer)
                            (agent-shell--make-acp-client
                             :command ` + path + ` :command-params '("acp")
                             :context-buffer buffer)))))`},
		{"Neovim", "init.lua, with eca-nvim", `require("eca").setup({ server_path = ` + path + ` })`},
		{
			"Neovim",
			"init.lua, with codecompanion.nvim; choose it with ga in a chat",
			`require("codecompanion").setup({ adapters = { acp = { dragoman = function()
  return require("codecompanion.adapters").extend("opencode", {
    name = "dragoman", formatted_name = "dragoman",
    commands = { default = { ` + path + `, "acp" } },
  })
end } } })`,
		},
		{
			"MCP",
			"claude_desktop_config.json, .cursor/mcp.json and the like",
			`{ "mcpServers": { "dragoman": { "command": ` + path + `, "args": ["mcp"] } } }`,
		},
	}
}

// externalConfig returns a configuration whose only agent for people is this program as a scripted
// agent.
func externalConfig(self string) string {
	command, _ := json.Marshal([]string{self, "scripted-agent"}) // it is valid YAML, and always encodes
	return "default_agent: scripted\nagents: {scripted: {acp: {command: " + string(command) + "}}}\n"
}
