package upstream

import (
	"encoding/json"
	"testing"
)

// A page is read by the exact names of its members. One that has its items or its cursor twice is
// refused, because other readers might take the other one.
func TestPagesAreReadExactly(t *testing.T) {
	for page, want := range map[string]string{
		`{"prompts":[1,2],"nextCursor":"n"}`:             "2 n",
		`{"prompts":[1],"nextCursor":null}`:              "1 ",
		`{"prompts":[1],"nextCursor":7}`:                 "1 ",
		`{"PROMPTS":[1],"NextCursor":"n"}`:               "0 ",
		`{}`:                                             "0 ",
		`{"prompts":[1],"prompts":[]}`:                   "error",
		`{"prompts":[1],"nextCursor":"","nextCursor":1}`: "error",
		`{"prompts":{}}`:                                 "error",
		`[]`:                                             "error",
	} {
		items, next, err := pageOf(json.RawMessage(page), "prompts/list", "prompts")
		got := string(rune('0'+len(items))) + " " + next
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q (%v)", page, got, want, err)
		}
	}
}
