package definition

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"dragoman/adapters/wire"
)

// A client that ignores the case of names reads another member.
func TestCanonical(t *testing.T) {
	plain := Canonical([]byte(`{"name":"t","description":"adds","inputSchema":{"b":1.50,"a":1e999},"icons":[]}`))
	if plain != `{"description":"adds","inputSchema":{"a":1e999,"b":1.50}}` {
		t.Errorf("canonical: %s", plain)
	}
	for _, other := range []string{
		`{"name":"t","description":"adds","Description":"evil","inputSchema":{"b":1.50,"a":1e999}}`,
		`{"name":"t","NAME":"u","description":"adds","inputSchema":{"b":1.50,"a":1e999}}`,
		`{"name":"t","description":"adds","inputSchema":{"b":1.50,"a":1e998}}`,
	} {
		if Canonical([]byte(other)) == plain {
			t.Errorf("%s is taken for the same", other)
		}
	}
}

var tools = []string{
	`{"name":"t","description":"a \"b\" <c> \u003c\n","inputSchema":{"type":"object"}}`,
	` { "title" : "T" , "name" : "t", "inputSchema" : { "required" : [ "b" ] , "type" : "object" , "properties" : { "b" : { } , "a" : {"x":1.0} } } } `,
	`{"name":"t","inputSchema":{"type":"object","properties":{"a":true}},"outputSchema":{"type":"array"}}`,
	`{"name":"t","inputSchema":{"typ\u0065":"string","type":"object"}}`,
	`{"name":"t","inputSchema":{"type":"object","type":"string"}}`,
	`{"name":"t","inputSchema":{"type":"object","required":[null]},"outputSchema":{"type":"object","required":null}}`,
	`{"name":"t","name":"u"}`, `{"name":"t","title":"a","title":null}`, `{"name":"t","na\u006de":"u"}`, `{"name":"t","title":null,"description":7}`,
	`{"name":"t","TITLE":"a","title":"b","inputSchema":{"type":"object"}}`, "{\"name\":\"t\",\"deſcription\":\"x\",\"inputSchema\":{\"type\":\"object\"}}",
	`{"name":"t","annotations":{"readOnlyHint":true,"title":"x"},"icons":[{"src":"i"}],"execution":{"taskSupport":"optional"},"_meta":{},"inputSchema":{"type":"object"}}`,
	`{"name":"t","annotations":{"readOnlyHint":1},"icons":[7],"execution":[],"_meta":null,"inputSchema":{"type":"object"}}`,
	`{"name":""}`, `{"name":7}`, `{}`, `[]`, `null`, `7`,
	`{"name":"t","inputSchema":{"type":"object","x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}}`,
}

// FuzzTool reads tools as encoding/json does.
func FuzzTool(f *testing.F) {
	for _, item := range tools {
		f.Add([]byte(item))
	}
	f.Fuzz(func(t *testing.T, item []byte) {
		if _, err := wire.Parse(append(append([]byte(`{"id":1,"result":`), item...), '}')); err != nil || !json.Valid(item) {
			return
		}
		item = bytes.TrimSpace(item)
		name, tool, err := Fit(item)
		name2, tool2, err2 := repaired(item)
		if name != name2 || string(tool) != string(tool2) || (err == nil) != (err2 == nil) {
			t.Errorf("%q\nfits as %q %q %v\n, want %q %q %v", item, name, tool, err, name2, tool2, err2)
		}
		if got, want := Canonical(item), decoded(item); got != want {
			t.Errorf("%q\nbecame %q\n, want %q", item, got, want)
		}
		got, err := Read(item)
		var want Tool
		if err2 == nil {
			err2 = wire.Unmarshal(tool2, &want)
		}
		if (err == nil) != (err2 == nil) || err == nil && (got.Name != want.Name || got.Title != want.Title || got.Description != want.Description ||
			string(got.Schema) != string(want.Schema) || got.Annotations != want.Annotations) {
			t.Errorf("%q\nis read as %+v %v\n, want %+v %v", item, got, err, want, err2)
		}
	})
}

// BenchmarkTool reads and compares a tool of a list.
func BenchmarkTool(b *testing.B) {
	item := []byte(`{"description":"Tool number 7 of many.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"the text"},"n":{"type":"integer"}},"required":["text"]},"name":"tool_7"}`)
	b.Run("fit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = Fit(item)
		}
	})
	b.Run("fit-any", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = repaired(item)
		}
	})
	b.Run("canonical", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Canonical(item)
		}
	})
	b.Run("canonical-any", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			decoded(item)
		}
	})
}
