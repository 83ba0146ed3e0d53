package linesearch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// plain returns the numbers of the lines that match, found without any shortcut.
func plain(m *Matcher, text []byte) (list []int) {
	if len(text) == 0 {
		return nil
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		if m.re.Match(line) {
			list = append(list, i+1)
		}
	}
	return list
}

// same fails unless a matcher finds the lines that it finds without shortcuts.
func same(t *testing.T, pattern string, fold bool, text []byte) {
	t.Helper()
	m, err := New(pattern, fold)
	if err != nil {
		return
	}
	want := plain(m, text)
	for _, limit := range []int{1 << 20, 2} {
		var got []int
		for _, l := range m.Lines(text, limit) {
			got = append(got, l.No)
			line := text[l.Start:l.End]
			if bytes.Count(text[:l.Start], []byte("\n")) != l.No-1 || bytes.IndexByte(line, '\n') >= 0 || !m.re.Match(line) {
				t.Errorf("%q (fold %v): line %d is %q", pattern, fold, l.No, line)
			}
		}
		if some := want[:min(len(want), limit)]; fmt.Sprint(got) != fmt.Sprint(some) {
			t.Errorf("%q (fold %v) in %q: lines %v, want %v; needs %+q", pattern, fold, text, got, some, m.needs.texts)
		}
	}
}

// No shortcut loses or adds a line.
func FuzzMatcher(f *testing.F) {
	for _, p := range []string{
		"a", "^a", "a$", "^$", "a*", "[^a]", `\s`, `\ba`, "(?i)A|b", `a\n`, `\Aa`, ".", "a|b", "ab|ac|(?i)D", `a\nb|c`, `(?s)a.b`, "é", "(?i)é|a",
		`\x{d800}`, "\ufffd", "x+y", "(a)(b)", "a{2,3}b", `\Ba`, `a\z`, "", "|a", "(?i:s)k", "(?-i:S)a",
	} {
		f.Add(p, "a\nb\n\nab a\r\nB\xff é\u017f\u212a Sa\naab xy\ufffd\n", false)
	}
	for _, p := range []string{"kb+c", "kbc", "(?i:ab)c|d", "x(ab)+", "s", "a{2,3}b"} {
		f.Add(p, strings.Repeat("x", 4094)+"KBC\n\u212aBC\nabc\nABc\nxab\u017f\naaab", true)
		f.Add(p, strings.Repeat("x\n", 2049)+"KBC\n\u212aBC\nabc\nABc\nxab\u017f\naaab", true)
	}
	f.Fuzz(func(t *testing.T, pattern, data string, fold bool) {
		if len(pattern) > 100 || len(data) > 20_000 {
			return
		}
		same(t, pattern, fold, []byte(data))
	})
}

// The same for patterns and texts that are made of the same few pieces, so that many match.
func TestShortcuts(t *testing.T) {
	pieces := []string{"a", "b", "K", "s", "é", "\u017f", "\u212a", "ab", "Foo", ".", "x*", "(ab|ba)", "(?i:foo)", "(?i:k|ß)", "b+", "a?", "[ab]", "[^b]", "^", "$", `\b`, "|", "{2}", "\n", `\n`, "(?s:.)", "\ufffd", `\z`}
	texts := []string{"a", "b", "k", "K", "S", "s", "é", "É", "\u017f", "\u212a", "ab", "ba", "Foo", "fOO", " ", "\n", "\n", "\r", "\xff", "\ufffd", "x", "0"}
	r := rand.New(rand.NewPCG(1, 2))
	one := func(from []string, most int) (s string) {
		for range r.IntN(most) {
			s += from[r.IntN(len(from))]
		}
		return s
	}
	for range 20_000 {
		text := one(texts, 40)
		if r.IntN(50) == 0 {
			text = strings.Repeat("0 0\n", 1020) + text
		}
		same(t, one(pieces, 6), r.IntN(2) == 0, []byte(text))
	}
}

// These are the expressions that need no look at most lines, and those that need no look at any.
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		pattern string
		fold    bool
		want    string
	}{
		{"abc", false, `["abc"] exact`},
		{"ABC", true, `["abc"] fold exact`},
		{"(abc)def", false, `["abcdef"] exact`},
		{"^abc$", false, `["abc"]`},
		{`func \(.*\) MarshalJSON`, false, `[") MarshalJSON"]`},
		{"(?i)select.*from users", false, `["from users"] fold`},
		{"error|warning|fatal", false, `["error" "warning" "fatal"] exact`},
		{"error|(?i)warning", false, `["error" "warning"] fold`},
		{`\b(foo|bar)\b`, false, `["foo" "bar"]`},
		{"foo|b?", false, `[]`},
		{"x+y", false, `["x"]`},
		{"(?i)größe", false, `["gr"] fold`},
		{"größe", false, `["größe"] exact`},
		{`a\nb`, false, `["a\nb"]`},
		{`\w+`, false, `[]`},
		{strings.Repeat("ab|cd|", 9) + "ef", false, `[]`},
	} {
		m, err := New(c.pattern, c.fold)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%q", m.needs.texts)
		if m.needs.fold {
			got += " fold"
		}
		if m.needs.exact {
			got += " exact"
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.pattern, got, c.want)
		}
	}
}

// Nothing outside of ASCII but the Kelvin sign and the long s folds to a character in it.
func TestOddCharacters(t *testing.T) {
	var odd []rune
	for c := rune(0); c < 128; c++ {
		for r := unicode.SimpleFold(c); r != c; r = unicode.SimpleFold(r) {
			if r >= 128 {
				odd = append(odd, c, r)
			}
		}
	}
	if want := []rune{'K', 0x212a, 'S', 0x17f, 'k', 0x212a, 's', 0x17f}; !slices.Equal(odd, want) {
		t.Errorf("%q", odd)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, p := range []string{"(", `\`, "a{1001}", strings.Repeat("a", maxPattern+1)} {
		if _, err := New(p, false); err == nil {
			t.Errorf("%.10s was compiled", p)
		}
	}
	if _, err := syntax.Parse("(?m)(", syntax.Perl); err == nil {
		t.Error("it was parsed")
	}
}

// BenchmarkLines searches in 4 MB of a program.
func BenchmarkLines(b *testing.B) {
	text := []byte(strings.Repeat("func name(argument string) (result int, err error) { return 0, nil } // and so on\n", 4<<20/82))
	text = append(text, "func (t T) MarshalJSON() Kelvin\n"...)
	for name, c := range map[string]struct {
		pattern string
		fold    bool
	}{
		"literal":     {"MarshalJSON", false},
		"ignore case": {"marshaljson", true},
		"kelvin":      {"kelvin", true},
		"either":      {"MarshalJSON|UnmarshalJSON", false},
		"expression":  {`func \(.*\) MarshalJSON`, false},
		"none":        {`\d{3}-\d+`, false},
		"common":      {`return \d, nil.*x`, false},
	} {
		b.Run(name, func(b *testing.B) {
			m, err := New(c.pattern, c.fold)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.Lines(text, 10)
			}
		})
	}
}
