package glob

import "testing"

// What is looked at first, and sets of states, change nothing of what a pattern matches.
func FuzzQuickMatches(f *testing.F) {
	for _, s := range [][2]string{
		{"**/*.go", "a/b.go"},
		{"a/**/b{c,d}/[e]f*", "a/x/bd/ef/"},
		{"home/u/.ssh/**", "home/u/.ssh"},
		{"x{a,b}y", "xay"},
		{`a\*b[/]c`, "a*b/c"},
		{"\ufffd*", "\xff"},
		{"*é?", "éx"},
		{"{a}/**", "a/b"},
		{"a[b][!c]", "abd"},
		{"/a*", "/.a"},
		{"\xffa\\", "\xffa\\"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || len(text) > 1000 {
			return
		}
		list := []*Pattern{Word(pattern, false), Word(pattern, true)}
		for _, parse := range []func(string) (*Pattern, error){Path, Tree} {
			if p, err := parse(pattern); err == nil {
				list = append(list, p)
			}
		}
		for i, p := range list {
			for _, text := range []string{text, pattern, pattern + "/" + text, text + pattern} {
				if got, want := p.Matches(text), p.matchesLong(text); got != want {
					t.Errorf("%d: %q matches %q: %v, want %v (head %q, need %q)", i, pattern, text, got, want, p.head, p.need)
				}
			}
		}
	})
}

func BenchmarkMatches(b *testing.B) {
	for _, pattern := range []string{"home/u/.config/dragoman/key", "**/.env", "**/*", "src/**/*_test.go"} {
		p, err := Tree(pattern)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(pattern, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Matches("src/cmd/compile/internal/ssa/rewriteAMD64.go")
			}
		})
	}
}
