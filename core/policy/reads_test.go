package policy

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/core"
)

// Rules that were found out once forbid what they forbid one by one.
func TestReadsIsForbids(t *testing.T) {
	paths := []string{"", "/", "/w", "/w/a", "/w/.env", "/w/sub/.ENV", "/w/sub/.env./x", "/home/u/Key", "/W/\uff41", "/w/a:b", "/w/a\u200bb", "/w/ x ", "/w//a", "/w/./a/..", "rel/a", "/w/\xff"}
	given := []Rule{
		{Path: "**/.env"},
		{Path: "~/key"},
		{Path: "/w/a"},
		{Path: "ab"},
		{},
		{Tool: "grep"},
		{Tool: "read_*", Path: "sub"},
		{Server: "other"},
		{Command: "rm"},
		{URL: "example.com"},
		{Path: "a", Command: "rm"},
		{Agent: "x"},
		{Client: "zed"},
		{Workspace: "/w", Path: "x"},
		{Workspace: "/v"},
		{Path: "/w/.env", Own: true},
	}
	for i := range given {
		for j := range given {
			a, b := given[i], given[j]
			a.Effect, b.Effect = core.Deny, core.Deny
			p, err := New(Options{Rules: []Rule{a, b, {Effect: core.Allow}}, Home: "/home/u"})
			if err != nil {
				t.Fatal(err)
			}
			rights := Rights{Rules: p}
			for _, m := range []core.Meta{{}, {Cwd: "/w", Roots: []string{"/w", "/v"}}} {
				reads := rights.Reads(m)
				for _, path := range paths {
					if got, want := reads(path), rights.Forbids(m, core.Access{Op: core.OpRead, Path: path}); got != want {
						t.Errorf("%+v %+v: %q: %v, want %v", a, b, path, got, want)
					}
				}
			}
		}
	}
}

// A path whose names are plain is folded like any other.
func FuzzFoldPath(f *testing.F) {
	for _, p := range []string{"/a/B.c", "/", "", "/a//b", "/a/./b", "/a/../b", "/a./b", "/a ", "/a:b", "/a\\b", "a/b", "/é", "//a", "/.", "/..", "/.a/..b", "/a/"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		parts := strings.Split(strings.TrimPrefix(filepath.ToSlash(filepath.Clean(p)), "/"), "/")
		for i, part := range parts {
			s := fold(part)
			if name, _, ok := strings.Cut(s, ":"); ok && len(name) > 1 {
				s = name
			}
			if t := strings.TrimRight(s, ". "); t != "" {
				s = t
			}
			parts[i] = s
		}
		if got, want := foldPath(p), strings.Join(parts, "/"); got != want {
			t.Errorf("%q: %q, want %q", p, got, want)
		}
	})
}

func BenchmarkReads(b *testing.B) {
	var rules []Rule
	for i := range 5 {
		rules = append(rules, Rule{Effect: core.Deny, Path: fmt.Sprintf("/home/u/.local/share/dragoman/file%d.json", i), Own: true})
	}
	p, err := New(Options{Rules: rules, Home: "/home/u"})
	if err != nil {
		b.Fatal(err)
	}
	reads := Rights{Rules: p}.Reads(core.Meta{Cwd: "/w"})
	b.ReportAllocs()
	for b.Loop() {
		reads("/home/u/src/project/internal/package/file_test.go")
	}
}
