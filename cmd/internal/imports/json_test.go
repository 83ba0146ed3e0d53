package imports

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestPlainJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a": 1}`, `{"a":1}`},
		{"// x\n{\"a\": \"// no comment, \\\" nor this\", /* y */ \"b\": [1, 2, ], }", `{"a":"// no comment, \" nor this","b":[1,2]}`},
		{`{"a": ",}", "b": [],}`, `{"a":",}","b":[]}`},
		{"{}//", "{}"},
	} {
		var v any
		if err := json.Unmarshal(plainJSON([]byte(c.in)), &v); err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got, _ := json.Marshal(v); string(got) != c.want {
			t.Errorf("%s became %s", c.in, got)
		}
	}
}

func FuzzPlainJSON(f *testing.F) {
	f.Add("// x\n{\"a\": \"\\\"\", /* y */ \"b\": [1, 2, ], }")
	f.Add(`{"a": 1, "b": {}}`)
	f.Fuzz(func(t *testing.T, s string) {
		var before, after any
		out := plainJSON([]byte(s))
		if json.Unmarshal([]byte(s), &before) == nil { // what is JSON already stays what it is
			if err := json.Unmarshal(out, &after); err != nil {
				t.Fatalf("%q became %q: %v", s, out, err)
			}
			x, _ := json.Marshal(before)
			if y, _ := json.Marshal(after); string(x) != string(y) {
				t.Fatalf("%q became %q", s, out)
			}
		}
	})
}

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
