package diff

import (
	"strings"
	"testing"

	"dragoman/core"
)

func TestDiff(t *testing.T) {
	was := "a\nb\nc\n"
	for _, c := range []struct {
		was   *string
		now   string
		size  string
		line  int
		patch string
	}{
		{&was, "a\nB\nc\n", "(+1 −1)", 2, "--- a/sub/f\n+++ b/sub/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{&was, was, "(no change)", 0, ""},
		{&was, was + "d", "(+1)", 4, "--- a/sub/f\n+++ b/sub/f\n@@ -1,3 +1,4 @@\n a\n b\n c\n+d\n\\ No newline at end of file\n"},
		{&was, "", "(−3)", 1, "--- a/sub/f\n+++ b/sub/f\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n"},
		{nil, "x\n", "(+1)", 1, "--- /dev/null\n+++ b/sub/f\n@@ -0,0 +1 @@\n+x\n"},
		{nil, "", "(+0)", 0, ""},
	} {
		d := Of("/w/sub/f", "sub/f", c.was, c.now)
		if d.Path != "/w/sub/f" || d.New != c.now || d.Created != (c.was == nil) || Size(d) != c.size || FirstLine(d) != c.line || d.Patch != c.patch {
			t.Errorf("%q: %s, line %d, %+v; want %s, line %d, %q", c.now, Size(d), FirstLine(d), d, c.size, c.line, c.patch)
		}
	}
}

func TestHiddenCharactersAreNamed(t *testing.T) {
	blocks := Shown(Of("/f", "f", nil, "x\nif a\u200b {\n"))
	if len(blocks) != 2 || !strings.Contains(blocks[1].(core.Text).Text, "U+200B in line 2") {
		t.Errorf("%+v", blocks)
	}
	if blocks := Shown(Of("/f", "f", nil, "x\n")); len(blocks) != 1 {
		t.Errorf("%+v", blocks)
	}
}

// A joiner inside of an emoji is not hidden; elsewhere it is.
func TestJoinersOfEmojiAreNotHidden(t *testing.T) {
	for _, c := range []struct{ was, now, want string }{
		{"", "a family: 👩‍👩‍👧, a heart: ❤️‍🔥, a hand: 👩🏽‍💻", ""},
		{"", "no\u200djoin", "U+200D in line 1"},
		{"", "👩\u200d\n\u200d👩", "U+200D in line 1, U+200D in line 2"},
		{"👩‍👩‍👧", "👩‍👩‍👧\nx\u200dy", "U+200D in line 2"},
	} {
		if got := strings.Join(hiddenIn(c.was, c.now), ", "); got != c.want {
			t.Errorf("%q: %q, want %q", c.now, got, c.want)
		}
	}
}
