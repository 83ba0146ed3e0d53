package ecaserver_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/bridge/ecaserver/ecatest"
	"dragoman/core"
)

// A prompt, an answer, and another one in the same chat; the end of a session is the end of its program.
func TestPrompts(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	c := one(t, ecatest.Options{Record: record})
	c.says("say hello", "hello\n")
	c.says("say again", "again\n")
	prompts := recorded(t, record, "chat/prompt")
	if len(prompts) != 2 || !strings.Contains(prompts[0], `"trust":false`) || strings.Contains(prompts[0], `"model"`) {
		t.Errorf("%q", prompts)
	}
	if got := c.at.State(); got.Title != "say hello" || got.Bound.Agent != "scripted" {
		t.Errorf("title %q, %+v", got.Title, got.Bound)
	}
	if inits := recorded(t, record, "initialize"); len(inits) != 1 || !strings.Contains(inits[0], `"askQuestion":true`) {
		t.Errorf("%q", inits)
	}
}

// A call that waits for an approval is put to the rules and to a person, by what it does.
func TestApprovals(t *testing.T) {
	const shell = `call {"name":"shell_command","summary":"Look","arguments":{"command":"ls -l"},"manual":true,"output":"a file"}`
	for _, test := range []struct {
		name   string
		rules  []rule
		prompt string
		answer func(core.Ask) core.Reply
		want   string
	}{
		{"a person allows it", nil, shell, always(allow), "shell_command: proposed awaiting running succeeded"},
		{"a person rejects it", nil, shell, always(reject), "shell_command: proposed awaiting rejected"},
		{"a rule allows it", []rule{{Effect: core.Allow, Tool: "shell_command"}}, shell, nil, "shell_command: proposed running succeeded"},
		{"a rule denies it", []rule{{Effect: core.Deny, Tool: "shell_command"}}, shell, nil, "shell_command: proposed rejected"},
		{"it is not asked about", nil, strings.Replace(shell, "true", "false", 1), nil, "shell_command: proposed running succeeded"},
		{"it fails", nil, `call {"name":"read_file","arguments":{"path":"/x"},"error":true,"output":"no such file"}`, nil, "read_file: proposed running errored"},
		{"a tool of an MCP server by its rule", []rule{{Effect: core.Allow, Server: "github", Tool: "look"}}, `call {"name":"look","server":"github","origin":"mcp","manual":true}`, nil, "look: proposed running succeeded"},
		{"a server that has the name of our own tools", []rule{{Effect: core.Allow, Server: core.Native, Tool: "shell_command"}}, `call {"name":"shell_command","server":"native","origin":"mcp","arguments":{"x":"y"},"manual":true}`, always(reject), "shell_command: proposed awaiting rejected"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newRoom(t, scripted(t, ecatest.Options{}), test.rules...).begin()
			c.answer = test.answer
			_, end := c.say(test.prompt)
			if got := c.states(); end.Stop != core.StopEnd || !slices.Equal(got, []string{test.want}) {
				t.Errorf("%q, %s %s\n%s", got, end.Stop, end.Err, strings.Join(c.lines(), "\n"))
			}
			if asked := len(c.asked) > 0; asked != (test.answer != nil) {
				t.Errorf("asked: %v", c.asked)
			}
		})
	}
}
