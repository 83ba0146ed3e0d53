package glob

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

func tree(t *testing.T, pattern string) *Pattern {
	t.Helper()
	p, err := Tree(pattern)
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	return p
}

// The expansions of a shell word are compared with the meaning of a rule's path.
func TestWildcardsMeetRules(t *testing.T) {
	for _, test := range []struct {
		word, rule string
		want       bool
	}{
		{"home/u/.env", "**/.env", true},
		{"home/u/.e*", "**/.env", true},
		{"home/u/*", "**/.env", true},
		{"home/u/.[a-f]nv", "**/.env", true},
		{"home/u/.[!e]nv", "**/.env", false},
		{"home/u/.[[:alpha:]]nv", "**/.env", true},
		{"home/u/.[e", "**/.env", false},
		{"home/u/{a,.env}", "**/.env", true},
		{"home/u/{a,b}", "**/.env", false},
		{"home/u/{a/.env,b}", "**/.env", true},
		{"home/{u/.e,x/.f}nv", "**/.env", true},
		{"home/u/.{d..f}nv", "**/.env", true},
		{"home/u/{.env}", "**/.env", false},
		{"home/u/{{a,.e},b}n{v,w}", "**/.env", true},
		{"home/?/.env", "home/u/.env", true},
		{"home/?/.env", "home/uu/.env", false},
		{"home/*/.env", "home/u/v/.env", false},
		{"a/k.pe?", "**/*.pem", true},
		{"a/k.p?", "**/*.pem", false},
		{"a/*.go", "**/*.pem", false},
		{"a/*", "**/*.pem", true},
		{"a/s*/x", "**/.ssh/**", false},
		{"a/.s*/x", "**/.ssh/**", true},
		{"a/.s*", "**/.ssh/**", true},
		{"a/s*/x", "**/{secret,key}s", true},
		{"a/s*/x", "**/[a-k]*s", false},
		{"x", "**", true},
		{"a/b/c", "a/*", true},
		{"a/b/c", "a/b/c/d", false},
		{"a", "a/**", true},
		{"ab", "a/**", false},
		{"a*b", `a\*b`, true},
		{"a?b", `a\*b`, true},
		{"axb", `a\*b`, false},
	} {
		if got, _ := Meet(Word(test.word, true), tree(t, test.rule)); got != test.want {
			t.Errorf("%q and %q: %v", test.word, test.rule, got)
		}
	}
	if got, _ := Meet(Word("a/*", false), tree(t, "**/.env")); got {
		t.Error("a wildcard stands for a dot at the start of a name")
	}
	if got, _ := Meet(Word("a/*v", true), tree(t, "**/.env")); !got {
		t.Error("a wildcard stands for no dot, where a shell can be told so")
	}
}

// FuzzWildcards compares the texts of a word with another interpretation of it.
func FuzzWildcards(f *testing.F) {
	for _, seed := range [][2]string{{"a*b?c", "axxbyc"}, {"[a-c]x", "bx"}, {"[^a]*", "ba"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, word, text string) {
		if len(word) > 40 || len(text) > 40 || Wild(text) || strings.ContainsAny(text, `\`) || strings.Contains(text, "..") ||
			strings.ContainsAny(word, `\`) || strings.Contains(word, "**") || strings.Contains(word, "..") || strings.ContainsAny(word, "{:") || !doublestar.ValidatePattern(word) {
			return
		}
		want, err := doublestar.Match(word, text)
		if err != nil || !want {
			return // the shell reads some braces and brackets literally
		}
		if got, _ := Meet(Word(word, true), Word(text, true)); !got {
			t.Errorf("%q does not stand for %q", word, text)
		}
	})
}

// FuzzRulePaths compares rules' paths with the matcher for which they are written,
// except for its peculiarities: ranges that run backwards, empty braces, and that it
// matches the folder of a/** and not that of a*/**.
func FuzzRulePaths(f *testing.F) {
	for _, seed := range [][2]string{
		{"a*b?c", "axxbyc"},
		{"{a,b/c}d", "b/cd"},
		{"[a-c]x", "bx"},
		{"[^a]*", "ba"},
		{"*{a,{b,c}}", "xc"},
		{"**/.env", "a/b/.env"},
		{"a/**/b", "a/c/d/b"},
		{"{a,b}/**/c", "a/c"},
		{`a\*b`, "a*b"},
		{"**/x/**/y", "x/y"},
		{"{0}", "0"},
		{"[0[:]", "0"},
		{`[\]0]`, "]"},
		{`{\,b,c}*`, ",b"},
	} {
		f.Add(seed[0], seed[1])
	}
	odd := func(s string) bool {
		return s == "" || !utf8.ValidString(s) || len(s) > 40 || strings.Trim(s, "/") != s || strings.Contains(s, "//") || strings.Contains("/"+s+"/", "/./") || strings.Contains("/"+s+"/", "/../")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if odd(pattern) || odd(text) || !doublestar.ValidatePattern(pattern) || strings.Count(pattern, "{") > 6 ||
			strings.Contains(pattern, "***") || strings.HasSuffix(pattern, "/**") {
			return
		}
		if strings.Contains(pattern, "{}") || strings.Contains(pattern, "-") && strings.Contains(pattern, "[") {
			return
		}
		want := doublestar.MatchUnvalidated(pattern, text)
		for up := text; !want && strings.Contains(up, "/"); {
			up = up[:strings.LastIndexByte(up, '/')]
			want = doublestar.MatchUnvalidated(pattern, up)
		}
		if strings.Contains(strings.ReplaceAll("/"+pattern+"/", "/**/", "//"), "**") { // ours matches across folders within a name as well
			return
		}
		tree, err := Tree(pattern)
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		if got := tree.Matches(text); got != want {
			t.Errorf("%q and %q: %v, want %v", pattern, text, got, want)
		}
	})
}

// The cost of a pattern grows with its length only.
func TestBraces(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    bool
	}{
		{strings.Repeat("{,}", 300) + "x", true},
		{strings.Repeat("{a,b,}", 300) + "y", false},
		{strings.Repeat("{"+strings.Repeat(",", 90)+"}", 10) + "x", true},
		{strings.Repeat("{a,", 300) + strings.Repeat("}", 300) + "x", true},
		{strings.Repeat("*a", 500), false},
	} {
		p := Word(c.pattern, true)
		if got := p.Matches("x"); got != c.want {
			t.Errorf("%.20q matches: %v", c.pattern, got)
		}
		got, steps := Meet(p, Word("x", true))
		if got != c.want || len(p.ways) > 4*len(c.pattern) || steps > 100*len(c.pattern) {
			t.Errorf("%.20q (%d bytes) meets: %v, %d states, %d steps", c.pattern, len(c.pattern), got, len(p.ways), steps)
		}
		if p, err := Path(c.pattern); err == nil {
			t.Errorf("%.20q is a pattern of %d states", c.pattern, len(p.ways))
		}
	}
	for pattern, want := range map[string]bool{
		strings.Repeat("{,}", 8) + "x":                                     true,
		strings.Repeat("{a,b,}", 8) + "y":                                  false,
		"{" + strings.Repeat(",", 90) + "}x":                               true,
		strings.Repeat("{a,", 8) + strings.Repeat("}", 8) + "x":            true,
		strings.Repeat("**/", 80) + "x":                                    true,
		strings.Repeat("*a", 128):                                          false,
		strings.Repeat("{"+strings.Repeat("*,", 12)+"}", 8) + "x":          true,
		strings.Repeat("{**/,", 8) + strings.Repeat("}", 8) + "**/**/**/x": true,
	} {
		p, err := Path(pattern)
		if err != nil {
			t.Errorf("%q: %v", pattern, err)
			continue
		}
		if got := p.Matches("x"); got != want {
			t.Errorf("%q matches: %v", pattern, got)
		}
		got, steps := Meet(p, Word("x", true))
		if got != want || len(p.ways) > 4*len(pattern) || steps > 100*len(pattern) {
			t.Errorf("%q (%d bytes) meets: %v, %d states, %d steps", pattern, len(pattern), got, len(p.ways), steps)
		}
	}
}

// A folder of any length and any name may precede a pattern.
func TestQuotedFolders(t *testing.T) {
	for _, dir := range []string{"home/" + strings.Repeat("long/", 100), `a[b/c{d,/e*f?/g\h`, "x]}y"} {
		p, err := Path(Quote(dir) + "/**/*.md")
		if err != nil || !p.Matches(dir+"/a/b.md") || p.Matches("home/a.md") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if err := CheckPath(strings.Repeat("a", 257)); err == nil {
		t.Error("a pattern of 257 bytes is one")
	}
}

// An invalid pattern is an error.
func TestInvalidPaths(t *testing.T) {
	for pattern, why := range map[string]string{
		"":                             "is empty",
		"a[":                           "a [ is not closed",
		"a[]":                          "a [ is not closed",
		"a[!]":                         "a [ is not closed",
		"{a":                           "a { is not closed",
		"x{a,{b}":                      "a { is not closed",
		"{a,[}":                        "a [ is not closed",
		`a\`:                           "ends in a backslash",
		"[z-a]":                        "runs backwards",
		"a\xff":                        "not UTF-8",
		"*" + strings.Repeat("a", 256): "longer than 256 bytes",
		strings.Repeat("{a,b}", 9):     "more than 8 groups",
		"{" + strings.Repeat("{},", 8): "a { is not closed",
	} {
		for name, parse := range map[string]func(string) (*Pattern, error){"Path": Path, "Tree": Tree} {
			if _, err := parse(pattern); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s(%.20q): %v", name, pattern, err)
			}
		}
	}
}
