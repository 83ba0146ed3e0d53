package setup

import (
	"strings"
	"testing"

	"dragoman/configs"
)

func TestAllowRulesOfTheCommandLine(t *testing.T) {
	env := func(string) (string, bool) { return "", false }
	for text, want := range map[string]configs.Rule{
		"shell_command":            {Tool: "shell_command"},
		"shell_command:go test *":  {Tool: "shell_command", Command: "go test *"},
		"shell_command:echo a:b":   {Tool: "shell_command", Command: "echo a:b"},
		"write_file:docs/**":       {Tool: "write_file", Path: "docs/**"},
		"web_fetch:https://go.dev": {Tool: "web_fetch", URL: "https://go.dev"},
		"files__read":              {Tool: "read", Server: "files"},
		"mcp__files__read":         {Tool: "read", Server: "files"},
		"files__*":                 {Tool: "*", Server: "files"},
		"edit_*":                   {Tool: "edit_*"},
		"*":                        {Tool: "*"},
	} {
		if got, err := AllowRule(text, env); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                  "the name of the tool is missing",
		"files__":           "the name of the tool is missing",
		"__*":               "the name of the server is missing",
		"mcp____read":       "the name of the server is missing",
		"write":             `there is no tool "write" (a tool of an MCP server is SERVER__TOOL)`,
		"read_file:":        "the pattern after the colon is missing",
		"ask_user:x":        "takes no pattern",
		"edit_*:docs/**":    "takes no pattern",
		"shell_command:a[b": "command",
		"write_file:~/x":    "the home folder is not known",
		"web_fetch:ftp//[x": "allow",
	} {
		if got, err := AllowRule(text, env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}
