package terminal

import (
	"slices"
	"strings"
	"testing"
)

// hear feeds keys with chunks and returns the lines; a paste is in them as its piece.
func hear(chunks ...string) (lines []string, ended bool) {
	k := keys{erase: 0x7f, word: 0x17, kill: 0x15, end: 4}
	for _, c := range chunks {
		k.take([]byte(c), func(l keyLine) {
			text := l.text()
			if l.pasted {
				text = "pasted " + text
			}
			lines = append(lines, text)
		}, func(p string) {
			k.line.add(pieceOf(p))
			k.line.pasted = true
		}, func() { ended = true })
	}
	return append(lines, k.line.text()), ended
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
		end  bool
	}{
		{"hello\n", "hello|", false},
		{"hällo\x7f\x7f\x7f\x7fe", "he", false},
		{"one two  \x17three", "one three", false},
		{"one\x15two", "two", false},
		{"a\x1b[D\x1b[1;5C\x1bOPb\x1bxc\r", "abc|", false},
		{"a\x04\x01", "a", false},
		{"\x04", "", true},
		{"\x1b[200~one\rtwo\x1b[201~ and\n", "pasted one\ntwo and|", false},
		{"\x1b[200~one\x1b[31m\x04\x1b[201~\x7fx\n", "x|", false},
		{"\xff\xfe日本\n", "日本|", false},
	} {
		whole, end := hear(c.text)
		if got := strings.Join(whole, "|"); got != c.want || end != c.end {
			t.Errorf("%q: %q, %v", c.text, got, end)
		}
		if bytewise, _ := hear(strings.Split(c.text, "")...); !slices.Equal(bytewise, whole) {
			t.Errorf("%q, byte by byte: %q", c.text, bytewise)
		}
	}
	if got, _ := hear("one\ntwo\nthree"); strings.Join(got, "|") != "pasted one|pasted two|three" {
		t.Errorf("lines that come at once: %q", got)
	}
	if got, _ := hear(strings.Repeat("x", maxLine+5)); len(got[0]) != maxLine {
		t.Errorf("a line of %d bytes", len(got[0]))
	}
}

// keys accepts anything that a terminal sends, and the result does not depend on how the input is
// split.
func FuzzKeys(f *testing.F) {
	f.Add("a\x1b[200~b\rc\x1b[201~\n\x1b[Dx", 3)
	f.Fuzz(func(t *testing.T, text string, at int) {
		if strings.ContainsAny(text, "\r\n") { // it could be a paste without marks
			return
		}
		whole, _ := hear(text)
		if at < 0 || at > len(text) {
			return
		}
		if parts, _ := hear(text[:at], text[at:]); !slices.Equal(parts, whole) {
			t.Errorf("%q cut at %d: %q, want %q", text, at, parts, whole)
		}
	})
}
