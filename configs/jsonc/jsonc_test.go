package jsonc

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestPlain(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a": 1}`, `{"a":1}`},
		{"// x\n{\"a\": \"// no comment, \\\" nor this\", /* y */ \"b\": [1, 2, ], }", `{"a":"// no comment, \" nor this","b":[1,2]}`},
		{`{"a": ",}", "b": [],}`, `{"a":",}","b":[]}`},
		{"{}//", "{}"},
	} {
		var v any
		plain, err := Plain([]byte(c.in))
		if err = errors.Join(err, json.Unmarshal(plain, &v)); err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got, _ := json.Marshal(v); string(got) != c.want {
			t.Errorf("%s became %s", c.in, got)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("// x\n{\"a\": \"\\\"\", /* y */ \"b\": [1, 2, ], }")
	f.Add(`{"a": 1, "b": {}}`)
	f.Fuzz(func(t *testing.T, s string) {
		var before, after any
		if json.Unmarshal([]byte(s), &before) == nil { // valid JSON keeps its meaning
			out, err := Plain([]byte(s))
			if err = errors.Join(err, json.Unmarshal(out, &after)); err != nil {
				t.Fatalf("%q became %q: %v", s, out, err)
			}
			x, _ := json.Marshal(before)
			if y, _ := json.Marshal(after); string(x) != string(y) {
				t.Fatalf("%q became %q", s, out)
			}
		}
	})
}
