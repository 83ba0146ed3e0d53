package upstream

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// Many clients reject a whole list because of one malformed tool. It is repaired or left out, and
// the others stay as the server wrote them.
func TestMalformedToolsAreRepairedForClients(t *testing.T) {
	for _, c := range []struct{ tools, want string }{
		{`[{"name":"a","inputSchema":{ "type":"object"},"x":1.0}]`, `[{"name":"a","inputSchema":{ "type":"object"},"x":1.0}]`},
		{`[{"name":"a"},{"name":"b","inputSchema":{"type":"object"}}]`, `[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}]`},
		{`[{"inputSchema":null,"name":"a"}]`, `[{"inputSchema":{"type":"object"},"name":"a"}]`},
		{`[{"name":"a","inputSchema":{"type":["object","null"],"properties":{"x":{}},"required":["x"]}}]`, `[{"name":"a","inputSchema":{"type":"object","properties":{"x":{}},"required":["x"]}}]`},
		{`[{"name":"a","inputSchema":{"properties":{"x":true,"y":false,"z":{"type":7}},"required":null}}]`, `[{"name":"a","inputSchema":{"properties":{"x":{},"y":{"not":{}},"z":{"type":7}},"type":"object"}}]`},
		{`[{"name":"a","inputSchema":{"type":"object","properties":null}}]`, `[{"name":"a","inputSchema":{"type":"object"}}]`},
		{`[{"name":"a","inputSchema":{"type":"string"},"outputSchema":{"type":"array"}}]`, `[{"name":"a","inputSchema":{"type":"object"}}]`},
		{`[{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"properties":{}}}]`, `[{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"properties":{},"type":"object"}}]`},
		{
			`[{"name":"a","title":null,"description":7,"annotations":{"readOnlyHint":"yes"},"icons":[{"src":"i","theme":"pink"}],"execution":{"taskSupport":null},"_meta":[],"inputSchema":{"type":"object"}}]`,
			`[{"name":"a","inputSchema":{"type":"object"}}]`,
		},
		{
			`[{"name":"a","title":"A","annotations":{"readOnlyHint":true,"own":7},"icons":[{"src":"i","theme":"dark","sizes":["any"]}],"execution":{"taskSupport":"optional"},"_meta":{"x":null},"inputSchema":{"type":"object"}}]`,
			`[{"name":"a","title":"A","annotations":{"readOnlyHint":true,"own":7},"icons":[{"src":"i","theme":"dark","sizes":["any"]}],"execution":{"taskSupport":"optional"},"_meta":{"x":null},"inputSchema":{"type":"object"}}]`,
		},
		{`[{"name":"","inputSchema":{"type":"object"}},{"name":7},null,7,{"NAME":"a"},{"name":"b","inputSchema":{"type":"object"}}]`, `[{"name":"b","inputSchema":{"type":"object"}}]`},
		{`null`, `[]`},
		{`[{"name":"a","description":"one","inputSchema":{"type":"object"}},{"name":"a","description":"two","inputSchema":{"type":"object"}}]`, `[{"name":"a","description":"one","inputSchema":{"type":"object"}}]`},
	} {
		for _, pins := range []string{"", filepath.Join(t.TempDir(), "pins.json")} {
			box := New(Options{Servers: []Server{{Name: "up"}}, PinFile: pins})
			e, _ := box.Export("up", nil)
			got := string(e.View(nil).Shown("", json.RawMessage(`{"tools":`+c.tools+`,"nextCursor":null}`)))
			if want := `{"tools":` + c.want + `}`; got != want {
				t.Errorf("%s (pins in %q)\nbecame %s\n, want %s", c.tools, pins, got, want)
			}
			got = string(e.View(nil).Shown("", json.RawMessage(`{"tools":`+c.tools+`,"nextCursor":"n", "x":1.0}`)))
			want := `{"tools":` + c.want + `,"nextCursor":"n","x":1.0}`
			if c.tools == c.want {
				want = `{"tools":` + c.want + `,"nextCursor":"n", "x":1.0}` // not a byte is changed
			}
			if got != want {
				t.Errorf("%s (pins in %q)\nbecame %s\n, want %s", c.tools, pins, got, want)
			}
		}
	}
}

// Of tools with one name the first counts, as in sessions, on whatever page the others are.
func TestFirstOfTwoToolsWithOneNameCounts(t *testing.T) {
	box := New(Options{Servers: []Server{{Name: "up"}}, PinFile: filepath.Join(t.TempDir(), "pins.json")})
	e, _ := box.Export("up", nil)
	v := e.View(nil)
	one, two := `{"name":"a","description":"one","inputSchema":{"type":"object"}}`, `{"name":"a","description":"two","inputSchema":{"type":"object"}}`
	first := `{"tools":[` + one + `],"nextCursor":"n"}`
	if got := string(v.Shown("", json.RawMessage(first))); got != first {
		t.Errorf("the first page became %s", got)
	}
	if got := string(v.Shown("n", json.RawMessage(`{"tools":[`+two+`]}`))); got != `{"tools":[]}` {
		t.Errorf("the second page became %s", got)
	}
	if _, err := v.Rule(Call{Tool: "a"}); err != nil {
		t.Errorf("the call was refused: %v", err)
	}
	if _, err := e.View(nil).Rule(Call{Tool: "a"}); err != nil { // as it was pinned
		t.Errorf("the call was refused: %v", err)
	}
}
