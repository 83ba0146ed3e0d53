package agenttest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/bridge/agent/agenttest"
)

// raw sends a prompt and returns the lines up to the response of a request after it.
func (c *client) raw(id, text string) (lines [][]byte) {
	c.t.Helper()
	c.write(object{"id": "prompt", "method": "session/prompt", "params": object{"sessionId": id, "prompt": []object{{"type": "text", "text": text}}}})
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		switch {
		case bytes.Contains(line, []byte(`"id":"prompt"`)):
			c.write(object{"id": "after", "method": "auth/status"})
		case bytes.Contains(line, []byte(`"id":"after"`)):
			return lines
		}
		lines = append(lines, line)
	}
}

func TestHostileInstructions(t *testing.T) {
	for _, test := range []struct {
		prompt string
		lines  int // with the response
		has    string
	}{
		{"flood 1000", 1001, `"n":999`},
		{"garbage", 12, "Welcome"},
		{"duplicate", 1, `"refusal"`},
		{"answer-nothing", 3, `"id":4711`},
		{"batch", 2, `[{"jsonrpc"`},
		{"big 1000000", 2, strings.Repeat("x", 1000000)},
		{"huge-numbers", 5, "1e400"},
		{"deep 1000", 3, strings.Repeat("[", 1000)},
		{"invalid-utf8", 4, "\xff"},
		{"null-fields", 29, `"update":null`},
	} {
		c := start(t, agenttest.Options{})
		id := c.open(t.TempDir())
		lines := c.raw(id, test.prompt)
		if test.prompt == "duplicate" { // the second one came first
			lines = append(lines, nil)[:1]
		}
		if len(lines) != test.lines {
			t.Errorf("%s: %d lines, want %d", test.prompt, len(lines), test.lines)
		}
		if all := bytes.Join(lines, nil); !bytes.Contains(all, []byte(test.has)) {
			t.Errorf("%s: no %.40q in %.200q", test.prompt, test.has, all)
		} else if utf8.Valid(all) == (test.prompt == "invalid-utf8") {
			t.Errorf("%s: valid UTF-8 is %v", test.prompt, utf8.Valid(all))
		}
	}
}

func TestNoAnswer(t *testing.T) {
	c := start(t, agenttest.Options{})
	id := c.open(t.TempDir())
	for _, prompt := range []string{"wrong-id", "silent"} {
		c.write(object{"id": "never", "method": "session/prompt", "params": object{"sessionId": id, "prompt": []object{{"type": "text", "text": prompt}}}})
		c.write(object{"id": "after", "method": "auth/status"})
		for m := c.next(); m["id"] != "after"; m = c.next() {
			if m["id"] == "never" {
				t.Errorf("%s: it was answered: %v", prompt, m)
			}
		}
		id = c.must("session/new", object{"cwd": "/", "mcpServers": []object{}})["sessionId"].(string)
	}
}

func TestHostileRequests(t *testing.T) {
	c := start(t, agenttest.Options{})
	id := c.open(t.TempDir())
	var asked []string
	c.serve = func(method string, p object) (any, error) {
		b, err := json.Marshal(p)
		asked = append(asked, method+" "+string(b))
		if method == "session/request_permission" {
			return object{"outcome": object{"outcome": "selected", "optionId": "reject"}}, err
		}
		return nil, fmt.Errorf("no")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	c.says(id, "secrets", strings.Repeat("error -32603: no\n", 6))
	if !strings.Contains(strings.Join(asked, "\n"), home+"/.ssh/id_rsa") {
		t.Error(asked)
	}
	asked = nil
	c.says(id, "harmless-title rm -rf /", "selected reject\n")
	if got := strings.Join(asked, "\n"); !strings.Contains(got, `"rawInput":{"command":"rm -rf /"}`) || !strings.Contains(got, `"kind":"read"`) {
		t.Error(got)
	}
	asked = nil
	c.says(id, "permission-flood 50", "")
	if len(asked) != 50 {
		t.Error(len(asked))
	}
	c.says(id, "late-requests /etc/hostname", "")
	for strings.Count(c.text.String(), "\n") < 2 {
		c.next()
	}
	c.says(id, "unknown-kinds\nwrong-session other", "in another's nameerror -32603: no\n")
}

func TestEnds(t *testing.T) {
	for _, prompt := range []string{"crash", "exit 4"} {
		c := start(t, agenttest.Options{})
		id := c.open(t.TempDir())
		c.write(object{"id": "x", "method": "session/prompt", "params": object{"sessionId": id, "prompt": []object{{"type": "text", "text": prompt}}}})
		if rest, err := io.ReadAll(c.out); err != nil || len(rest) > 0 {
			t.Errorf("%q, %v", rest, err)
		}
		want := map[string]string{"crash": "signal: killed", "exit 4": "exit status 4"}[prompt]
		if err := c.cmd.Wait(); err == nil || err.Error() != want {
			t.Errorf("%s: %v", prompt, err)
		}
	}
}
