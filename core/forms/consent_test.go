package forms

import (
	"encoding/json"
	"testing"
)

// The form of a consent has one box, which is required, and only a tick allows anything.
func TestConsent(t *testing.T) {
	schema := Consent("Allow <it>", `"Once"`)
	const want = `{"type":"object","properties":{"allow":{"type":"boolean","title":"Allow <it>","description":"\"Once\""}},"required":["allow"]}`
	if string(schema) != want {
		t.Errorf("got  %s\nwant %s", schema, want)
	}
	list, err := Fields(schema)
	if err != nil || len(list) != 1 || !list[0].Required || list[0].kind != "boolean" {
		t.Errorf("%+v, %v", list, err)
	}
	for content, want := range map[string]bool{
		`{"allow":true}`:                 true,
		`{"x":1,"\u0061llow":true}`:      true,
		`{"allow":false}`:                false,
		`{"allow":"true"}`:               false,
		`{"allow":1}`:                    false,
		`{"allow":null}`:                 false,
		`{"Allow":true}`:                 false,
		`{"allow":true,"Allow":false}`:   false,
		`{"allow":false,"allow":true}`:   false,
		`{"allow":true,"allow":true}`:    false,
		`{"content":{"allow":true}}`:     false,
		`{}`:                             false,
		`null`:                           false,
		``:                               false,
		`true`:                           false,
		`["allow"]`:                      false,
		`{"allow":true`:                  false,
		`{"allow":true} {"allow":false}`: false,
	} {
		if got := Consented(json.RawMessage(content)); got != want {
			t.Errorf("%s: got %t", content, got)
		}
	}
}
