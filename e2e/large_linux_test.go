package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// Reading any large message over MCP costs less than four times its size, not counting the work that it causes.
func TestLargeMessageOverMCP(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789 ", 1<<20)
	for i, test := range []struct {
		name   string
		params object
	}{
		{"with escapes", object{"name": "agent_prompt", "arguments": object{"prompt": strings.ReplaceAll(long, " ", "\n"), "session_id": "nope"}}},
		{"a tool's argument", object{"name": "agent_prompt", "arguments": object{"prompt": long, "session_id": "nope"}}},
		{"an argument that is a name", object{"name": "session_list", "arguments": object{"cwd": long}}},
		{"an argument too many", object{"name": "agent_prompt", "arguments": object{"prompt": "x", "nope": long}}},
		{"metadata", object{"name": "session_list", "_meta": object{"x": long}}},
		{"a tool that is not there", object{"name": "nope", "arguments": object{"x": long}}},
		{"a name", object{"name": long}},
	} {
		if i%2 != 0 && !everyVariant() {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			c := newPlace(t).call(t, quickly(t))
			c.use("session_list", nil)
			before := memoryOf(c.cmd.Process.Pid, "VmHWM:")
			id, req := c.request("tools/call", test.params)
			text, err := json.Marshal(test.params)
			if err != nil {
				t.Fatal(err)
			}
			c.send(req)
			c.await(id)
			size := float64(len(text)) / (1 << 20)
			if grown := memoryOf(c.cmd.Process.Pid, "VmHWM:") - before; grown >= 4*size {
				t.Errorf("%.0f MiB for a message of %.0f", grown, size)
			}
		})
	}
}

// A turn of a large prompt costs less than eight times its size: what the client sent, what the log and the model are
// given, and as much again that is not collected yet.
func TestLargePromptOverMCP(t *testing.T) {
	t.Parallel()
	const size = 11 << 20
	c := newPlace(t).call(t, quickly(t))
	c.use("agent_prompt", object{"prompt": "hello"})
	before := memoryOf(c.cmd.Process.Pid, "VmHWM:")
	c.use("agent_prompt", object{"prompt": strings.Repeat("0123456789 ", size/11)})
	if grown := memoryOf(c.cmd.Process.Pid, "VmHWM:") - before; grown >= 8*size/(1<<20) {
		t.Errorf("%.0f MiB for a prompt of %d", grown, size>>20)
	}
}
