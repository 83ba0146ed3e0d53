package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/diff"
	"dragoman/core/files"
	"dragoman/core/ide"
)

func TestWrite(t *testing.T) {
	b := newBed(t)
	inv, pv, err := b.preview("write_file", m{"path": "new/dir/a.txt", "content": "one\ntwo\n"})
	if err != nil {
		t.Fatal(err)
	}
	d, ok := pv.Content[0].(core.Diff)
	path := filepath.Join(b.dir, "new/dir/a.txt")
	if !ok || !d.Created || d.Path != path || d.New != "one\ntwo\n" || d.Added != 2 || d.Removed != 0 || pv.Title != "Create new/dir/a.txt (+2)" {
		t.Errorf("preview %+v", pv)
	}
	if want := "--- /dev/null\n+++ b/new/dir/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"; d.Patch != want {
		t.Errorf("patch\n%s\nwant\n%s", d.Patch, want)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "new")); err == nil {
		t.Error("the preview made a folder")
	}
	if out, err := b.finish("write_file", inv); err != nil || out != "created new/dir/a.txt (+2)" {
		t.Errorf("%q %v", out, err)
	}
	inv, pv, err = b.preview("write_file", m{"path": "new/dir/a.txt", "content": "one\n2\n"})
	if err != nil || pv.Title != "Write new/dir/a.txt (+1 −1)" || pv.Locations[0] != (core.Location{Path: path, Line: 2}) {
		t.Errorf("%+v %v", pv, err)
	}
	if out, err := b.finish("write_file", inv); err != nil || out != "wrote new/dir/a.txt (+1 −1)" {
		t.Errorf("%q %v", out, err)
	}
	if got := b.get(path); got != "one\n2\n" {
		t.Errorf("got %q", got)
	}
	if _, pv, _ = b.preview("write_file", m{"path": "new/dir/a.txt", "content": "one\n2\n"}); pv.Title != "Write new/dir/a.txt (no change)" {
		t.Errorf("title %q", pv.Title)
	}
	b.fails("write_file", m{"path": "new", "content": "x"}, "it is a folder")
	b.fails("write_file", m{"path": "new/dir/a.txt/x", "content": "x"}, "not a folder")
	b.put("bin", "a\x00b")
	b.put("latin", "caf\xe9")
	b.fails("write_file", m{"path": "bin", "content": "x"}, "not UTF-8 text")
	b.fails("edit_file", m{"path": "latin", "old": "caf", "new": "x"}, "not UTF-8 text")
	b.fails("write_file", m{"path": "big", "content": strings.Repeat("x", files.MaxText+1)}, "larger than 4 MiB")
	b.ok("write_file", m{"path": "empty", "content": ""})
	if b.get("empty") != "" {
		t.Error("the empty file is not empty")
	}
}

// A file that changes between Preview and Run is not overwritten.
func TestChangedSincePreview(t *testing.T) {
	b := newBed(t)
	for name, change := range map[string]func(path string){
		"content": func(path string) { b.put(path, "other\n") },
		"gone":    func(path string) { _ = os.Remove(path) },
		"folder":  func(path string) { _ = os.Remove(path); _ = os.Mkdir(path, 0o755) },
		"created": nil,
	} {
		for tool, args := range map[string]m{"write_file": {"content": "new\n"}, "edit_file": {"old": "was", "new": "is"}} {
			path := filepath.Join(b.dir, name+tool)
			args["path"] = path
			change := change
			if name != "created" {
				b.put(path, "was\n")
			} else if change = func(path string) { b.put(path, "other\n") }; tool == "edit_file" {
				continue
			}
			inv, _, err := b.preview(tool, args)
			if err != nil {
				t.Fatal(err)
			}
			change(path)
			if out, err := b.finish(tool, inv); err == nil {
				t.Errorf("%s after %s: %q", tool, name, out)
			}
			if data, err := os.ReadFile(path); err == nil && string(data) != "other\n" {
				t.Errorf("%s after %s: it holds %q", tool, name, data)
			}
		}
	}
	if got := b.ok("glob", m{"pattern": ".dragoman*"}); !strings.HasPrefix(got, "no files") {
		t.Errorf("left behind: %s", got)
	}
}

func TestEdit(t *testing.T) {
	b := newBed(t)
	for _, c := range []struct {
		name, was string
		args      m
		want      string // the file, or the error
		bad       bool
	}{
		{"plain", "a\nb\nc\n", m{"old": "b\n", "new": "x\ny\n"}, "a\nx\ny\nc\n", false},
		{"removed", "a\nb\nc\n", m{"old": "b\n", "new": ""}, "a\nc\n", false},
		{"all", "x y x\nx\n", m{"old": "x", "new": "zz", "all": true}, "zz y zz\nzz\n", false},
		{"several", "x\ny\nx x\n", m{"old": "x", "new": "z"}, "old is there 3 times, in lines 1, 3, 3: give more lines around it, or set all", true},
		{"crlf", "a\r\nb\r\nc\r\n", m{"old": "a\nb\n", "new": "a\nnew\nb\n"}, "a\r\nnew\r\nb\r\nc\r\n", false},
		{"crlf one line", "a\r\nb\r\n", m{"old": "b", "new": "b\nc"}, "a\r\nb\r\nc\r\n", false},
		{"crlf exact", "a\r\nb\r\n", m{"old": "a\r\nb", "new": "a\r\nx\nb"}, "a\r\nx\r\nb\r\n", false},
		{"crlf asked of lf", "a\nb\n", m{"old": "a\r\nb", "new": "a\r\nx"}, "a\nx\n", false},
		{"mixed", "a\r\nb\nc\nd\n", m{"old": "b\nc", "new": "x\ny"}, "a\r\nx\ny\nd\n", false},
		{"only line ends", "a\r\nb\r\n", m{"old": "a\nb", "new": "a\r\nb"}, "there is nothing to change", true},
		{"bom", "\ufeffa\r\nb\r\n", m{"old": "a\n", "new": "x\n"}, "\ufeffx\r\nb\r\n", false},
		{"bom given", "\ufeffa\nb\n", m{"old": "\ufeffa", "new": "\ufeffx"}, "\ufeffx\nb\n", false},
		{"bom only", "\ufeffa\n", m{"old": "\ufeff", "new": "x"}, "only a byte order mark", true},
		{"blanks", "func f() {\n\treturn 1\n}\n", m{"old": "func f() {\n    return 1\n}", "new": "x"}, "it differs in blanks only. The lines are:\n1: func f() {\n2: \treturn 1\n3: }", true},
		{"near", "alpha\nbeta = 1\ngamma\n", m{"old": "beta = 2", "new": "x"}, "The nearest lines are:\n2: beta = 1", true},
		{"near block", "a\nb\nc\nd\n", m{"old": "b\nX\nd", "new": "x"}, "The nearest lines are:\n2: b\n3: c\n4: d", true},
		{"nothing", "alpha\n", m{"old": "quite something else", "new": "x"}, "nor anything like it", true},
		{"empty", "", m{"old": "a", "new": "b"}, "nor anything like it", true},
	} {
		path := b.put("f.txt", c.was)
		c.args["path"] = path
		if c.bad {
			b.fails("edit_file", c.args, c.want)
			c.want = c.was
		} else {
			b.ok("edit_file", c.args)
		}
		if got := b.get(path); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	b.fails("edit_file", m{"path": "absent", "old": "a", "new": "b"}, "there is no absent: use write_file")
}

func TestEditPreview(t *testing.T) {
	b := newBed(t)
	b.put("main.go", numbered(1, 20))
	_, pv, err := b.preview("edit_file", m{"path": "main.go", "old": "line 10\nline 11\n", "new": "ten\n"})
	if err != nil {
		t.Fatal(err)
	}
	d := pv.Content[0].(core.Diff)
	want := "--- a/main.go\n+++ b/main.go\n@@ -7,8 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n-line 11\n+ten\n line 12\n line 13\n line 14\n"
	if pv.Title != "Edit main.go (+1 −2)" || d.Patch != want || d.Added != 1 || d.Removed != 2 || d.Created || d.Old != numbered(1, 20) {
		t.Errorf("%s\n%s", pv.Title, d.Patch)
	}
	if len(pv.Access) != 2 || pv.Access[0].Op != core.OpRead || pv.Access[1].Op != core.OpWrite || pv.Locations[0].Line != 10 {
		t.Errorf("%+v", pv)
	}
	// New hidden characters in a diff are reported, existing ones are not.
	b.put("x.go", "a\u200bb\n")
	_, pv, err = b.preview("edit_file", m{"path": "x.go", "old": "b\n", "new": "b\nif x { //\u202e }\n"})
	if err != nil {
		t.Fatal(err)
	}
	if w, ok := pv.Content[len(pv.Content)-1].(core.Text); !ok || w.Text != "The new text has invisible characters: U+202E in line 2." {
		t.Errorf("%+v", pv.Content)
	}
}

// A change in tens of thousands of places of a large file is described in
// reasonable time.
func TestManyChanges(t *testing.T) {
	b := newBed(t)
	text := strings.Repeat("some text that stays\nx\n", 30_000)
	b.put("big.txt", text)
	_, pv, err := b.preview("edit_file", m{"path": "big.txt", "old": "x\n", "new": "y\n", "all": true})
	if err != nil {
		t.Fatal(err)
	}
	if d := pv.Content[0].(core.Diff); d.Added == 0 || d.Patch == "" || d.New != strings.ReplaceAll(text, "x\n", "y\n") {
		t.Errorf("%s: +%d −%d", pv.Title, d.Added, d.Removed)
	}
}

func TestThroughTheEditor(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "disk\n")
	e := &buffers{caps: ide.Caps{ReadFile: true, WriteFile: true}, texts: map[string]string{path: "buffer one\n"}}
	b.editor = e
	_, pv, _ := b.preview("edit_file", m{"path": "a.txt", "old": "one", "new": "two"})
	if d := pv.Content[0].(core.Diff); d.Old != "buffer one\n" {
		t.Errorf("the diff is of %q", d.Old)
	}
	b.ok("edit_file", m{"path": "a.txt", "old": "one", "new": "two"})
	if len(e.wrote) != 1 || e.wrote[0] != (ide.WriteFile{Session: "s1", Path: path, Text: "buffer two\n"}) || b.get(path) != "disk\n" {
		t.Errorf("wrote %+v, disk %q", e.wrote, b.get(path))
	}
	// The buffer has changed meanwhile.
	inv, _, _ := b.preview("write_file", m{"path": "a.txt", "content": "x"})
	e.texts[path] = "typed\n"
	if out, err := b.finish("write_file", inv); err == nil || !strings.Contains(out, "has changed since") {
		t.Errorf("got %q", out)
	}
	// A write that the editor refuses is not done here, and the model gets the
	// editor's message.
	e.err = errors.New("not in the project")
	b.fails("write_file", m{"path": "sub/new.txt", "content": "new"}, "not in the project")
	b.fails("write_file", m{"path": "a.txt", "content": "new"}, "not in the project")
	if _, err := os.Stat(filepath.Join(b.dir, "sub", "new.txt")); err == nil || b.get(path) != "disk\n" {
		t.Errorf("the disk was written: %v, %q", err, b.get(path))
	}
	// A file that the editor does not have is written to the disk, with the folders
	// above it.
	e.err = noFile
	const note = "\n[the editor has no such file, so the file was written on the disk]"
	if got := b.ok("write_file", m{"path": "sub/new.txt", "content": "new"}); got != "created sub/new.txt (+1)"+note || b.get("sub/new.txt") != "new" {
		t.Errorf("got %q", got)
	}
	// But never over a file that only the editor has.
	b.fails("edit_file", m{"path": "a.txt", "old": "typed", "new": "done"}, "changes of it that are not saved")
	e.texts[path] = "disk\r\n"
	if got := b.ok("edit_file", m{"path": "a.txt", "old": "disk", "new": "done"}); got != "wrote a.txt (+1 −1)"+note {
		t.Errorf("got %q", got)
	}
}

// With an editor that can only read files the disk is written, if that loses nothing.
func TestReadOnlyEditor(t *testing.T) {
	b := newBed(t)
	path, fresh := b.put("a.txt", "\ufeffone\r\ntwo\r\n"), filepath.Join(b.dir, "new.txt")
	e := &buffers{caps: ide.Caps{ReadFile: true}, texts: map[string]string{path: "one\ntwo, typed\n", fresh: "typed\n"}}
	b.editor = e
	b.fails("edit_file", m{"path": "a.txt", "old": "two", "new": "three"}, "changes of it that are not saved")
	b.fails("write_file", m{"path": "a.txt", "content": "three"}, "changes of it that are not saved")
	b.fails("write_file", m{"path": "new.txt", "content": "three"}, "changes of it that are not saved")
	if got := b.get(path); got != "\ufeffone\r\ntwo\r\n" {
		t.Errorf("the disk has %q", got)
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("the new file was written")
	}
	// The text is saved: line ends and marks stay as on the disk.
	e.texts[path] = "one\ntwo"
	b.ok("edit_file", m{"path": "a.txt", "old": "two", "new": "three"})
	if got := b.get(path); got != "\ufeffone\r\nthree\r\n" {
		t.Errorf("the disk has %q", got)
	}
	// The text changes between the approval and the writing.
	e.texts[path] = "one\nthree\n"
	inv, _, err := b.preview("write_file", m{"path": "a.txt", "content": "x"})
	if err != nil {
		t.Fatal(err)
	}
	e.texts[path] = "one\nthree, typed\n"
	if out, err := b.finish("write_file", inv); err == nil || b.get(path) != "\ufeffone\r\nthree\r\n" {
		t.Errorf("got %q, the disk has %q", out, b.get(path))
	}
}

// An empty text from the editor counts as a missing file if the disk has none, and is
// reported if the disk has text.
func TestEmptyInTheEditor(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "disk\n")
	empty := b.put("empty.txt", "")
	e := &buffers{caps: ide.Caps{ReadFile: true, WriteFile: true}, texts: map[string]string{path: "", empty: "", filepath.Join(b.dir, "absent.txt"): ""}}
	b.editor = e
	b.fails("read_file", m{"path": "absent.txt"}, "there is no absent.txt")
	if got := b.ok("read_file", m{"path": "a.txt"}); got != "[a.txt is empty in the editor and has 5 bytes on the disk]" {
		t.Errorf("got %q", got)
	}
	if got := b.ok("read_file", m{"path": "empty.txt"}); got != "[empty.txt is empty]" {
		t.Errorf("got %q", got)
	}
	if got := b.ok("write_file", m{"path": "a.txt", "content": "new\n"}); got != "wrote a.txt (+1)\n[it was empty in the editor and had 5 bytes on the disk]" {
		t.Errorf("got %q", got)
	}
	// The editor's answer is empty.
	b.editor = &window{caps: e.caps, do: func(context.Context, ide.Call) (ide.Reply, error) {
		return nil, &ide.Lacks{Why: "answered without a text"}
	}}
	if got := b.ok("read_file", m{"path": "a.txt"}); got != "disk\n\n[a.txt: the editor answered without a text, so this is what is on the disk]" {
		t.Errorf("got %q", got)
	}
	if got := b.ok("read_file", m{"path": "empty.txt"}); got != "[empty.txt is empty; the editor answered without a text, so this is what is on the disk]" {
		t.Errorf("got %q", got)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\r\n", "a\nb", "x\ny", false)
	f.Add("\ufeffx x\n", "x", "", true)
	f.Add("a\nb", "c", "d", false)
	f.Fuzz(func(t *testing.T, was, old, text string, all bool) {
		if !utf8.ValidString(was) || !utf8.ValidString(old) || !utf8.ValidString(text) {
			return
		}
		e := edit{old, text, all}
		if e.check() != nil {
			return
		}
		now, err := e.apply(was)
		if err != nil {
			if now != "" || !utf8.ValidString(err.Error()) {
				t.Errorf("a failed edit gave %q %q", now, err)
			}
			return
		}
		if strings.HasPrefix(was, files.BOM) != strings.HasPrefix(now, files.BOM) && !strings.HasPrefix(text, files.BOM) {
			t.Errorf("the mark is not kept: %q to %q", was, now)
		}
		// A file with only CRLF line ends keeps them.
		pure := func(s string) bool { return strings.Count(s, "\n") == strings.Count(s, "\r\n") }
		if strings.Contains(was, "\r\n") && pure(was) && !pure(now) && pure(strings.ReplaceAll(was, e.old, "")) {
			t.Errorf("line ends are mixed: %q to %q", was, now)
		}
		// Everything except old stays.
		if !all && !strings.Contains(was, "\r") && !strings.Contains(old, "\r") && !strings.HasPrefix(was, files.BOM) && strings.Replace(was, old, text, 1) != now {
			t.Errorf("%q with %q for %q: %q", was, text, old, now)
		}
		d := diff.Of("/f", "f", &was, now)
		if was != now && d.Patch == "" || d.New != now {
			t.Errorf("no patch for %q to %q", was, now)
		}
	})
}

func FuzzArgs(f *testing.F) {
	for _, s := range []string{`{}`, `{"path":"a","offset":1}`, `{"path":"a","path":"b"}`, `[1]`, `{"a":{"b":[1,2,{}]}}`, "\xff", `{"path":"\u0000"}`, `{"entries":[{"text":""}]}`} {
		f.Add([]byte(s))
	}
	b := newBed(f)
	tools, _ := b.set.Tools(f.Context())
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, tool := range tools {
			inv := core.Invocation{Call: "c", Turn: "t", Args: raw}
			pv, err := tool.Preview(t.Context(), inv)
			if err != nil {
				if err.Error() == "" || !utf8.ValidString(err.Error()) {
					t.Errorf("%s %q: error %q", tool.Spec().Name, raw, err)
				}
				continue
			}
			if pv.Title == "" || pv.Title != visible(pv.Title) && !strings.ContainsAny(pv.Title, "⟨⏎") || strings.ContainsAny(pv.Title, "\n\r\x1b\u202e") {
				t.Errorf("%s %q: title %q", tool.Spec().Name, raw, pv.Title)
			}
		}
	})
}

// Another client's editor with unsaved changes in a file that a tool has changed is reported. One that has
// the old text has only not read the file again.
func TestUnsavedInAnotherEditor(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "one\n")
	e := &buffers{caps: ide.Caps{ReadFile: true}, texts: map[string]string{}}
	b.other = e
	step := func(text string, want int) {
		t.Helper()
		b.unsaved = nil
		b.ok("write_file", m{"path": "a.txt", "content": text})
		if len(b.unsaved) != want || want > 0 && b.unsaved[0] != path {
			t.Errorf("%q in the editor: reported %v", e.texts[path], b.unsaved)
		}
	}
	step("two\n", 0) // it has no such file
	e.texts[path] = "two\r\n"
	step("three\n", 0)
	e.texts[path] = "four\n"
	step("four\n", 0)
	e.texts[path] = "typed\n"
	step("five\n", 1)
	e.caps = ide.Caps{}
	step("six\n", 0)
}
