package imports

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestJSONMembersKeepTheirOrder(t *testing.T) {
	names, values, err := members(json.RawMessage(`{"b": {"x": [1, {"y": 2}]}, "a": "c", "b": 3}`))
	if err != nil || strings.Join(names, " ") != "b a" || string(values["b"]) != "3" {
		t.Errorf("%v, %s, %v", names, values["b"], err)
	}
}

// Each member that encoding/json finds has its name in the order, once.
func FuzzMembers(f *testing.F) {
	f.Add(`{"a": 1, "b\u0041": {"c": []}, "a": 2, "\ud800": null, "\u00e9": "x"}`)
	f.Add("{\"\xff\": 1, \"\\/\": 2}")
	f.Fuzz(func(t *testing.T, s string) {
		names, values, err := members([]byte(s))
		if err != nil {
			return
		}
		if want := slices.Sorted(maps.Keys(values)); !slices.Equal(slices.Sorted(slices.Values(names)), want) {
			t.Errorf("%q: %q, want %q", s, names, want)
		}
	})
}
