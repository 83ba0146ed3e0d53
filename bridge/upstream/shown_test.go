package upstream

import (
	"strings"
	"testing"
)

// What is asked about can be judged: arguments apart, hidden characters spelled out,
// and what makes a program run other code.
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

// A model reads nothing in a schema that people do not see; one without such
// characters stays as it came.
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
