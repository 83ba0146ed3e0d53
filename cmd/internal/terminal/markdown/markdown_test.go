package markdown

import (
	"strings"
	"testing"
)

// shown renders the parts of a text, with the colours as <1> and </>.
func shown(width int, parts ...string) string {
	var b strings.Builder
	r := New(func(s string) { b.WriteString(s) }, func() int { return width })
	for _, p := range parts {
		r.Write(p)
	}
	r.End()
	text := strings.ReplaceAll(b.String(), "\x1b[0m", "</>")
	for _, code := range []string{"1", "2", "3", "4", "9", "36", "1;36", "1;3"} {
		text = strings.ReplaceAll(text, "\x1b["+code+"m", "<"+code+">")
	}
	return text
}

func TestRender(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain words", "plain words"},
		{"**bold** and *it* and `a*b`", "<1>bold</> and <3>it</> and <36>a*b</>"},
		{"# Title\ntext\n", "<1>Title</>\ntext\n"},
		{"#no title", "#no title"},
		{"2 * 3 * 4, s_c_n, a", "2 * 3 * 4, s_c_n, a"},
		{"open **never closed\nnext", "open **never closed\nnext"},
		{"- one\n- two words that are long\n  1. three\n", "• one\n• two words that are\n  long\n  1. three\n"},
		{"> quoted text that is long\n", "<2>│</> quoted text that\n<2>│</> is long\n"},
		{"```go\nx := `**no**`\n```\nafter", "  <2>go</>\n  <36>x := `**no**`</>\nafter"},
		{"---\n", "<2>────────────────────</>\n"},
		{"[text](http://x) [no] [x]", "<4>text</> <2>(http://x)</> [no]\n[x]"},
		{"\\*not\\* \\n", "*not* \\n"},
		{"| a | b |\n|---|---|\n| 日本 | `c` |\n\nend", "<1>a</>   <2> │ </><1>b</>\n<2>─────┼──</>\n日本<2> │ </><36>c</>\n\nend"},
		{"| name | value |\n|---|---|\n| one | a much longer value |\n| two | x |\n", "<1>name:</> one\n<1>value:</> a much longer\n  value\n\n<1>name:</> two\n<1>value:</> x\n"},
		{"| no table\n", "| no table\n"},
		{"a very long line of words", "a very long line of\nwords"},
		{"***both*** ~~gone~~ ~x~", "<1;3>both</> <9>gone</> ~x~"},
		{"- [ ] task\n* **x**", "• [ ] task\n• <1>x</>"},
		{"1", "1"},
		{"``", "``"},
		{"-", "-"},
		{"```\nopen", "  <36>open</>\n"},
	} {
		if got := shown(20, c.text); got != c.want {
			t.Errorf("%q:\n%q, want\n%q", c.text, got, c.want)
		}
		if got := shown(20, strings.SplitAfter(c.text, "")...); got != shown(20, c.text) {
			t.Errorf("%q, piece by piece:\n%q, want\n%q", c.text, got, shown(20, c.text))
		}
	}
}

// Words are shown while their line goes on.
func TestTextStreams(t *testing.T) {
	var b strings.Builder
	r := New(func(s string) { b.WriteString(s) }, func() int { return 80 })
	r.Write("Words **are")
	if b.String() != "Words" {
		t.Errorf("%q", b.String())
	}
	r.Write(" shown** at")
	if !strings.HasSuffix(b.String(), "shown\x1b[0m") {
		t.Errorf("%q", b.String())
	}
}

// Any text is shown in the same way, however it is split, and its letters are all there.
func FuzzRender(f *testing.F) {
	f.Add("# a\n- **b** `c` [d](e) | f\n| a | b |\n|--|--|\n> q\n```\nx\n```", 9)
	f.Fuzz(func(t *testing.T, text string, at int) {
		text = strings.Map(func(r rune) rune {
			if r < ' ' && r != '\n' || r > '~' {
				return 'x'
			}
			return r
		}, text)
		if at < 0 || at > len(text) || len(text) > maxHeld/2 {
			return
		}
		whole := shown(30, text)
		if parts := shown(30, text[:at], text[at:]); parts != whole {
			t.Errorf("%q cut at %d:\n%q\n%q", text, at, parts, whole)
		}
		if got, want := strings.Count(whole, "Q"), strings.Count(text, "Q"); got < want {
			t.Errorf("%q: %d of %d letters", text, got, want)
		}
	})
}
