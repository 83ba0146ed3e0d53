package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/core"
)

func TestUndo(t *testing.T) {
	diff := func(old, now string) core.Diff { return core.Diff{Old: old, New: now} }
	created := func(now string) core.Diff { return core.Diff{New: now, Created: true} }
	for _, c := range []struct {
		name    string
		now     string // "-": there is none
		changes []core.Diff
		want    string
		why     string
	}{
		{"one change", "b", []core.Diff{diff("a", "b")}, "a", ""},
		{"already as before", "a", []core.Diff{diff("a", "b")}, "a", ""},
		{"changed since", "c", []core.Diff{diff("a", "b")}, "c", "changed since"},
		{"removed since", "-", []core.Diff{diff("a", "b")}, "-", "changed since"},
		{"created", "b", []core.Diff{created("b")}, "-", ""},
		{"created, removed since", "-", []core.Diff{created("b")}, "-", ""},
		{"created, changed since", "c", []core.Diff{created("b")}, "c", "changed since"},
		{"created empty", "", []core.Diff{created("")}, "-", ""},
		{"emptied", "", []core.Diff{diff("a", "")}, "a", ""},
		{"a chain", "c", []core.Diff{created("a"), diff("a", "b"), diff("b", "c")}, "-", ""},
		{"a chain, halfway back", "b", []core.Diff{diff("a", "b"), diff("b", "c")}, "a", ""},
		{"a chain, back already", "a", []core.Diff{diff("a", "b"), diff("b", "c")}, "a", ""},
		{"a chain, changed since", "x", []core.Diff{diff("a", "b"), diff("b", "c")}, "x", "changed since"},
		{"a chain, changed in between", "d", []core.Diff{diff("a", "b"), diff("b2", "d")}, "b2", "changed in between"},
		{"there and back", "a", []core.Diff{diff("a", "b"), diff("b", "a")}, "a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			path := filepath.Join(d.dir, "f.txt")
			if c.now != "-" {
				d.put("f.txt", c.now)
			}
			for i := range c.changes {
				c.changes[i].Path = path
			}
			list := d.Undo(t.Context(), c.changes)
			if len(list) != 1 || list[0].Path != path || (list[0].Why == "") != (c.why == "") || !strings.Contains(list[0].Why, c.why) {
				t.Errorf("got %+v, want %q", list, c.why)
			}
			now, err := os.ReadFile(path)
			if os.IsNotExist(err) {
				now = []byte("-")
			}
			if string(now) != c.want {
				t.Errorf("the file is %q, want %q", now, c.want)
			}
		})
	}
}

func TestUndoStaysInside(t *testing.T) {
	d := newDesk(t)
	out := d.put(filepath.Join(d.away, "f"), "b")
	d.link(out, "link")
	d.link(d.away, "dir")
	for _, path := range []string{out, filepath.Join(d.dir, "link"), filepath.Join(d.dir, "dir", "f"), filepath.Join(d.dir, "..", "app-evil", "f"), "f", "/proc/self/comm"} {
		for _, c := range []core.Diff{{Path: path, Old: "evil", New: "b"}, {Path: path, New: "b", Created: true}} {
			list := d.Undo(t.Context(), []core.Diff{c})
			if len(list) != 1 || list[0].Why == "" {
				t.Errorf("%s: %+v", path, list)
			}
		}
	}
	if got, err := os.ReadFile(out); err != nil || string(got) != "b" {
		t.Errorf("a file outside is now %q, %v", got, err)
	}
}
