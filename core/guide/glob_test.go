package guide

import (
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	for _, tt := range []struct{ pattern, yes, no string }{
		{"*.go", "a.go cmd/a.go a/b/c.go", "a.gox ago a.go/b"},
		{"src/*.clj", "src/foo.clj", "src/nested/foo.clj src/foo.cljs xsrc/foo.clj a/src/foo.clj"},
		{"src/**/*.clj", "src/nested/foo.clj src/a/b/foo.clj src/foo.clj", "test/foo.clj src/foo.js"},
		{"src/**.clj", "src/foo.clj src/nested/foo.clj", "test/foo.clj"},
		{"**/*.md", "a.md a/b.md", "a.txt"},
		{"**", "a a/b", ""},
		{"docs/", "docs/a docs/a/b", "docs a/docs/b"},
		{"./docs/a.md", "docs/a.md", "a.md"},
		{"/a.md", "a.md", ""},
		{"src/**.{ts,tsx}", "src/a.ts src/b/c.tsx", "src/a.js src/a.ts,tsx"},
		{"{src,lib}/**/*.ts", "src/a.ts lib/b/c.ts", "a/src/b.ts"},
		{"{a/*.x,**/b.y}", "a/1.x b.y c/d/b.y", "a/b/1.x"},
		{"{a{1,2},b}", "a1 x/a2 b", "a a12"},
		{"a?c/x", "abc/x aéc/x", "ac/x a/c/x"},
		{"[a-c]*/[!x]", "a1/y c/z", "d/y a/x a//"},
		{"[]]/[^a]", "]/b", "]/a a/b"},
		{"a.b+(c)|d", "a.b+(c)|d", "axb+(c)|d d"},
		{`a\*b`, "a*b", "axb"},
		{"a,b}/c", "a,b}/c", "a/c"},
		{"é*/ü", "éa/ü", "e/ü"},
		{"***/x", "x a/x a/b/x", "y"},
	} {
		p, err := parseGlob(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		for path := range strings.FieldsSeq(tt.yes) {
			if !p.Matches(path) {
				t.Errorf("%s does not match %s: %v", tt.pattern, path, p)
			}
		}
		for path := range strings.FieldsSeq(tt.no) {
			if p.Matches(path) {
				t.Errorf("%s matches %s: %v", tt.pattern, path, p)
			}
		}
	}
	for _, pattern := range []string{"", "/", "!a", "a[", "a[]", "a[!]", "{a", `a\`, "[z-a]", strings.Repeat("a", 300), "a\xff"} {
		if p, err := parseGlob(pattern); err == nil {
			t.Errorf("%q became %v", pattern, p)
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"src/**/*.{ts,tsx}", "[!a-z]?", `\*`, "{a,{b,c}}/**", "**/", "é[ü]"} {
		f.Add(s, "src/a/b.ts")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, err := parseGlob(pattern)
		if err == nil {
			p.Matches(path)
		}
		// A pattern without special characters matches itself.
		if err == nil && !strings.ContainsAny(pattern, `*?[]{},\!`) && !strings.HasPrefix(pattern, "./") && !strings.HasPrefix(pattern, "/") &&
			!strings.HasSuffix(pattern, "/") && !p.Matches(pattern) {
			t.Errorf("%q does not match itself: %v", pattern, p)
		}
	})
}
