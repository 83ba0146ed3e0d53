package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"dragoman/core/jsonscan"
)

func TestAppendString(t *testing.T) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é€😀\u2028\u2029", "\xff\xc3", "a\xe2\x82", "<&>", strings.Repeat("x\n", 100)} {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.Encode(s)
		for _, got := range [][]byte{jsonscan.AppendString(nil, s), jsonscan.AppendString(nil, []byte(s))} {
			var back, expected string
			if err := json.Unmarshal(got, &back); err != nil {
				t.Errorf("%q: %s: %v", s, got, err)
			}
			json.Unmarshal(want.Bytes(), &expected)
			if back != expected {
				t.Errorf("%q: %s means %q", s, got, back)
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() { jsonscan.AppendString(make([]byte, 0, 64), "some text\n") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\"\\\n\xff\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		enc := jsonscan.AppendString(nil, s)
		if err := json.Unmarshal(enc, &got); err != nil || got != string([]rune(s)) || bytes.ContainsAny(enc, "\r\n") {
			t.Errorf("%q: %s: %v", s, enc, err)
		}
	})
}

// Fit cuts where the text before the cut, encoded, is just not longer than the room.
func FuzzFit(f *testing.F) {
	f.Add("plain text of some length, and \"quoted\\", uint16(20))
	f.Add("é€😀\u2028\x00\xff", uint16(3))
	f.Add("\x00", uint16(0))
	f.Fuzz(func(t *testing.T, s string, room uint16) {
		fits := func(n int) bool { return len(jsonscan.AppendString(nil, s[:n]))-len(`""`) <= int(room) }
		want, first := 0, 0
		for i, r := range s {
			n := i + len(string(r))
			if r == '\uFFFD' && !strings.HasPrefix(s[i:], "\uFFFD") {
				n = i + 1
			}
			if first == 0 {
				first = n
			}
			if fits(n) {
				want = n
			}
		}
		if got := jsonscan.Fit(s, int(room)); got != max(want, first) {
			t.Errorf("%q in %d: %d bytes, want %d", s, room, got, max(want, first))
		}
	})
}
