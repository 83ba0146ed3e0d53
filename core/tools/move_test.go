package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/ide"
)

func TestMove(t *testing.T) {
	b := newBed(t)
	if err := os.Chmod(b.put("a.sh", "a\x00\xff"), 0o751); err != nil {
		t.Fatal(err)
	}
	inv, pv, err := b.preview("move_file", m{"from": "a.sh", "to": "new/deep/b.sh"})
	if err != nil || pv.Title != "Move a.sh to new/deep/b.sh" || pv.Kind != core.KindMove {
		t.Fatalf("%+v %v", pv, err)
	}
	from, to := filepath.Join(b.dir, "a.sh"), filepath.Join(b.dir, "new", "deep", "b.sh")
	want := []core.Access{{Op: core.OpRead, Path: from}, {Op: core.OpWrite, Path: from}, {Op: core.OpWrite, Path: to}}
	if len(pv.Access) != 3 || pv.Access[0] != want[0] || pv.Access[1] != want[1] || pv.Access[2] != want[2] {
		t.Errorf("access %+v", pv.Access)
	}
	if _, err := os.Stat(filepath.Dir(to)); !os.IsNotExist(err) {
		t.Errorf("the preview made a folder: %v", err)
	}
	if out, err := b.finish("move_file", inv); err != nil || out != "moved a.sh to new/deep/b.sh" {
		t.Errorf("%q %v", out, err)
	}
	info, err := os.Stat(to)
	if err != nil || (info.Mode().Perm() != 0o751 && runtime.GOOS != "windows") || b.get(to) != "a\x00\xff" {
		t.Errorf("%v %v", info, err)
	}
	if _, err := os.Lstat(from); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestMoveRefused(t *testing.T) {
	b := newBed(t)
	b.put("a.txt", "a")
	b.put("taken.txt", "taken")
	b.put("dir/x", "x")
	out := b.put(filepath.Join(b.away, "x"), "x")
	b.link("../app-evil", "link")
	b.link(out, "file")
	b.link("absent", "dangling")
	for _, c := range []struct{ from, to, want string }{
		{"a.txt", "taken.txt", "taken.txt: there is something already"},
		{"a.txt", "dir", "dir: there is something already"},
		{"a.txt", "a.txt", "something already"},
		{"a.txt", "a.txt/b", "name on the way is not a folder"},
		{"a.txt", "../app-evil/b", "same workspace folder"},
		{"a.txt", out, "same workspace folder"},
		{"a.txt", "link/b", "same workspace folder"},
		{"a.txt", "link/x", "same workspace folder"},
		{"file", "b", "same workspace folder"},
		{out, "b", "same workspace folder"},
		{"absent", "b", "there is no absent"},
		{"dangling", "b", "there is no absent"},
		{"dir", "b", "it is a folder"},
	} {
		b.fails("move_file", m{"from": c.from, "to": c.to}, c.want)
	}
	if b.get("a.txt") != "a" || b.get("taken.txt") != "taken" || b.get(out) != "x" {
		t.Error("something was changed")
	}
	// Changes between the preview and the run.
	for name, change := range map[string]func(){
		"something already": func() { b.put("free.txt", "mine") },
		"changed since":     func() { b.put("a.txt", "another") },
		"there is no a.txt": func() { _ = os.Remove(filepath.Join(b.dir, "a.txt")) },
		"it was replaced":   func() { _ = os.Remove(filepath.Join(b.dir, "a.txt")); b.link(out, "a.txt") },
	} {
		_ = os.Remove(filepath.Join(b.dir, "free.txt"))
		_ = os.Remove(filepath.Join(b.dir, "a.txt"))
		b.put("a.txt", "a")
		inv, _, err := b.preview("move_file", m{"from": "a.txt", "to": "free.txt"})
		if err != nil {
			t.Fatal(err)
		}
		change()
		if said, err := b.finish("move_file", inv); err == nil || !strings.Contains(said, name) {
			t.Errorf("%s: %q %v", name, said, err)
		}
	}
	if b.get(out) != "x" {
		t.Error("a file outside was changed")
	}
}

// Text that the user has typed and not saved would be saved at the old place.
func TestMoveUnsaved(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "a")
	e := &buffers{caps: ide.Caps{ReadFile: true}, texts: map[string]string{path: "typed"}}
	b.editor = e
	b.fails("move_file", m{"from": "a.txt", "to": "b.txt"}, "not saved")
	e.texts[path] = "a"
	b.ok("move_file", m{"from": "a.txt", "to": "b.txt"})
	b.put("c.txt", "c")
	b.editor = &window{caps: ide.Caps{ReadFile: true}, do: func(context.Context, ide.Call) (ide.Reply, error) { return nil, noFile }}
	b.ok("move_file", m{"from": "c.txt", "to": "d.txt"})
	b.editor = &window{caps: ide.Caps{ReadFile: true}, do: func(context.Context, ide.Call) (ide.Reply, error) {
		return nil, errors.New("not allowed")
	}}
	b.fails("move_file", m{"from": "d.txt", "to": "e.txt"}, "d.txt: not allowed")
}
