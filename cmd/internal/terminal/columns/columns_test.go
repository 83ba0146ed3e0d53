package columns

import (
	"strings"
	"testing"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"":                       0,
		"plain":                  5,
		"日本":                     4,
		"e\u0301":                1,
		"👩‍👩‍👧":                  2,
		"👍🏽":                     2,
		"🇩🇪":                     2,
		"❤\ufe0f":                2,
		"\x1b[1mbold\x1b[0m":     4,
		"한국":                     4,
		"\u200bx":                1,
		"🇩🇪🇫🇷 👩‍💻!":              8,
		"a\u0301\u0302b":         2,
		"\x1b[38;5;1mé\x1b[0m":   1,
		"no\u200djoin":           6,
		"\u1100\u1161\u11a8":     2,
		"㈱":                      2,
		strings.Repeat("x", 100): 100,
	} {
		if got := Width(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}

func TestLast(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "", "x 👩‍": "👩‍", "日本": "本", "日 x": "", "👩‍👩 👩‍👩": "👩‍👩"} {
		if got := Last(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A text is broken at blanks, between wide characters, and inside of a word only if no line is
// wide enough for it. Clusters are never cut.
func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{"one two three four", "one two|three four"},
		{"abcdefghijklmn", "abcdefghij|klmn"},
		{"a bbbbbbbbbb c", "a|bbbbbbbbbb|c"},
		{"日本語日本語日本語", "日本語日本|語日本語"},
		{"123456789👩‍👩‍👧x", "123456789|👩‍👩‍👧x"},
		{"  kept", "  kept"},
		{"one\ntwo", "one|two"},
		{"\x1b[1mone two three\x1b[0m", "\x1b[1mone two|three\x1b[0m"},
	} {
		if got := strings.ReplaceAll(Wrap(c.text, 10), "\n", "|"); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// A flow writes the same, however its text is split.
func FuzzFlow(f *testing.F) {
	f.Add("some words and 日本語 👩‍👩‍👧", 7, 12)
	f.Fuzz(func(t *testing.T, text string, at, width int) {
		if at < 0 || at > len(text) || strings.ContainsAny(text, "\x1b\n") {
			return
		}
		if at > 0 && at < len(text) && text[at-1] != ' ' { // a cluster may not be cut
			return
		}
		write := func(parts ...string) string {
			var b strings.Builder
			fl := Flow{Out: func(s string) { b.WriteString(s) }, Columns: func() int { return width }}
			for _, p := range parts {
				fl.Text("", p)
			}
			fl.End()
			return b.String()
		}
		if whole, parts := write(text), write(text[:at], text[at:]); whole != parts {
			t.Errorf("%q, %q", whole, parts)
		}
	})
}
