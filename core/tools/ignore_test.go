package tools

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// ignoreTree lists the files in the tree of the ignore tests.
var ignoreTree = []string{
	"a", "b.log", "d/a", "d/b.log", "d/e/a", "d/e/f/a", "d/e/x.go", "d/.hid", "foo/bar", "foo/baz/q", "x y", "#h", "!n", "ab", "a1", "trail ", "build/x",
	"src/build/x", "src/b", "[x]", "a*b", ".env", ".env.local", "{a,b}", "a-b", "é", "d/f/a", "z/d/a", "back\\slash",
}

// Our rules and git's own agree.
func TestIgnoreLikeGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	b := newBed(t)
	for _, f := range ignoreTree {
		b.put(f, "")
	}
	gitInit(t, b, git)
	for _, set := range []string{
		"*.log", "/a", "a", "d/a", "d/", "d/*", "d/**", "**/a", "d/**/a", "**/f", "*\n!a", "*.log\n!d/b.log", "foo/", "/foo/", "foo/bar/", "\\#h", "\\!n", "#h",
		"[ab]", "[!a]", "[^a]", "a?", "a[0-9]", "[]x]", "[[]x]", "[a-", "[", "x\\ y", "x y", "trail\\ ", "trail ", "trail   ", "build", "/build", "src/build/", "src/*",
		"!a", "*\n!*/\n!*.go", "\\[x\\]", "a\\*b", "a*b", "**", "d/e/**/", "*.l?g", "e/f", "/*\n!/d", "[[:alpha:]]", "[[:digit:][:lower:]]*", "[[:nope:]]",
		"[[:punct:]]*", "a\r\nb.log\r", "d/*/f", ".*", ".env*\n!.env.local", "/**/a", "d**a", "**.log", "foo/*\n!foo/bar", "{a,b}", "*{*", "[a-]b", "a[-]b", "a[+--]b",
		"\ufeff*.log", "", "/", "//", "!", "\\", "a\\", "?", "é", "[é]", "*/a", "*/*/a", "d/e", "d/e/\n!d/e/a", "d/e/*\n!d/e/a", "back\\\\slash", "*é*", " a", "a ",
		"**/e/**/a", "**/d/**", "d/**/**/a", "***", "d/***", "[!]a]", "[^]a]*", "[\\]x]*", "foo/**/q", "foo//bar", "./a", "d/../a",
	} {
		b.put(".gitignore", set+"\n")
		agreeWithGit(t, b, git, set)
	}
}

// The same with ignore files in several folders.
func TestNestedIgnoreLikeGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	for i, files := range []map[string]string{
		{".gitignore": "*.log", "d/.gitignore": "!b.log"},
		{".gitignore": "d/e", "d/.gitignore": "!e"},
		{".gitignore": "a", "d/.gitignore": "!/a", "d/e/.gitignore": "!a\nf"},
		{"d/.gitignore": "/e/a\n*.go"},
		{"d/.gitignore": "*", "d/e/.gitignore": "!*"},
		{"d/.gitignore": "*\n!e\n!e/**", "d/e/.gitignore": "x.go"},
		{".gitignore": "/d/e/f/", "d/e/.gitignore": "!f/"},
		{".git/info/exclude": "foo/\na", ".gitignore": "!a"},
		{"d/.gitignore": "../a\n/..\n"},
	} {
		b := newBed(t)
		for _, f := range ignoreTree {
			b.put(f, "")
		}
		for name, text := range files {
			b.put(name, text+"\n")
		}
		gitInit(t, b, git)
		agreeWithGit(t, b, git, fmt.Sprint("case ", i))
	}
}

func gitInit(t *testing.T, b *bed, git string) {
	t.Helper()
	cmd := exec.Command(git, "init", "-q", "--template=", b.dir)
	cmd.Env = []string{"HOME=" + b.away, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("git init: %v %s", err, out)
	}
}

// agreeWithGit compares the files that a walk sees with those git would track.
func agreeWithGit(t *testing.T, b *bed, git, name string) {
	t.Helper()
	ls := exec.Command(git, "-C", b.dir, "ls-files", "--others", "--exclude-standard", "-z")
	ls.Env = []string{"HOME=" + b.away, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
	out, err := ls.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	sort.Strings(want)
	p, err := b.set.files.Locate(".")
	if err != nil {
		t.Fatal(err)
	}
	w, done, err := b.set.walkFrom(p)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	got := []string{}
	err = w.each(t.Context(), func(e entry) (into, on bool) {
		if !e.kind.IsDir() {
			got = append(got, e.rel)
		}
		return true, true
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(got)
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("%q: we see\n%q\ngit sees\n%q", name, got, want)
	}
}

// A walk that begins below the root applies the rules of the folders above it.
func TestIgnoreFromBelow(t *testing.T) {
	b := newBed(t)
	b.put(".gitignore", "*.log\n/src/gen/\n")
	b.put("src/.gitignore", "!keep.log\n")
	for _, f := range []string{"src/a.go", "src/b.log", "src/keep.log", "src/gen/x.go", "src/gen/y.log", "src/sub/c.go", "src/sub/d.log"} {
		b.put(f, "")
	}
	for path, want := range map[string]string{
		".":       ".gitignore\nsrc/.gitignore\nsrc/a.go\nsrc/keep.log\nsrc/sub/c.go\n",
		"src":     "src/.gitignore\nsrc/a.go\nsrc/keep.log\nsrc/sub/c.go\n",
		"src/sub": "src/sub/c.go\n",
		"src/gen": "src/gen/x.go\nsrc/gen/y.log\n", // named by the caller, so shown
	} {
		if got := b.ok("glob", m{"pattern": "**", "path": path}); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	// An ignore file that is a link is not read: it may lead anywhere.
	b.put("linked/a.go", "")
	b.put("linked/rules", "*\n")
	b.link("rules", filepath.Join("linked", ".gitignore"))
	if got := b.ok("glob", m{"pattern": "a.go", "path": "linked"}); got != "linked/a.go\n" {
		t.Errorf("got %q", got)
	}
}

func FuzzIgnore(f *testing.F) {
	for _, s := range []string{"*.log\n!a", "[a-z]/**", "[[:alpha:]]\\", "{a,b}", "/**/", "\\"} {
		f.Add(s, "d/a.log")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		ig := &ignores{rules: parseIgnore(text)}
		path = strings.Trim(filepath.ToSlash(filepath.Clean("/"+path)), "/")
		if path == "" {
			return
		}
		ig.match(path, false)
		ig.match(path, true)
	})
}
