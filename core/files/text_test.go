package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/ide"
)

// buffers is an editor that has some files open, by path.
type buffers struct {
	caps    ide.Caps
	texts   map[string]string
	version uint64
	fail    error
	asked   []ide.ReadFile
}

func (e *buffers) Lend(id core.SessionID) core.Editor { return ide.Lend(e, id) }

func (e *buffers) Caps() ide.Caps { return e.caps }

func (e *buffers) Do(_ context.Context, c ide.Call) (ide.Reply, error) {
	if e.fail != nil {
		return nil, e.fail
	}
	switch c := c.(type) {
	case ide.ReadFile:
		e.asked = append(e.asked, c)
		text, ok := e.texts[c.Path]
		if !ok {
			return nil, &ide.Lacks{Why: "does not have it open"}
		}
		if c.Limit > 0 {
			lines := strings.SplitAfter(text, "\n")[max(c.Line, 1)-1:]
			text = strings.Join(lines[:min(c.Limit, len(lines))], "")
		}
		return ide.FileText{Text: text, Version: e.version}, nil
	case ide.WriteFile:
		e.texts[c.Path] = c.Text
		return ide.Done{}, nil
	}
	return nil, errors.New("no such request")
}

func TestReadIsExact(t *testing.T) {
	d := newDesk(t)
	text := "one\r\ntwo\n\nvier é\nlast"
	d.put("a.txt", text)
	d.put("empty", "")
	for _, c := range []struct {
		line, limit int
		want        string
	}{
		{0, 0, text},
		{1, 0, text},
		{2, 0, "two\n\nvier é\nlast"},
		{0, 1, "one\r\n"},
		{2, 3, "two\n\nvier é\n"},
		{5, 9, "last"},
		{6, 1, ""},
		{600, 0, ""},
		{-1, -1, text},
	} {
		if got, err := d.Read(t.Context(), d.place("a.txt"), c.line, c.limit); got != c.want || err != nil {
			t.Errorf("line %d, limit %d: %q, %v, want %q", c.line, c.limit, got, err, c.want)
		}
	}
	if got, err := d.Read(t.Context(), d.place("empty"), 1, 5); got != "" || err != nil {
		t.Errorf("an empty file: %q, %v", got, err)
	}
}

func TestReadOfWhatIsNoText(t *testing.T) {
	d := newDesk(t)
	d.put("sub/f", "x")
	d.put("latin", "a\xe9b")
	d.put("binary", "a\x00b")
	for path, want := range map[string]string{"sub": "it is a folder", "latin": "not UTF-8", "binary": "not UTF-8"} {
		_, err := d.Read(t.Context(), d.place(path), 0, 0)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path+": ") || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"absent", "no/such/file"} {
		_, err := d.Read(t.Context(), d.place(path), 0, 0)
		if !errors.Is(err, fs.ErrNotExist) || err.Error() != "there is no "+path {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Of a text that is larger than what can be read at once a part can be read, of the disk and of the
// editor.
func TestReadOfALargeFile(t *testing.T) {
	d := newDesk(t)
	var large, edited strings.Builder
	for i := range 500_000 {
		fmt.Fprintf(&large, "line %06d\n", i+1)
		fmt.Fprintf(&edited, "LINE %06d\n", i+1)
	}
	path := d.put("large", large.String())
	d.put("long", strings.Repeat("x", MaxText+1)+"\nshort\n")
	d.put("mixed", "text\n\xff\n"+strings.Repeat("x\n", MaxText/2))
	read := func(path string, line, limit int, want string) {
		t.Helper()
		if got, err := d.Read(t.Context(), d.place(path), line, limit); got != want || err != nil {
			t.Errorf("%s from %d: %.40q, %v", path, line, got, err)
		}
	}
	fails := func(path string, line, limit int, want string) {
		t.Helper()
		if got, err := d.Read(t.Context(), d.place(path), line, limit); got != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s from %d: %.40q, %v, want %s", path, line, got, err, want)
		}
	}
	read("large", 499_999, 2, "line 499999\nline 500000\n")
	read("large", 500_000, 0, "line 500000\n")
	read("large", 500_001, 1, "")
	read("long", 2, 1, "short\n")
	read("mixed", 1, 1, "text\n")
	fails("mixed", 1, 2, "not UTF-8")
	fails("large", 0, 0, "larger than 4 MiB")
	fails("large", 2, 0, "larger than 4 MiB")
	fails("large", 1, 450_000, "larger than 4 MiB")
	fails("long", 1, 1, "larger than 4 MiB")

	e := &buffers{caps: ide.Caps{ReadFile: true}, texts: map[string]string{path: edited.String()}}
	d.editor = e
	read("large", 400_000, 2, "LINE 400000\nLINE 400001\n")
	if last := e.asked[len(e.asked)-1]; last.Line != 400_000 || last.Limit != 3 {
		t.Errorf("the editor was asked for line %d and %d lines", last.Line, last.Limit)
	}
	e.texts[filepath.Join(d.dir, "new")] = edited.String()
	read("new", 3, 1, "LINE 000003\n")
	fails("new", 0, 0, "larger than 4 MiB")
}

// The text of the editor wins for reading and for writing.
func TestReadAndWriteThroughTheEditor(t *testing.T) {
	d := newDesk(t)
	path := d.put("a.txt", "disk\n")
	fresh := filepath.Join(d.dir, "new.txt")
	e := &buffers{caps: ide.Caps{ReadFile: true, WriteFile: true}, texts: map[string]string{path: "typed\n", fresh: "unsaved\n"}, version: 1}
	d.editor = e
	for name, want := range map[string]string{"a.txt": "typed\n", "new.txt": "unsaved\n"} {
		if got, err := d.Read(t.Context(), d.place(name), 0, 0); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if got, err := d.Read(t.Context(), d.place(name), 2, 1); got != "" || err != nil {
			t.Errorf("%s behind its end: %q, %v", name, got, err)
		}
	}
	if _, err := d.Read(t.Context(), d.place("absent"), 0, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("neither on the disk nor in the editor: %v", err)
	}
	before, err := d.Write(t.Context(), d.place("a.txt"), "ours\n")
	if err != nil || before == nil || *before != "typed\n" || e.texts[path] != "ours\n" || d.read("a.txt") != "disk\n" {
		t.Errorf("before %v, %v; the editor has %q, the disk %q", before, err, e.texts[path], d.read("a.txt"))
	}
	// What the user types after a read is not overwritten.
	if _, err := d.Read(t.Context(), d.place("a.txt"), 0, 0); err != nil {
		t.Fatal(err)
	}
	e.texts[path], e.version = "typed on\n", 2
	if _, err := d.Write(t.Context(), d.place("a.txt"), "lost\n"); err == nil || e.texts[path] != "typed on\n" {
		t.Errorf("it was written: %v, %q", err, e.texts[path])
	}
	// An editor that only reads has unsaved text that the disk must not overtake.
	e.caps.WriteFile, e.version = false, 1
	if _, err := d.Write(t.Context(), d.place("new.txt"), "lost\n"); err == nil || !strings.Contains(err.Error(), "not saved") {
		t.Errorf("over unsaved text: %v", err)
	}
	if _, err := os.Stat(fresh); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was made: %v", err)
	}
	// A refusal of the editor is final.
	e.fail = errors.New("private buffer")
	if _, err := d.Read(t.Context(), d.place("a.txt"), 0, 0); err == nil || !strings.Contains(err.Error(), "private buffer") {
		t.Errorf("read in spite of a refusal: %v", err)
	}
}

func TestWriteOnTheDisk(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "one\n")
	d.put("latin", "a\xe9b")
	for _, c := range []struct {
		path, text string
		before     any // nil: no file
	}{
		{"a.txt", "two\n", "one\n"},
		{"a.txt", "", "two\n"},
		{"a.txt", "three", ""},
		{"deep/er/new.txt", "x", nil},
	} {
		before, err := d.Write(t.Context(), d.place(c.path), c.text)
		if err != nil || (before == nil) != (c.before == nil) || before != nil && *before != c.before || d.read(c.path) != c.text {
			t.Errorf("%s: %v, %v, %q", c.path, before, err, d.read(c.path))
		}
	}
	for path, text := range map[string]string{"latin": "x", "big": strings.Repeat("x", MaxText+1), "deep": "x"} {
		if before, err := d.Write(t.Context(), d.place(path), text); err == nil || before != nil {
			t.Errorf("%s was written over %v", path, before)
		}
	}
	// What a person was shown is what is replaced.
	seen, err := d.Writable(t.Context(), d.place("a.txt"))
	if err != nil || *seen.Before() != "three" {
		t.Fatalf("%v, %v", seen, err)
	}
	d.put("a.txt", "meanwhile")
	if _, err := d.Replace(t.Context(), d.place("a.txt"), seen, "four"); err == nil || d.read("a.txt") != "meanwhile" {
		t.Errorf("%v, %q", err, d.read("a.txt"))
	}
}
