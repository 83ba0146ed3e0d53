package tools

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/ide"
)

// An editor with versions rejects changes of a text that has changed since it was
// read.
func TestVersions(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "one\n")
	text := ide.FileText{Text: "one\n", Version: 3}
	w := &window{caps: ide.Caps{ReadFile: true, WriteFile: true}}
	w.do = func(_ context.Context, c ide.Call) (ide.Reply, error) {
		switch c := c.(type) {
		case ide.ReadFile:
			if c.Path != path {
				return nil, noFile
			}
		case ide.WriteFile:
			b.put(c.Path, c.Text)
			return ide.Done{}, nil
		}
		return text, nil
	}
	b.editor = w
	// A file that was never read has no expected version.
	b.ok("edit_file", m{"path": "a.txt", "old": "one", "new": "two"})
	text = ide.FileText{Text: "two\n", Version: 4}
	b.ok("read_file", m{"path": "a.txt"})
	text = ide.FileText{Text: "two, typed on\n", Version: 5}
	b.fails("edit_file", m{"path": "a.txt", "old": "two", "new": "three"}, "changed since it was read")
	b.fails("write_file", m{"path": "a.txt", "content": "three"}, "changed since it was read")
	b.ok("read_file", m{"path": "a.txt"})
	b.ok("edit_file", m{"path": "a.txt", "old": "two", "new": "three"})
	// After our own change the editor has another version, which is accepted.
	text = ide.FileText{Text: b.get("a.txt"), Version: 6}
	b.ok("edit_file", m{"path": "a.txt", "old": "three", "new": "four"})
	// Editors without versions, and files that they do not have, behave as before.
	text = ide.FileText{Text: "five\n", Version: 7}
	b.ok("read_file", m{"path": "a.txt"})
	text.Version = 0
	b.ok("edit_file", m{"path": "a.txt", "old": "five", "new": "six"})
}

// An editor's text wins over the disk. Files that the editor does not have are read
// from the disk, and reads that it refuses fail.
func TestEditorFiles(t *testing.T) {
	b := newBed(t)
	pic := "\x89PNG\r\n\x1a\n"
	disk := b.put("disk.png", pic+"disk")
	b.put("a.txt", "on the disk\n")
	b.put("sub/b.txt", "b\n")
	b.put("sub[1]/c.txt", "c\n")
	out := b.put(filepath.Join(b.away, "b.txt"), "")
	all := ide.Caps{ReadFile: true, Stat: true, Glob: true, ReadBytes: true}
	w := &window{caps: all}
	var fail error
	stats := map[string]ide.FileStat{}
	w.do = func(_ context.Context, c ide.Call) (ide.Reply, error) {
		if fail != nil {
			return nil, fail
		}
		switch c := c.(type) {
		case ide.StatFile:
			return stats[c.Path], nil
		case ide.ReadBytes:
			return ide.FileBytes{Data: []byte(pic + "editor")}, nil
		case ide.GlobFiles:
			return ide.FilePaths{Paths: []string{out, filepath.Join(b.dir, "sub", "new.txt"), "sub/b.txt", "a.txt", "../app-evil/b.txt", "/etc/passwd", "sub/b.txt", "\x00"}}, nil
		case ide.ReadFile:
			return ide.FileText{Text: "in the editor\n"}, nil
		}
		return ide.Done{}, nil
	}
	b.editor = w
	image := func(path string) string {
		t.Helper()
		inv, _, err := b.preview("read_file", m{"path": path})
		if err != nil {
			t.Fatal(err)
		}
		res, err := b.tool("read_file").Run(t.Context(), inv)
		if err != nil || res.Failed {
			return "failed: " + said(res)
		}
		img, _ := res.Blocks[0].(core.Image)
		return strings.TrimPrefix(string(img.Data), pic)
	}
	if got := image("disk.png"); got != "editor" {
		t.Errorf("picture of %s", got)
	}
	stats[filepath.Join(b.dir, "new.png")] = ide.FileStat{Exists: true}
	if got := image("new.png"); got != "editor" {
		t.Errorf("picture of %s", got)
	}
	b.fails("read_file", m{"path": "absent.txt"}, "there is no absent.txt")
	stats[filepath.Join(b.dir, "a.txt")] = ide.FileStat{Exists: true}
	if got := b.ok("read_file", m{"path": "a.txt"}); got != "in the editor\n" {
		t.Errorf("got %q", got)
	}
	stats[filepath.Join(b.dir, "a.txt")] = ide.FileStat{Exists: true, Dir: true}
	b.fails("read_file", m{"path": "a.txt"}, "is a folder")
	if got := b.ok("glob", m{"pattern": "**/*.txt", "path": "sub"}); got != "sub/b.txt\nsub/new.txt\n" {
		t.Errorf("glob %q", got)
	}
	if c := w.calls[len(w.calls)-1]; c != (ide.GlobFiles{Session: "s1", Pattern: "sub/**/*.txt"}) {
		t.Errorf("asked %+v", c)
	}
	b.ok("glob", m{"pattern": "*", "path": "sub[1]"})
	if c := w.calls[len(w.calls)-1]; c != (ide.GlobFiles{Session: "s1", Pattern: `sub\[1\]/*`}) {
		t.Errorf("asked %+v", c)
	}
	for _, fail = range []error{noFile, &ide.Lacks{Why: "does not know that"}} {
		if got := image("disk.png"); got != "disk" {
			t.Errorf("picture of %s (%s)", got, disk)
		}
		if got := b.ok("read_file", m{"path": "a.txt"}); got != "on the disk\n\n[a.txt: "+fail.Error()+", so this is what is on the disk]" {
			t.Errorf("got %q", got)
		}
		if got := b.ok("glob", m{"pattern": "**/*.txt", "path": "sub"}); got != "sub/b.txt\n" {
			t.Errorf("glob %q", got)
		}
	}
	fail = errors.New("not allowed\x1b")
	b.fails("read_file", m{"path": "disk.png"}, "disk.png: not allowed⟨U+001B⟩")
	b.fails("read_file", m{"path": "a.txt"}, "a.txt: not allowed")
	b.fails("read_file", m{"path": "new.txt"}, "new.txt: not allowed")
	b.fails("glob", m{"pattern": "**/*.txt", "path": "sub"}, "sub: not allowed")
}

// An editor that does not answer may have an unsaved text: the disk does not take its
// place.
func TestUnresponsiveEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.put("a.txt", "on the disk\n")
		b.editor = &window{caps: ide.Caps{ReadFile: true, WriteFile: true}, do: noAnswer}
		b.fails("read_file", m{"path": "a.txt"}, "a.txt: the editor did not answer within 10s")
		b.fails("write_file", m{"path": "a.txt", "content": "x"}, "a.txt: the editor did not answer within 10s")
	})
}
