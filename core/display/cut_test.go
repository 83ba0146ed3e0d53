package display

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	const s = "aä€😀"
	for n, want := range []string{"|", "a|", "a|", "aä|", "aä|", "aä|", "aä€|", "aä€|", "aä€|", "aä€|", "aä€😀|aä€😀", "aä€😀|aä€😀"} {
		head, _, _ := strings.Cut(want, "|")
		if got := Cut(s, n); got != head {
			t.Errorf("the first %d: %q, want %q", n, got, head)
		}
		if got := string(Cut([]byte(s), n)); got != head {
			t.Errorf("the first %d bytes: %q, want %q", n, got, head)
		}
	}
	for n, want := range []string{"", "", "", "", "😀", "😀", "😀", "€😀", "€😀", "ä€😀", "aä€😀", "aä€😀"} {
		if got := CutEnd(s, n); got != want {
			t.Errorf("the last %d: %q, want %q", n, got, want)
		}
	}
	if Cut(s, -1) != "" || CutEnd(s, -1) != "" {
		t.Error("there is no room, and something in it")
	}
	if head, tail, left := Ends(s, 5, 5); head != "aä" || tail != "😀" || left != 3 {
		t.Errorf("the ends: %q, %d, %q", head, left, tail)
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		s     string
		n     int
		short string
		left  int
		note  string
	}{
		{"äöü", 3, "äöü", 0, "äöü"},
		{"äöü", 2, "äö", 1, "äö… (1 more characters)"},
		{"abc", 0, "", 3, "… (3 more characters)"},
		{"", 0, "", 0, ""},
	} {
		if short, left := Clip(c.s, c.n); short != c.short || left != c.left || Clipped(c.s, c.n) != c.note {
			t.Errorf("%d of %q: %q and %d, %q", c.n, c.s, short, left, Clipped(c.s, c.n))
		}
	}
}

// What is cut from UTF-8 is UTF-8, as long as it may be; of anything else at most three
// bytes less are kept.
func FuzzCut(f *testing.F) {
	f.Add("aä€😀", 5)
	f.Add("\x80\x80\x80\x80\x80", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		for what, got := range map[string]string{"Cut": Cut(s, n), "CutEnd": CutEnd(s, n)} {
			room := max(min(n, len(s)), 0)
			if len(got) > room || room-len(got) >= utf8.UTFMax || utf8.ValidString(s) && !utf8.ValidString(got) {
				t.Errorf("%s(%q, %d) is %q", what, s, n, got)
			}
		}
		if !strings.HasPrefix(s, Cut(s, n)) || !strings.HasSuffix(s, CutEnd(s, n)) {
			t.Errorf("%q, %d: %q, %q", s, n, Cut(s, n), CutEnd(s, n))
		}
	})
}
