package upstream

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/inference"
)

// A structured result reaches the model where the content does not say the same, and only there.
func TestStructuredContentIsReadOnce(t *testing.T) {
	for _, c := range []struct {
		name, result string
		want         []string // texts of the blocks
		failed       bool
	}{
		{"a hint", `{"content":[{"type":"text","text":"ok, see structuredContent"}],"structuredContent":{"secretvalue":"FULL-17"}}`, []string{"ok, see structuredContent", `{"secretvalue":"FULL-17"}`}, false},
		{"an error", `{"content":[{"type":"text","text":"failed"}],"structuredContent":{"trace":"LINE-121"},"isError":true}`, []string{"failed", `{"trace":"LINE-121"}`}, true},
		{"no content", `{"content":[],"structuredContent":{"a": 1}}`, []string{`{"a": 1}`}, false},
		{"the same JSON", `{"content":[{"type":"text","text":"{\n  \"b\": [1, 2], \"a\": \"x\\ny\"\n}"}],"structuredContent":{"a":"x\ny","b":[1,2]}}`, []string{"{\n  \"b\": [1, 2], \"a\": \"x\\ny\"\n}"}, false},
		{"the same in words", `{"content":[{"type":"text","text":"Temperature 22.5 in Zürich; alert: yes"}],"structuredContent":{"city":"Zürich","temperature":22.5,"alert":true}}`, []string{"Temperature 22.5 in Zürich; alert: yes"}, false},
		{"a part of a number", `{"content":[{"type":"text","text":"took 225 ms"}],"structuredContent":{"n":22}}`, []string{"took 225 ms", `{"n":22}`}, false},
		{"some of it", `{"content":[{"type":"text","text":"Found alice and bob."}],"structuredContent":{"count":2,"users":[{"name":"alice","id":71},{"name":"bob"},{"name":"carol","id":73}]}}`, []string{"Found alice and bob.", `{"count":2,"users":[{"id":71},{},{"id":73,"name":"carol"}]}`}, false},
		{"in a resource", `{"content":[{"type":"resource","resource":{"uri":"file:///x","text":"the value is 4711"}}],"structuredContent":{"value":4711}}`, []string{"the value is 4711"}, false},
		{"in a link", `{"content":[{"type":"resource_link","uri":"file:///x","name":"x"}],"structuredContent":{"file":"file:///x","size":99}}`, []string{"", `{"size":99}`}, false},
		{"a picture beside it", `{"content":[{"type":"image","mimeType":"image/png","data":"eA=="}],"structuredContent":{"width":640}}`, []string{"", `{"width":640}`}, false},
		{"a list", `{"content":[{"type":"text","text":"two"}],"structuredContent":["alpha","two"]}`, []string{"two", `["alpha"]`}, false},
		{"nothing structured", `{"content":[{"type":"text","text":"plain"}],"structuredContent":null}`, []string{"plain"}, false},
		{"large numbers", `{"content":[{"type":"text","text":"done"}],"structuredContent":{"id":12345678901234567890}}`, []string{"done", `{"id":12345678901234567890}`}, false},
	} {
		res, err := parseResult(json.RawMessage(c.result), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range res.Blocks {
			got = append(got, textOf(b))
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") || res.Failed != c.failed {
			t.Errorf("%s: %q, failed %t, want %q", c.name, got, res.Failed, c.want)
		}
	}
}

// A link tells a model all that it has.
func TestLinksAreToldWhole(t *testing.T) {
	res, err := parseResult(json.RawMessage(`{"content":[{"type":"resource_link","uri":"file:///x","name":"x.txt","title":"The X","description":"about x","mimeType":"text/plain","size":99}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	text := inference.LinkText(res.Blocks[0].(core.Link))
	for _, leaf := range []string{"file:///x", "x.txt", "The X", "about x", "text/plain", "99"} {
		if strings.Count(text, leaf) != 1 {
			t.Errorf("%q is not once in %q", leaf, text)
		}
	}
}
