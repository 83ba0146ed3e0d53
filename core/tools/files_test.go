package tools

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/fileuri"
	"dragoman/core/workspace"
)

// found returns the paths that a query finds, relative to the workspace; a folder ends
// in a slash.
func (b *bed) found(f *Files, query string, most int) string {
	b.t.Helper()
	var names []string
	for _, n := range f.Find(b.t.Context(), []string{b.dir}, query, most) {
		rel, err := filepath.Rel(b.dir, n.Path)
		if err != nil || !filepath.IsAbs(n.Path) {
			b.t.Errorf("%s is not absolute", n.Path)
		}
		if n.Folder {
			rel += "/"
		}
		names = append(names, filepath.ToSlash(rel))
	}
	return strings.Join(names, " ")
}

func TestFind(t *testing.T) {
	b := newBed(t)
	for _, p := range []string{"main.go", "domain/a.txt", "cmd/main/run.go", "cmd/Main_test.go", "lib/mxaxixn.c", "node_modules/main.js", "x/y/z/deep.md", ".git/main", ".env"} {
		b.put(p, p)
	}
	b.put(".gitignore", "node_modules/\n")
	b.put("lib/.gitignore", "*.o\n")
	b.put("lib/main.o", "")
	b.link("../app-evil", "out")
	b.link("x/y", "inner")
	b.link("absent", "dangling")
	f := NewFiles(FilesOptions{})
	for _, c := range []struct {
		query string
		most  int
		want  string
	}{
		{"main", 100, "cmd/main/ main.go cmd/Main_test.go domain/ domain/a.txt cmd/main/run.go lib/mxaxixn.c"},
		{"MAIN.GO", 100, "main.go cmd/main/run.go cmd/Main_test.go"},
		{"cmd/main", 100, "cmd/main/ cmd/main/run.go cmd/Main_test.go"},
		{"main", 2, "cmd/main/ main.go"},
		{"xyz deep", 9, "x/y/z/deep.md"},
		{"inner", 9, "inner/"},
		{"nothing like it", 9, ""},
		{"", 5, ".env .gitignore cmd/ domain/ inner/"},
		{"", 0, ""},
		{"./", 100, "cmd/ domain/ inner/ lib/ node_modules/ out/ x/ main.go"},
		{"./c", 9, "cmd/"},
		{"./.", 9, ".git/ .env .gitignore"},
		{".", 2, "cmd/ domain/"},
		{"./cmd/", 9, "cmd/main/ cmd/Main_test.go"},
		{"./cmd/MAIN", 9, "cmd/main/ cmd/Main_test.go"},
		{"../app-", 9, "../app-evil/"},
		{"./absent/", 9, ""},
		{b.dir + "/cmd/", 9, "cmd/main/ cmd/Main_test.go"},
		{"/proc/self/", 9, ""},
		{"./\x00", 9, ""},
	} {
		if got := b.found(f, c.query, c.most); got != c.want {
			t.Errorf("%q: %s\nwant %s", c.query, got, c.want)
		}
	}
	t.Setenv("HOME", b.dir)
	t.Setenv("USERPROFILE", b.dir)
	if got := b.found(f, "~/cm", 9); got != "cmd/" {
		t.Errorf("home: %s", got)
	}
	if got := b.found(f, "~", 2); got != "cmd/ domain/" {
		t.Errorf("home: %s", got)
	}
	// Roots within another one, and roots that no longer exist, add nothing.
	n := f.Find(t.Context(), []string{b.dir, filepath.Join(b.dir, "cmd"), b.dir, filepath.Join(b.away, "absent"), "relative"}, "run.go", 9)
	if len(n) != 1 || n[0].Path != filepath.Join(b.dir, "cmd", "main", "run.go") {
		t.Errorf("found %+v", n)
	}
	if n := f.Find(t.Context(), nil, "a", 9); n != nil {
		t.Errorf("found %+v", n)
	}
}

// Of a huge workspace only the near part is visited.
func TestFindIsBounded(t *testing.T) {
	b := newBed(t)
	for i := range maxListed + 100 {
		if err := os.Mkdir(filepath.Join(b.dir, fmt.Sprintf("d%05d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	k := NewFiles(FilesOptions{}).keep([]string{b.dir})
	if k.limit = 1000; len(k.Find(t.Context(), "d", 3)) != 3 || k.tops[0].entries.now != 1000 {
		t.Errorf("looked at %d", k.tops[0].entries.now)
	}
	if got := b.found(NewFiles(FilesOptions{}), "d0", 2); len(strings.Fields(got)) != 2 {
		t.Errorf("found %s", got)
	}
}

func TestReadReference(t *testing.T) {
	b := newBed(t)
	b.put("a.txt", "one\ntwo\nthree\n")
	b.put("open.txt", "one\ntwo")
	b.put("empty", "")
	b.put("bad.txt", "a\xffb\n")
	b.put("bin", "a\x00b")
	b.put("pic.png", "\x89PNG\r\n\x1a\nxyz")
	b.put("long.txt", strings.Repeat("0123456789abcde\n", maxAttached/16+10))
	b.put("sp ace#.txt", "x")
	b.put(".env", "mine")
	away := b.put(filepath.Join(b.away, "b.txt"), "away")
	key := b.put(filepath.Join(b.away, ".ssh", "config"), "canary")
	pem := b.put(filepath.Join(b.away, "x.PEM"), "canary")
	b.link(pem, "innocent")
	f := NewFiles(FilesOptions{})
	for _, c := range []struct {
		path  string
		lines [2]int
		text  string
		want  [2]int
	}{
		{"a.txt", [2]int{}, "one\ntwo\nthree\n", [2]int{}},
		{"a.txt", [2]int{2, 2}, "two\n", [2]int{2, 2}},
		{"a.txt", [2]int{2, 99}, "two\nthree\n", [2]int{2, 3}},
		{"a.txt", [2]int{0, 2}, "one\ntwo\n", [2]int{1, 2}},
		{"a.txt", [2]int{-4, 1}, "one\n", [2]int{1, 1}},
		{"a.txt", [2]int{2, 0}, "two\nthree\n", [2]int{2, 3}},
		{"a.txt", [2]int{3, 1}, "three\n", [2]int{3, 3}},
		{"a.txt", [2]int{50, 60}, "[It could not be read: a.txt: lines 50 to 60 are behind its end: it has 3 lines]", [2]int{}},
		{"open.txt", [2]int{2, 9}, "two", [2]int{2, 2}},
		{"empty", [2]int{1, 5}, "", [2]int{}},
		{"bad.txt", [2]int{}, "a\ufffdb\n", [2]int{}},
		{".env", [2]int{}, "mine", [2]int{}}, // the user's own file, in the workspace, by name
		{away, [2]int{}, "away", [2]int{}},
		{"bin", [2]int{}, "[It could not be read: " + "bin: it is binary (3 bytes)]", [2]int{}},
		{"absent", [2]int{}, "[It could not be read: there is no absent]", [2]int{}},
		{key, [2]int{}, "[It could not be read: " + errKeys.Error() + "]", [2]int{}},
		{pem, [2]int{}, "[It could not be read: " + errKeys.Error() + "]", [2]int{}},
		{"innocent", [2]int{}, "[It could not be read: " + errKeys.Error() + "]", [2]int{}},
		{"/proc/self/environ", [2]int{}, "[It could not be read: ", [2]int{}},
		{"/dev/zero", [2]int{}, "[It could not be read: ", [2]int{}},
	} {
		path := c.path
		if !filepath.IsAbs(path) {
			path = filepath.Join(b.dir, path)
		}
		got, ok := f.Read(t.Context(), []string{b.dir}, workspace.Reference{Path: path, Lines: c.lines}).(core.Resource)
		fits := got.Text == c.text || strings.HasSuffix(c.text, ": ") && strings.HasPrefix(got.Text, c.text)
		if !ok || !fits || got.Lines != c.want || !strings.HasPrefix(got.URI, "file:///") {
			t.Errorf("%s %v: %+v, want %q %v", c.path, c.lines, got, c.text, c.want)
		}
	}
	r := f.Read(t.Context(), []string{b.dir}, workspace.Reference{Path: filepath.Join(b.dir, "long.txt")}).(core.Resource)
	if len(r.Text) > maxAttached+100 || !strings.Contains(r.Text, "it is longer") {
		t.Errorf("%d bytes, %q", len(r.Text), r.Text[len(r.Text)-80:])
	}
	last := maxAttached/16 + 10
	r = f.Read(t.Context(), []string{b.dir}, workspace.Reference{Path: filepath.Join(b.dir, "long.txt"), Lines: [2]int{last, last}}).(core.Resource)
	if r.Text != "0123456789abcde\n" || r.Lines != [2]int{last, last} {
		t.Errorf("the last line: %+v", r)
	}
	if img, ok := f.Read(t.Context(), []string{b.dir}, workspace.Reference{Path: filepath.Join(b.dir, "pic.png")}).(core.Image); !ok || img.MIME != "image/png" || len(img.Data) != 11 {
		t.Errorf("picture %+v", img)
	}
	r = f.Read(t.Context(), []string{b.dir}, workspace.Reference{Path: filepath.Join(b.dir, "sp ace#.txt")}).(core.Resource)
	if !strings.HasSuffix(r.URI, "/sp%20ace%23.txt") {
		t.Errorf("URI %s", r.URI)
	}
	r = f.Read(t.Context(), []string{b.dir}, workspace.Reference{Path: "a.txt"}).(core.Resource)
	if !strings.Contains(r.Text, "not absolute") {
		t.Errorf("a relative path: %+v", r)
	}
}

func TestReadFolder(t *testing.T) {
	b := newBed(t)
	b.put("src/a.go", "package a\n")
	b.put("src/sub/b.go", "package b")
	b.put("src/.env", "canary")
	b.put("src/key.pem", "canary")
	b.put("src/x.bin", "a\x00b")
	b.put("src/none", "")
	b.put("src/.gitignore", "*.log\n")
	b.put("src/x.log", "canary")
	b.put("src/secret.txt", "canary")
	b.put("src/large.txt", strings.Repeat("x", maxAttached))
	b.link("../../app-evil", "src/out")
	f := NewFiles(FilesOptions{Policy: suffixPolicy{suffix: "secret.txt"}})
	r := f.Read(t.Context(), []string{b.dir}, workspace.Reference{Path: filepath.Join(b.dir, "src")}).(core.Resource)
	want := "=== .gitignore ===\n*.log\n\n=== a.go ===\npackage a\n\n=== sub/b.go ===\npackage b\n\nNot shown:\n" +
		"- .env (may hold keys)\n- key.pem (may hold keys)\n- large.txt (no room for its 262144 bytes)\n- none (empty)\n- out (a link)\n" +
		"- x.bin (not text)\n[1 left out that rules forbid to read]"
	if r.Text != want || r.URI != fileuri.Of(filepath.Join(b.dir, "src")) {
		t.Errorf("got %s\n%s", r.URI, r.Text)
	}
	for i := range maxEntries + 10 {
		b.put(fmt.Sprintf("many/%05d", i), strings.Repeat("y", 200))
	}
	r = f.Read(t.Context(), []string{b.dir}, workspace.Reference{Path: filepath.Join(b.dir, "many")}).(core.Resource)
	if len(r.Text) > maxAttached+maxRest*60 || !strings.Contains(r.Text, "more are not shown") {
		t.Errorf("%d bytes: %s", len(r.Text), r.Text[len(r.Text)-200:])
	}
	if err := os.Mkdir(filepath.Join(b.dir, "void"), 0o755); err != nil {
		t.Fatal(err)
	}
	r = f.Read(t.Context(), []string{b.dir}, workspace.Reference{Path: filepath.Join(b.dir, "void")}).(core.Resource)
	if r.Text != "[The folder is empty.]" {
		t.Errorf("got %q", r.Text)
	}
}

// suffixPolicy is a policy that denies paths and URLs with a suffix.
type suffixPolicy struct{ suffix string }

func (f suffixPolicy) Decide(c core.Check) core.Verdict {
	for _, a := range c.Access {
		if strings.HasSuffix(a.Path, f.suffix) && a.Path != "" || strings.HasSuffix(a.URL, f.suffix) && a.URL != "" {
			return core.Verdict{Effect: core.Deny, Why: "denied by rule 7"}
		}
	}
	return core.Verdict{Effect: core.MustAsk}
}

// A forbidden file or page is not read through a link or a redirect either.
func TestReadForbidden(t *testing.T) {
	b := newBed(t)
	b.put("secret.txt", "canary")
	b.link("secret.txt", "innocent")
	f := NewFiles(FilesOptions{Policy: suffixPolicy{suffix: "secret.txt"}})
	srv := site(t)
	f.net.Permit = func(netip.AddrPort) error { return nil }
	for _, ref := range []workspace.Reference{
		{Path: filepath.Join(b.dir, "secret.txt")},
		{Path: filepath.Join(b.dir, "innocent")},
		{URL: srv.URL + "/secret.txt"},
		{URL: srv.URL + "/to?u=/secret.txt#x"},
		{URL: srv.URL + "/to?u=/plain&x=secret.txt"},
	} {
		r := f.Read(t.Context(), []string{b.dir}, ref).(core.Resource)
		if !strings.Contains(r.Text, "denied by rule 7") {
			t.Errorf("%+v: %+v", ref, r)
		}
	}
}

func TestReadURL(t *testing.T) {
	srv := site(t)
	f := NewFiles(FilesOptions{})
	f.net.Permit = anywhere
	r := f.Read(t.Context(), nil, workspace.Reference{URL: srv.URL + "/to?u=/html"}).(core.Resource)
	if r.URI != srv.URL+"/to?u=/html" || r.MIME != "text/markdown" || !strings.HasPrefix(r.Text, "# T\n") {
		t.Errorf("got %+v", r)
	}
	r = f.Read(t.Context(), nil, workspace.Reference{URL: srv.URL + "/large"}).(core.Resource)
	if len(r.Text) > maxAttached+100 || !strings.HasSuffix(r.Text, "[the page is longer: this is its beginning]") {
		t.Errorf("%d bytes", len(r.Text))
	}
	r = f.Read(t.Context(), nil, workspace.Reference{URL: srv.URL + "/absent"}).(core.Resource)
	if !strings.HasPrefix(r.Text, "[It could not be read: fetch "+srv.URL) {
		t.Errorf("got %+v", r)
	}
	f.net.Permit = nil
	r = f.Read(t.Context(), nil, workspace.Reference{URL: srv.URL + "/plain"}).(core.Resource)
	if !strings.Contains(r.Text, "not on the public network") {
		t.Errorf("got %+v", r)
	}
	r = f.Read(t.Context(), nil, workspace.Reference{URL: srv.URL + "/plain", Near: true}).(core.Resource)
	if strings.HasPrefix(r.Text, "[It could not be read") {
		t.Errorf("the user has agreed: %+v", r)
	}
}
