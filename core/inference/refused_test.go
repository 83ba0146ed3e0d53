package inference_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"dragoman/core"
	"dragoman/core/inference"
)

// A part that is left out is missing from the new request only, and everything else is as it was.
func TestWithout(t *testing.T) {
	small, large := core.Image{MIME: "image/png", Data: []byte("small")}, core.Image{MIME: "image/png", Data: []byte("large")}
	sealed := inference.Thought{Text: "hm", Sealed: json.RawMessage(`{"of":"a/b"}`)}
	plain := inference.Thought{Text: "well"}
	make := func() *inference.Request {
		return &inference.Request{
			Tools: []inference.ToolSpec{{Name: "one"}, {Name: "two"}},
			Messages: []inference.Message{
				{Role: inference.RoleUser, Blocks: []core.Block{core.Text{Text: "look"}, small, large}},
				{Role: inference.RoleAssistant, Thoughts: []inference.Thought{sealed, plain}, Text: "I see."},
				{Role: inference.RoleTool, Result: inference.ToolReturn{Name: "two", Blocks: []core.Block{
					core.Resource{MIME: "image/gif", Blob: []byte("small")}, core.Resource{MIME: "text/plain", Text: "small"},
				}}},
			},
		}
	}
	r := make()
	if r.Without(nil) != r || r.Without([]string{"picture:none", "tool:three"}) != r {
		t.Error("a request without such parts was copied")
	}
	got := r.Without([]string{inference.PictureKey(small), inference.ThoughtKey(sealed), inference.ToolKey("one")})
	if !reflect.DeepEqual(r, make()) {
		t.Errorf("the request was changed: %+v", r)
	}
	m := got.Messages
	if len(got.Tools) != 1 || got.Tools[0].Name != "two" {
		t.Errorf("tools %+v", got.Tools)
	}
	if _, isText := m[0].Blocks[1].(core.Text); !isText || !reflect.DeepEqual(m[0].Blocks[2], core.Block(large)) {
		t.Errorf("the user's blocks are %+v", m[0].Blocks)
	}
	if !reflect.DeepEqual(m[1].Thoughts, []inference.Thought{plain}) || m[1].Text != "I see." {
		t.Errorf("the answer is %+v", m[1])
	}
	if _, isText := m[2].Result.Blocks[0].(core.Text); !isText || len(m[2].Result.Blocks) != 2 {
		t.Errorf("the same picture in a result: %+v", m[2].Result.Blocks)
	}
	got = r.Without([]string{inference.AllPictures, inference.AllTools})
	if _, isText := got.Messages[0].Blocks[2].(core.Text); !isText || len(got.Tools) != 0 {
		t.Errorf("without all of a kind: %+v", got)
	}
}
