package upstream

import (
	"strings"
	"testing"
)

// The user can judge the subject of a question: arguments are separate, hidden characters are
// spelled out, and variables that load other code are shown.
func TestProgramShown(t *testing.T) {
	e := Endpoint{
		Command: "./server", Dir: "/w", Args: []string{"plain", "a b", "hid\u200bden", "\u202egnp", ""},
		Env: map[string]string{"TOKEN": "secret", "LD_PRELOAD": "/tmp/x.so", "node_options": "--require /tmp/x"},
	}
	const want = `./server plain "a b" "hid\u200bden" "\u202egnp" "" in /w with LD_PRELOAD=/tmp/x.so, TOKEN, node_options="--require /tmp/x" in its environment`
	if got := e.program(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A model reads nothing in a schema that is invisible to people; a schema without such characters
// stays unchanged.
func TestSchemaSeen(t *testing.T) {
	const plain = `{"type": "object", "properties": {"b": {}, "a": {"description": "say hi", "minimum": 12345678901234567890}}}`
	hidden := strings.Replace(plain, "say hi", `say hi\udb40\udc41\u200b`, 1)
	for _, schema := range []string{plain, hidden} {
		item := `{"name":"x","inputSchema":` + schema + `}`
		tool, err := parseTool("s", []byte(item))
		if err != nil {
			t.Fatal(err)
		}
		got := string(tool.spec.Schema)
		if schema == plain && got != plain {
			t.Errorf("it was changed: %s", got)
		}
		if !strings.Contains(got, `"say hi"`) || !strings.Contains(got, "12345678901234567890") {
			t.Errorf("the schema is %s", got)
		}
	}
}
