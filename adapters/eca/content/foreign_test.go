package content

import (
	"encoding/json"
	"testing"

	"dragoman/core"
)

// Only what an ECA server has said, in a role that clients know, is passed on.
func TestForeign(t *testing.T) {
	for raw, want := range map[string]string{
		`{"role":"system","content":{"type":"hologram"}}`: `system {"type":"hologram"}`,
		`{"role":"x\"","content":{"type":"hologram"}}`:    " ",
		`{"role":"system","content":5}`:                   " ",
		`{"role":"system"}`:                               " ",
		`5`:                                               " ",
	} {
		if role, got := Foreign(core.Foreign{Protocol: "eca", Raw: json.RawMessage(raw)}); string(role)+" "+string(got) != want {
			t.Errorf("%s: %s %s", raw, role, got)
		}
	}
	if _, got := Foreign(core.Foreign{Protocol: "acp", Raw: json.RawMessage(`{"role":"system","content":{}}`)}); got != nil {
		t.Errorf("of another protocol: %s", got)
	}
}

// Details that name nothing of another gateway are passed on.
func TestKept(t *testing.T) {
	for meta, want := range map[string]string{
		`{"eca":{"details":{"type":"shellCommand","commands":[]}}}`: `{"type":"shellCommand","commands":[]}`,
		`{"eca":{"details":{"type":"fileChange","path":"/x"}}}`:     "",
		`{"eca":{"details":{"type":"subagent"}}}`:                   "",
		`{"eca":{"details":5}}`:                                     "",
		`{"step":1}`:                                                "",
		``:                                                          "",
	} {
		if got := string(Kept(core.Call{Meta: json.RawMessage(meta)})); got != want {
			t.Errorf("%s: %s", meta, got)
		}
	}
}
