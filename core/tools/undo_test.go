package tools

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/ide"
)

// Changes by the tools' own calls are undone, file by file, the last first.
func TestUndoCalls(t *testing.T) {
	b := newBed(t)
	if err := os.Chmod(b.put("a.sh", "one\r\n"), 0o751); err != nil {
		t.Fatal(err)
	}
	var changes []core.Diff
	do := func(tool string, args m) {
		t.Helper()
		inv, pv, err := b.preview(tool, args)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.finish(tool, inv); err != nil {
			t.Fatal(err)
		}
		changes = append(changes, pv.Content[0].(core.Diff))
	}
	do("edit_file", m{"path": "a.sh", "old": "one", "new": "two"})
	do("write_file", m{"path": "new/b.txt", "content": "b"})
	do("write_file", m{"path": "a.sh", "content": "three"})
	list := NewFiles(FilesOptions{}).Undo(t.Context(), b.meta, nil, changes)
	if len(list) != 2 || list[0].Path != filepath.Join(b.dir, "a.sh") || list[1].Path != filepath.Join(b.dir, "new", "b.txt") || list[0].Why+list[1].Why != "" {
		t.Errorf("got %+v", list)
	}
	if got := b.get("a.sh"); got != "one\r\n" {
		t.Errorf("a.sh: %q", got)
	}
	if info, err := os.Stat(filepath.Join(b.dir, "a.sh")); err != nil || info.Mode().Perm() != 0o751 && runtime.GOOS != "windows" {
		t.Errorf("its mode is %v %v", info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "new", "b.txt")); !os.IsNotExist(err) {
		t.Errorf("the new file is still there: %v", err)
	}
}

// Moves are undone among the other changes, the last first, and only while the file at
// the new path is the one that was moved.
func TestUndoMoves(t *testing.T) {
	type call struct {
		tool string
		args m
	}
	move := func(from, to string) call { return call{"move_file", m{"from": from, "to": to}} }
	write := func(path, text string) call { return call{"write_file", m{"path": path, "content": text}} }
	edit := func(path, old, text string) call { return call{"edit_file", m{"path": path, "old": old, "new": text}} }
	for _, c := range []struct {
		name  string
		calls []call
		then  func(*bed)
		want  string // the files, as "name=text"
		why   string // reasons for changes that could not be undone, as "name: why"
	}{
		{"a move", []call{move("a", "dir/x")}, nil, "a=1 b=2", ""},
		{"changed, moved, changed", []call{edit("a", "1", "one"), move("a", "x"), edit("x", "one", "two")}, nil, "a=1 b=2", ""},
		{"another one in its old place", []call{move("a", "x"), write("a", "new")}, nil, "a=1 b=2", ""},
		{"made and moved", []call{write("c", "3"), move("c", "x")}, nil, "a=1 b=2", ""},
		{"two that change places", []call{move("a", "t"), move("b", "a"), move("t", "b")}, nil, "a=1 b=2", ""},
		{"moved on", []call{move("a", "x"), move("x", "y")}, nil, "a=1 b=2", ""},
		{"changed since", []call{edit("a", "1", "one"), move("a", "x")}, func(b *bed) { b.put("x", "mine") }, "b=2 x=mine", "a: x has changed since, so it was left there"},
		{"removed since", []call{move("a", "x")}, func(b *bed) { b.drop("x") }, "b=2", "a: there is no x"},
		{"its place is taken", []call{move("a", "x")}, func(b *bed) { b.put("a", "mine") }, "a=mine b=2 x=1", "a: a: there is something already: nothing was moved"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			b.put("a", "1")
			b.put("b", "2")
			var changes []core.Diff
			for _, call := range c.calls {
				inv, pv, err := b.preview(call.tool, call.args)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := b.finish(call.tool, inv); err != nil {
					t.Fatal(err)
				}
				changes = append(changes, pv.Content[0].(core.Diff))
			}
			if c.then != nil {
				c.then(b)
			}
			var why []string
			for _, r := range NewFiles(FilesOptions{}).Undo(t.Context(), b.meta, nil, changes) {
				if r.Why != "" {
					why = append(why, filepath.Base(r.Path)+": "+r.Why)
				}
			}
			if got := strings.Join(why, "; "); got != c.why {
				t.Errorf("why: %q, want %q", got, c.why)
			}
			var have []string
			for _, name := range []string{"a", "b", "c", "t", "x", "y", "dir/x"} {
				if text, err := os.ReadFile(filepath.Join(b.dir, name)); err == nil {
					have = append(have, name+"="+string(text))
				}
			}
			if got := strings.Join(have, " "); got != c.want {
				t.Errorf("files %q, want %q", got, c.want)
			}
		})
	}
}

// drop removes a file of the workspace.
func (b *bed) drop(name string) {
	b.t.Helper()
	if err := os.Remove(filepath.Join(b.dir, name)); err != nil {
		b.t.Fatal(err)
	}
}

// The editor's text counts, and it is changed there.
func TestUndoInEditor(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "old")
	e := &buffers{caps: ide.Caps{ReadFile: true, WriteFile: true}, texts: map[string]string{path: "new"}}
	list := NewFiles(FilesOptions{}).Undo(t.Context(), b.meta, e, []core.Diff{{Path: path, Old: "old", New: "new"}})
	if len(list) != 1 || list[0].Why != "" || e.texts[path] != "old" || len(e.wrote) != 1 || e.wrote[0].Session != "s1" {
		t.Errorf("%+v, the editor has %q", list, e.texts[path])
	}
	// What somebody else has put on the disk since is not lost.
	b.put("a.txt", "on the disk")
	e.texts[path] = "new"
	list = NewFiles(FilesOptions{}).Undo(t.Context(), b.meta, e, []core.Diff{{Path: path, Old: "old", New: "new"}})
	if len(list) != 1 || !strings.Contains(list[0].Why, "changed since") || b.get("a.txt") != "on the disk" || len(e.wrote) != 1 {
		t.Errorf("%+v, the editor has %q", list, e.texts[path])
	}
	// Text that the user has typed since is not lost, saved or not.
	made := b.put("made.txt", "new")
	e.texts[made] = "new, and typed on"
	list = NewFiles(FilesOptions{}).Undo(t.Context(), b.meta, e, []core.Diff{{Path: made, New: "new", Created: true}})
	if len(list) != 1 || !strings.Contains(list[0].Why, "changed since") || b.get("made.txt") != "new" {
		t.Errorf("%+v", list)
	}
	e.texts[made] = "new"
	b.put("made.txt", "saved by somebody else")
	list = NewFiles(FilesOptions{}).Undo(t.Context(), b.meta, e, []core.Diff{{Path: made, New: "new", Created: true}})
	if len(list) != 1 || !strings.Contains(list[0].Why, "changed since") {
		t.Errorf("%+v", list)
	}
	b.put("made.txt", "new")
	list = NewFiles(FilesOptions{}).Undo(t.Context(), b.meta, e, []core.Diff{{Path: made, New: "new", Created: true}})
	if _, err := os.Stat(made); len(list) != 1 || list[0].Why != "" || !os.IsNotExist(err) {
		t.Errorf("%+v %v", list, err)
	}
}
