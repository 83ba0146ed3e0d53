package acp_test

import (
	"encoding/json"
	"testing"

	"dragoman/adapters/proto/acp"
)

// Data is read as encoding/json reads bytes, and text that is no base64 spoils its own block alone.
func TestData(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"image","data":"aGk="}`:                          `{"type":"image","data":"aGk="}`,
		`{"type":"image","data":"a\/\/\/"}`:                       `{"type":"image","data":"a///"}`,
		`{"type":"image","data":"aG\nk="}`:                        `{"type":"image","data":"aGk="}`,
		`{"type":"image","data":""}`:                              `{"type":"image"}`,
		`{"type":"image"}`:                                        `{"type":"image"}`,
		`{"type":"image","data":"aGk","uri":"u:a"}`:               `bad`,
		`{"type":"image","data":"?","uri":"u:a"}`:                 `bad`,
		`{"type":"resource","resource":{"uri":"u:a"}}`:            `{"type":"resource","resource":{"uri":"u:a"}}`,
		`{"type":"resource","resource":{"uri":"","blob":"aGk="}}`: `{"type":"resource","resource":{"uri":"","blob":"aGk="}}`,
	} {
		var b acp.ContentBlock
		if err := json.Unmarshal([]byte(in), &b); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		got, err := json.Marshal(b)
		if b.Data.Bad() {
			got = []byte("bad")
		}
		if string(got) != want || err != nil {
			t.Errorf("%s: got %s, %v", in, got, err)
		}
	}
	var r acp.Resource
	if err := json.Unmarshal([]byte(`{"uri":"u:a","blob":""}`), &r); err != nil || r.Blob == nil || r.Blob.Bad() || r.Blob.Content() == nil {
		t.Errorf("an empty file: %+v, %v", r, err)
	}
	if err := json.Unmarshal([]byte(`{"data":5}`), &acp.ContentBlock{}); err == nil {
		t.Error("a number is data")
	}
}
