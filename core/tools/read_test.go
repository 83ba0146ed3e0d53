package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/ide"
	"dragoman/core/linesearch"
)

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestReadRanges(t *testing.T) {
	b := newBed(t)
	b.put("big.txt", numbered(1, 100_000))
	b.put("open.txt", "a\nb\nc")
	b.put("empty.txt", "")
	b.put("crlf.txt", "\ufeffa\r\nb\r\n")
	b.put("latin.txt", "caf\xe9\n")
	b.put("wide.txt", "first\n"+strings.Repeat("é", 40<<10)+"\nlast\n")
	for _, c := range []struct {
		args  m
		title string
		want  string
		note  string
	}{
		{m{"path": "big.txt"}, "Read big.txt", numbered(1, 2000), "[big.txt: lines 1–2000 of 100000; go on with offset 2001]"},
		{m{"path": "big.txt", "offset": 99_990}, "Read big.txt from line 99990", numbered(99_990, 100_000), ""},
		{m{"path": "big.txt", "offset": 50_000, "limit": 3}, "Read big.txt lines 50000–50002", numbered(50_000, 50_002), "[big.txt: lines 50000–50002 of 100000; go on with offset 50003]"},
		{m{"path": "open.txt"}, "Read open.txt", "a\nb\nc", ""},
		{m{"path": "open.txt", "offset": 3}, "Read open.txt from line 3", "c", ""},
		{m{"path": "open.txt", "limit": 1}, "Read open.txt lines 1–1", "a\n", "[open.txt: lines 1–1 of 3; go on with offset 2]"},
		{m{"path": "empty.txt"}, "Read empty.txt", "[empty.txt is empty]", ""},
		{m{"path": "crlf.txt"}, "Read crlf.txt", "\ufeffa\r\nb\r\n", ""},
		{m{"path": "latin.txt"}, "Read latin.txt", "caf\ufffd\n", "[latin.txt: it is not UTF-8: invalid bytes are shown as \ufffd]"},
		{m{"path": "wide.txt"}, "Read wide.txt", "first\n", "[wide.txt: lines 1–1 of 3; go on with offset 2]"},
		{m{"path": "wide.txt", "offset": 2}, "Read wide.txt from line 2", strings.Repeat("é", 25<<10), "[wide.txt: line 2 is cut after 50 KB; lines 2–2 of 3; go on with offset 3]"},
	} {
		inv, pv, err := b.preview("read_file", c.args)
		if err != nil {
			t.Fatalf("%v: %v", c.args, err)
		}
		if pv.Title != c.title || pv.Kind != core.KindRead {
			t.Errorf("%v: title %q, want %q", c.args, pv.Title, c.title)
		}
		got, err := b.finish("read_file", inv)
		want := c.want
		if c.note != "" {
			want += "\n" + c.note
		}
		if err != nil || got != want {
			t.Errorf("%v: %.200q %v, want %.200q", c.args, got, err, want)
		}
	}
	b.fails("read_file", m{"path": "open.txt", "offset": 4}, "open.txt has 3 lines; line 4 is past its end")
	b.fails("read_file", m{"path": "absent"}, "there is no absent")
	b.fails("read_file", m{"path": "open.txt/x"}, "open.txt/x")
	b.put("sub/x", "")
	b.fails("read_file", m{"path": "sub"}, "use directory_tree")
	b.put("bin", "ELF\x00\x01")
	b.fails("read_file", m{"path": "bin"}, "is binary (5 bytes)")
}

func TestReadPictures(t *testing.T) {
	b := newBed(t)
	png := "\x89PNG\r\n\x1a\n\x00\x00data"
	b.put("p.png", png)
	inv, _, err := b.preview("read_file", m{"path": "p.png"})
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.tool("read_file").Run(t.Context(), inv)
	if err != nil || len(res.Blocks) != 1 {
		t.Fatalf("%+v %v", res, err)
	}
	if img, ok := res.Blocks[0].(core.Image); !ok || img.MIME != "image/png" || string(img.Data) != png {
		t.Errorf("%+v", res.Blocks[0])
	}
	b.put("huge.png", png+strings.Repeat("x", maxImage))
	b.fails("read_file", m{"path": "huge.png"}, "picture of more than 5 MB")
	for name, head := range map[string]string{"image/jpeg": "\xff\xd8\xff\xe0", "image/gif": "GIF89a", "image/webp": "RIFF\x01\x02\x03\x04WEBP", "": "RIFF"} {
		if got := imageType([]byte(head)); got != name {
			t.Errorf("%q: %q, want %q", head, got, name)
		}
	}
}

func TestUnsavedTextWins(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "disk\n")
	b.put("big.txt", strings.Repeat(strings.Repeat("x", 1<<20)+"\n", 5))
	e := &buffers{caps: ide.Caps{ReadFile: true}, texts: map[string]string{
		path: "buffer\n", filepath.Join(b.dir, "new.txt"): "unsaved\n", filepath.Join(b.dir, "big.txt"): numbered(1, 60_000),
		filepath.Join(b.away, "s.txt"): "secret",
	}}
	b.editor = e
	if got := b.ok("read_file", m{"path": "a.txt"}); got != "buffer\n" {
		t.Errorf("got %q", got)
	}
	if got := b.ok("read_file", m{"path": "new.txt"}); got != "unsaved\n" {
		t.Errorf("got %q", got)
	}
	if got := b.ok("read_file", m{"path": "big.txt", "offset": 55_000, "limit": 2}); got != numbered(55_000, 55_001)+"\n[big.txt: lines 55000–55001; go on with offset 55002]" {
		t.Errorf("got %q", got)
	}
	b.fails("read_file", m{"path": "big.txt", "offset": 700_000}, "past its end")
	b.fails("read_file", m{"path": "absent.txt"}, "there is no absent.txt")
	// Our own rules come first: the editor is not asked.
	e.onAsk = func() { t.Error("the editor was asked") }
	inv, _, err := b.preview("read_file", m{"path": b.away + "/s.txt"})
	if err != nil {
		t.Fatal(err)
	}
	inv.Access = nil
	if out, err := b.finish("read_file", inv); err == nil {
		t.Errorf("got %q", out)
	}
	b.fails("read_file", m{"path": "/proc/self/environ"}, "refused")
	e.onAsk = nil
	// The disk takes the place of an editor that does not have the file.
	delete(e.texts, path)
	if got := b.ok("read_file", m{"path": "a.txt"}); got != "disk\n\n[a.txt: the editor has no such file, so this is what is on the disk]" {
		t.Errorf("got %q", got)
	}
	// An editor that never answers does not outlive the call.
	ctx, cancel := context.WithCancelCause(t.Context())
	b.editor = silentEditor{func() { cancel(core.ErrCanceled) }}
	inv, _, err = b.preview("read_file", m{"path": "a.txt"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.tool("read_file").Run(ctx, inv); !errors.Is(err, core.ErrCanceled) {
		t.Errorf("got %v", err)
	}
}

type silentEditor struct{ asked func() }

func (e silentEditor) Lend(id core.SessionID) core.Editor { return ide.Lend(e, id) }

func (silentEditor) Caps() ide.Caps { return ide.Caps{ReadFile: true} }

func (s silentEditor) Do(ctx context.Context, _ ide.Call) (ide.Reply, error) {
	s.asked()
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTree(t *testing.T) {
	b := newBed(t)
	b.put(".gitignore", "*.log\n/out/\n")
	b.put("a.log", "")
	b.put("out/x", "")
	b.put("src/deep/er/x.go", "")
	b.put("src/main.go", "")
	b.put("z \u202e.txt", "")
	b.put(".git/config", "")
	b.link("src", "link")
	want := "./\n  .gitignore\n  link -> src\n  src/\n    deep/\n      er/\n    main.go\n  z ⟨U+202E⟩.txt\n\n[levels below 3 are not shown]"
	if got := b.ok("directory_tree", m{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := b.ok("directory_tree", m{"path": "src", "depth": 4}), "src/\n  deep/\n    er/\n      x.go\n  main.go\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// A place that the caller names is shown, ignored or not.
	if got, want := b.ok("directory_tree", m{"path": "out"}), "out/\n  x\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	b.fails("directory_tree", m{"path": "src/main.go"}, "it is a file, not a folder")
	b.fails("directory_tree", m{"path": "absent"}, "there is no absent")
	for i := range 300 {
		b.put(fmt.Sprintf("many/%03d", i), "")
	}
	if got := b.ok("directory_tree", m{"path": "many"}); !strings.Contains(got, "  199\n  … 100 more\n") {
		t.Errorf("got %s", got)
	}
	for i := range 12 {
		for j := range 100 {
			b.put(fmt.Sprintf("wide/%02d/%02d", i, j), "")
		}
	}
	got := b.ok("directory_tree", m{"path": "wide"})
	if !strings.Contains(got, "cut after 1000 entries") || strings.Count(got, "\n") != 1002 {
		t.Errorf("%d lines: %s", strings.Count(got, "\n"), got)
	}
}

func TestGlob(t *testing.T) {
	b := newBed(t)
	for _, f := range []string{"a.go", "b.txt", "cmd/c.go", "cmd/sub/d.go", "cmd/sub/e.ts", "vendor/v.go", "{x}.go"} {
		b.put(f, "")
	}
	b.put(".gitignore", "vendor/\n")
	b.link("cmd", "link")
	for _, c := range []struct{ pattern, path, want string }{
		{"*.go", ".", "a.go\n{x}.go\n"},
		{"./*.go", ".", "a.go\n{x}.go\n"},
		{"**/*.go", ".", "a.go\ncmd/c.go\ncmd/sub/d.go\n{x}.go\n"},
		{"cmd/**", ".", "cmd/c.go\ncmd/sub/d.go\ncmd/sub/e.ts\n"},
		{"cmd/*/*.{go,ts}", ".", "cmd/sub/d.go\ncmd/sub/e.ts\n"},
		{"{cmd/sub,x}/*.go", ".", "cmd/sub/d.go\n"},
		{"*.go", "cmd/sub", "cmd/sub/d.go\n"},
		{`\{x\}.go`, ".", "{x}.go\n"},
		{"cmd/sub/d.go", ".", "cmd/sub/d.go\n"},
		{"*.rs", ".", "no files match *.rs"},
		{"v.go", "vendor", "vendor/v.go\n"},
	} {
		if got := b.ok("glob", m{"pattern": c.pattern, "path": c.path}); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.pattern, c.path, got, c.want)
		}
	}
	for i := range 510 {
		b.put(fmt.Sprintf("n/%03d", i), "")
	}
	got := b.ok("glob", m{"pattern": "n/*"})
	if strings.Count(got, "n/") != maxFound || !strings.HasSuffix(got, "[10 more paths match: narrow the pattern]") {
		t.Errorf("got %s", got)
	}
	_, pv, _ := b.preview("glob", m{"pattern": "`*`", "path": "cmd"})
	if pv.Title != "Find `` `*` `` in cmd" || pv.Kind != core.KindSearch {
		t.Errorf("title %s", pv.Title)
	}
}

func TestGrep(t *testing.T) {
	b := newBed(t)
	b.put("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
	b.put("b/c.go", "package c\n\nfunc Two() {}\n")
	b.put("b/d.txt", "x\r\ntwo\r\ny")
	b.put("bin", "two\x00")
	b.put("ignored.txt", "two\n")
	b.put(".gitignore", "ignored.txt\n")
	b.link("a.txt", "link.txt")
	for _, c := range []struct {
		args m
		want string
	}{
		{m{"pattern": "two"}, "a.txt:2:two\nb/d.txt:2:two\n"},
		{m{"pattern": "TWO", "ignore_case": true}, "a.txt:2:two\nb/c.go:3:func Two() {}\nb/d.txt:2:two\n"},
		{m{"pattern": "two$"}, "a.txt:2:two\nb/d.txt:2:two\n"},
		{m{"pattern": `\Atwo\z`}, "a.txt:2:two\nb/d.txt:2:two\n"},
		{m{"pattern": `one\s*two`}, "no matches for one\\s*two"},
		{m{"pattern": `(?s)one.*two`}, "no matches for (?s)one.*two"},
		{m{"pattern": `^[^t]*$`, "path": "a.txt"}, "a.txt:1:one\na.txt:4:four\na.txt:5:five\na.txt:6:six\na.txt:7:seven\n"},
		{m{"pattern": `^$`}, "b/c.go:2:\n"},
		{m{"pattern": `x*`, "path": "b"}, "b/c.go:1:package c\nb/c.go:2:\nb/c.go:3:func Two() {}\nb/d.txt:1:x\nb/d.txt:2:two\nb/d.txt:3:y\n"},
		{m{"pattern": "two", "include": "*.txt"}, "a.txt:2:two\nb/d.txt:2:two\n"},
		{m{"pattern": "(?i)two", "include": "*.{go,md}"}, "b/c.go:3:func Two() {}\n"},
		{m{"pattern": "two", "include": "b/*"}, "b/d.txt:2:two\n"},
		{m{"pattern": "two", "path": "ignored.txt"}, "ignored.txt:1:two\n"},
		{m{"pattern": "two|seven", "path": "a.txt", "context": 1}, "a.txt-1-one\na.txt:2:two\na.txt-3-three\n--\na.txt-6-six\na.txt:7:seven\n"},
		{m{"pattern": "two|four", "path": "a.txt", "context": 2}, "a.txt-1-one\na.txt:2:two\na.txt-3-three\na.txt:4:four\na.txt-5-five\na.txt-6-six\n"},
		{m{"pattern": "two", "context": 1}, "a.txt-1-one\na.txt:2:two\na.txt-3-three\n--\nb/d.txt-1-x\nb/d.txt:2:two\nb/d.txt-3-y\n"},
		{m{"pattern": "e", "path": "a.txt", "limit": 2}, "a.txt:1:one\na.txt:3:three\n\n[stopped after 2 matching lines: narrow the search for the rest]"},
		{m{"pattern": "one|seven", "path": "a.txt", "limit": 2}, "a.txt:1:one\na.txt:7:seven\n"},
	} {
		if got := b.ok("grep", c.args); got != c.want {
			t.Errorf("%v:\n%q, want\n%q", c.args, got, c.want)
		}
	}
	b.fails("grep", m{"pattern": "two", "path": "bin"}, "binary")
	b.fails("grep", m{"pattern": "two", "path": "absent"}, "there is no absent")

	b.put("long.txt", strings.Repeat("é", 1000)+"needle"+strings.Repeat("x", 1000)+"\n")
	got := b.ok("grep", m{"pattern": "needle"})
	if len(got) > 450 || !strings.HasPrefix(got, "long.txt:1:…é") || !strings.Contains(got, "éneedlex") || !strings.HasSuffix(got, "x…\n") {
		t.Errorf("long line: %q", got)
	}
}

// The order does not depend on which worker is first.
func TestGrepOrderAndStop(t *testing.T) {
	b := newBed(t)
	var want strings.Builder
	for i := range 300 {
		name := fmt.Sprintf("d%d/f%03d.txt", i/100, i)
		b.put(name, strings.Repeat("pad\n", (i*7919)%500)+"hit\n")
		if i < 150 {
			fmt.Fprintf(&want, "%s:%d:hit\n", name, (i*7919)%500+1)
		}
	}
	for range 5 {
		got := b.ok("grep", m{"pattern": "hit", "limit": 150})
		if got != want.String()+"\n[stopped after 150 matching lines: narrow the search for the rest]" {
			t.Fatalf("got %s", got)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(core.ErrCanceled)
	for _, tool := range []string{"grep", "glob"} {
		inv, _, err := b.preview(tool, m{"pattern": "hit"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.tool(tool).Run(ctx, inv); !errors.Is(err, core.ErrCanceled) {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

// What is shown of a file are the lines that match, each by itself.
func FuzzMatcher(f *testing.F) {
	for _, p := range []string{"a", "^a", "a$", "^$", "a*", "[^a]", `\s`, `\ba`, "(?i)A|b", `a\n`, `\Aa`, "."} {
		f.Add(p, "a\nb\n\nab a\r\nB")
	}
	for _, p := range []string{"(?i)kb+c", "(?i)kbc", "(?i:ab)c|d", "x(ab)+", "(?i)s", "a{2,3}b"} {
		f.Add(p, strings.Repeat("x", 4094)+"KBC\n\u212aBC\nabc\nABc\nxab\u017f\naaab")
	}
	f.Fuzz(func(t *testing.T, pattern, data string) {
		if len(pattern) > 100 || len(data) > 10_000 {
			return
		}
		m, err := linesearch.New(pattern, false)
		if err != nil {
			return
		}
		re := regexp.MustCompile("(?m)" + pattern)
		text := []byte(strings.ReplaceAll(data, "\r\n", "\n"))
		var want []int
		for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
			if len(text) > 0 && re.Match(line) {
				want = append(want, i+1)
			}
		}
		var got []int
		for _, h := range (search{lines: m, limit: 1 << 20}).find([]byte(data)) {
			got = append(got, h.no)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q in %q: lines %v, want %v", pattern, data, got, want)
		}
	})
}
