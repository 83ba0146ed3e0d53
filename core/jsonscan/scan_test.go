package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/core/jsonscan"
)

// walk renders what is found in an object or an array; "!" stands for Bad.
func walk(b []byte, depth int) string {
	var out []string
	if bytes.HasPrefix(b, []byte("[")) {
		e := jsonscan.ElementsOf(b, depth)
		for e.Next() {
			out = append(out, string(e.Val))
		}
		if e.Bad {
			out = append(out, "!")
		}
		return strings.Join(out, "|")
	}
	m := jsonscan.MembersOf(b, depth)
	for m.Next() {
		out = append(out, fmt.Sprintf("%s=%s", m.Key, m.Val))
	}
	if m.Bad {
		out = append(out, "!")
	}
	return strings.Join(out, "|")
}

func TestWalk(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: "", ` { } `: "", `[]`: "", `[ ]`: "",
		`{"a":1}`:                            `a=1`,
		" {\"a\" :\t1 ,\r\n\"b\":null } ":    `a=1|b=null`,
		`{"":"","\"}":"{\\","a":{"b":[]}}`:   `=""|\"}="{\\"|a={"b":[]}`,
		`[1, "a]\"" ,{"a":[1,2]},[[]],-1e5]`: `1|"a]\""|{"a":[1,2]}|[[]]|-1e5`,
		`{"a":{"b":[{}]}}`:                   `!`, // three levels in it are too many
		`[[[[1]]]]`:                          `!`,
		`{"a":"{[{[{["}`:                     `a="{[{[{["`,
		``:                                   "!", ` `: "!", `1`: "!", `"a"`: "!", `{`: "!", `{"a`: "!", `{"a"`: "!", `{"a":`: "!", `{"a":1`: "a=1|!",
		`{"a":1,`: "a=1|!", `{"a":1 "b":2}`: "a=1|!", `{"a":1}x`: "a=1|!", `{a:1}`: "!", `{"a"::1}`: "!", `{"a":}`: "!", `{"a":[1}`: "a=[1}|!", `{"a":"\"}`: "!",
		`[`: "!", `[1`: "!", `[1 2]`: "1|!", `[,1]`: "!", `["a]`: "!", `[[]`: "!",
	} {
		if got := walk([]byte(in), 2); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	deep := strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20)
	if m := jsonscan.MembersOf([]byte(`{"a":`+deep+`}`), jsonscan.AnyDepth); !m.Next() || string(m.Val) != deep {
		t.Error("a million levels are not passed over")
	}
}

// A key can be looked at before its value is passed over.
func TestKeys(t *testing.T) {
	m := jsonscan.MembersOf([]byte(`{"a":1,"b":[[`), jsonscan.AnyDepth)
	if !m.NextKey() || string(m.Key) != "a" || !m.Value() || string(m.Val) != "1" {
		t.Fatalf("%+v", m)
	}
	if !m.NextKey() || string(m.Key) != "b" || m.Bad || m.Value() || !m.Bad {
		t.Fatalf("%+v", m)
	}
}

func TestTrim(t *testing.T) {
	for in, want := range map[string]string{"": "", " \r\n": "", "{}": "{}", "\t{ } \n": "{ }", "\v1\u00a0": "\v1\u00a0"} {
		if got := string(jsonscan.Trim([]byte(in))); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

func TestText(t *testing.T) {
	for val, want := range map[string]string{
		`""`: "", `"a"`: "a", `null`: "", `1`: "", ``: "", `"`: "",
		`"\"\\\/\b\f\n\r\t\u00e4\u00C4"`: "\"\\/\b\f\n\r\täÄ",
		`"\ud83d\ude00 \ud83d \ude00x"`:  "😀 \ufffd \ufffdx",
		"\"a\xffb\"":                     "a\ufffdb",
		`"\u12"`:                         "\ufffd",
		`"\`:                             "",
	} {
		if got := jsonscan.Text([]byte(val)); got != want || jsonscan.TextLen([]byte(val)) != len(want) {
			t.Errorf("%s: got %q of %d bytes, want %q", val, got, jsonscan.TextLen([]byte(val)), want)
		}
		if !jsonscan.IsString([]byte(val)) || !utf8.ValidString(val) {
			continue
		}
		if got := string(jsonscan.Unescaped([]byte(val)[1 : len(val)-1])); got != want {
			t.Errorf("%s: got %q unescaped, want %q", val, got, want)
		}
	}
}

// Nothing is read outside of the input, and what is valid is found as encoding/json finds it.
func FuzzWalk(f *testing.F) {
	for _, in := range []string{`{"a":1,"\ud83d":[{}]}`, `[1,"\"",{}]`, `{"a":{"b":[1]}} `, `"\u00e4\ud83d\ude00`, `{"a`, "[\xff]"} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:len(b):len(b)]
		valid := json.Valid(b)
		m := jsonscan.MembersOf(b, jsonscan.AnyDepth)
		var raw bytes.Buffer
		for m.Next() {
			key := append(append([]byte{'"'}, m.Key...), '"')
			if raw.Len() > 0 {
				raw.WriteByte(',')
			}
			raw.Write(append(append(key, ':'), m.Val...))
			if !valid {
				jsonscan.Text(m.Val)
				continue
			}
			var text string
			if json.Unmarshal(key, &text) != nil || utf8.Valid(key) && text != string(jsonscan.Unescaped(m.Key)) || jsonscan.Text(key) != text {
				t.Errorf("%q is read as %q, not %q", key, jsonscan.Text(key), text)
			}
		}
		trimmed := bytes.TrimSpace(b)
		if valid && trimmed[0] == '{' {
			var want, got bytes.Buffer
			if m.Bad || json.Compact(&want, trimmed) != nil || json.Compact(&got, []byte("{"+raw.String()+"}")) != nil || got.String() != want.String() {
				t.Errorf("%q: bad %v, members %s", b, m.Bad, raw.String())
			}
		}
		e := jsonscan.ElementsOf(trimmed, jsonscan.AnyDepth)
		n := 0
		for e.Next() {
			n++
		}
		if valid && trimmed[0] == '[' {
			var want []json.RawMessage
			if json.Unmarshal(trimmed, &want) == nil && (e.Bad || n != len(want)) {
				t.Errorf("%q has %d elements, not %d; bad %v", b, n, len(want), e.Bad)
			}
		}
	})
}
