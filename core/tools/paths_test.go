package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/fileuri"
)

// All ways in which a path can leave the workspace, or only seems to.
func TestPathsAreClassified(t *testing.T) {
	b := newBed(t)
	b.put("a.txt", "inside")
	b.put("sub/b.txt", "inside")
	b.put(" a ", "inside")
	b.put("%2e%2e", "inside")
	secret := b.put(filepath.Join(b.away, "s.txt"), "outside")
	b.link(filepath.Join(b.away, "s.txt"), "file-link")
	b.link(b.away, "dir-link")
	b.link("../app-evil", "up-link")
	b.link("sub", "sub-link")
	b.link(filepath.Join(b.dir, "a.txt"), "absolute-link")
	b.link(filepath.Join(b.away, "new.txt"), "dangling")
	b.link("loop", "loop")

	uri := fileuri.Of
	for _, c := range []struct {
		path    string
		want    string // the access path, or an error
		outside bool
		bad     bool
	}{
		{path: "a.txt", want: b.dir + "/a.txt"},
		{path: "./sub/../a.txt", want: b.dir + "/a.txt"},
		{path: "a.txt/", want: b.dir + "/a.txt"},
		{path: b.dir + "/a.txt", want: b.dir + "/a.txt"},
		{path: " a ", want: b.dir + "/ a "},
		{path: "%2e%2e", want: b.dir + "/%2e%2e"},
		{path: uri(b.dir + "/a.txt"), want: b.dir + "/a.txt"},
		{path: strings.Replace(uri(b.dir+"/a.txt"), "file://", "FILE://localhost", 1), want: b.dir + "/a.txt"},
		{path: "sub-link/b.txt", want: b.dir + "/sub/b.txt"},
		{path: "absolute-link", want: b.dir + "/a.txt"},

		{path: "../app-evil/s.txt", want: secret, outside: true},
		{path: "sub/../../app-evil/s.txt", want: secret, outside: true},
		{path: "x/../../app-evil/s.txt", want: secret, outside: true},
		{path: b.dir + "-evil/s.txt", want: secret, outside: true},
		{path: secret, want: secret, outside: true},
		{path: uri(secret), want: secret, outside: true},
		{path: uri(b.dir) + "/%2e%2e/app-evil/s.txt", want: secret, outside: true},
		{path: uri(b.dir) + "/%2E%2E%2Fapp-evil/s.txt", want: secret, outside: true},
		{path: "file-link", want: secret, outside: true},
		{path: "dir-link/s.txt", want: secret, outside: true},
		{path: "up-link/s.txt", want: secret, outside: true},
		{path: "dangling", want: b.away + "/new.txt", outside: true},
		{path: "/", want: "/", outside: true},

		{path: "", want: "empty", bad: true},
		{path: "a\x00b", want: "NUL", bad: true},
		{path: uri(b.dir) + "/a%00b", want: "NUL", bad: true},
		{path: "~/a.txt", want: "~ is not expanded", bad: true},
		{path: "~root/a.txt", want: "~ is not expanded", bad: true},
		{path: "file://evil.com/etc/passwd", want: "local file", bad: true},
		{path: "file:a.txt", want: "local file", bad: true},
		{path: uri(b.dir+"/a.txt") + "#L3", want: "local file", bad: true},
		{path: "https://example.com/a", want: "is a URL", bad: true},
		{path: "loop", want: "too many symbolic links", bad: true},
		{path: "/proc/self/environ", want: "no ordinary files", bad: true},
		{path: "/dev/zero", want: "no ordinary files", bad: true},
		{path: strings.Repeat("../", 40) + "proc/self/environ", want: "no ordinary files", bad: true},
	} {
		_, pv, err := b.preview("read_file", m{"path": c.path})
		if c.bad {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v, want %q", c.path, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.path, err)
			continue
		}
		if want := (core.Access{Op: core.OpRead, Path: c.want, Outside: c.outside}); pv.Access[0] != want {
			t.Errorf("%q: %+v, want %+v", c.path, pv.Access[0], want)
		}
		if !filepath.IsAbs(pv.Locations[0].Path) {
			t.Errorf("%q: location %q is not absolute", c.path, pv.Locations[0].Path)
		}
	}
}

func TestOutsideNeedsApproval(t *testing.T) {
	b := newBed(t)
	secret := b.put(filepath.Join(b.away, "s.txt"), "secret\n")
	for _, c := range []struct {
		tool string
		args m
	}{
		{"read_file", m{"path": secret}},
		{"directory_tree", m{"path": b.away}},
		{"glob", m{"path": b.away, "pattern": "*"}},
		{"grep", m{"path": b.away, "pattern": "secret"}},
		{"write_file", m{"path": secret, "content": "x"}},
		{"edit_file", m{"path": secret, "old": "secret", "new": "x"}},
		{"shell_command", m{"command": "cat s.txt", "cwd": b.away}},
	} {
		inv, pv, err := b.preview(c.tool, c.args)
		if err != nil {
			t.Errorf("%s: %v", c.tool, err)
			continue
		}
		for _, a := range pv.Access {
			if !a.Outside {
				t.Errorf("%s: %+v is not outside", c.tool, a)
			}
		}
		inv.Access = nil
		if out, err := b.finish(c.tool, inv); err == nil || !strings.Contains(out, "not approved") {
			t.Errorf("%s ran without an approval: %q", c.tool, out)
		}
		if b.get(secret) != "secret\n" {
			t.Fatalf("%s changed the file", c.tool)
		}
	}
	if got := b.ok("read_file", m{"path": secret}); got != "secret\n" {
		t.Errorf("approved: %q", got)
	}
	if got := b.ok("grep", m{"path": b.away, "pattern": "secret"}); got != secret+":1:secret\n" {
		t.Errorf("approved: %q", got)
	}
	b.ok("edit_file", m{"path": secret, "old": "secret", "new": "known"})
	b.ok("write_file", m{"path": b.away + "/new/dir/f.txt", "content": "f"})
	if b.get(secret) != "known\n" || b.get(b.away+"/new/dir/f.txt") != "f" {
		t.Error("approved changes were not made")
	}
}

// Before an approval the model must not learn anything about files outside.
func TestPreviewRevealsNothingOutside(t *testing.T) {
	b := newBed(t)
	secret := b.put(filepath.Join(b.away, "s.txt"), "password=hunter2\n")
	for _, c := range []struct {
		tool string
		args m
	}{
		{"read_file", m{"path": b.away + "/absent"}},
		{"read_file", m{"path": b.away}},
		{"directory_tree", m{"path": secret}},
		{"grep", m{"path": b.away + "/absent", "pattern": "x"}},
		{"edit_file", m{"path": secret, "old": "password=letmein", "new": "x"}},
		{"edit_file", m{"path": b.away + "/absent", "old": "a", "new": "x"}},
		{"write_file", m{"path": b.away, "content": "x"}},
	} {
		inv, _, err := b.preview(c.tool, c.args)
		if err != nil {
			t.Errorf("%s %v: the preview says %v", c.tool, c.args, err)
			continue
		}
		if out, err := b.finish(c.tool, inv); err == nil {
			t.Errorf("%s %v: %q", c.tool, c.args, out)
		}
	}
}

// A name that became a link between Preview and Run is refused, whether it leads
// outside or not.
func TestSwappedForALink(t *testing.T) {
	calls := func(path string) map[string]m {
		return map[string]m{
			"read_file":      {"path": path + "/f.txt"},
			"edit_file":      {"path": path + "/f.txt", "old": "mine", "new": "x"},
			"write_file":     {"path": path + "/f.txt", "content": "x"},
			"directory_tree": {"path": path},
			"glob":           {"path": path, "pattern": "*"},
			"grep":           {"path": path, "pattern": "."},
			"shell_command":  {"command": "cat f.txt", "cwd": path},
		}
	}
	for _, inside := range []bool{false, true} {
		for tool, args := range calls("d/e") {
			b := newBed(t)
			b.put("d/e/f.txt", "mine")
			other := b.away
			if inside {
				other = filepath.Join(b.dir, "other")
			}
			victim := b.put(filepath.Join(other, "e/f.txt"), "theirs mine")
			inv, _, err := b.preview(tool, args)
			if err != nil {
				t.Fatalf("%s: %v", tool, err)
			}
			if err := os.Rename(b.dir+"/d", b.dir+"/was"); err != nil {
				t.Fatal(err)
			}
			target, err := filepath.Rel(b.dir, other)
			if err != nil {
				t.Fatal(err)
			}
			b.link(target, "d")
			if out, err := b.finish(tool, inv); err == nil {
				t.Errorf("%s went through a link (inside %v): %q", tool, inside, out)
			}
			if got := b.get(victim); got != "theirs mine" {
				t.Errorf("%s changed what the link leads to: %q", tool, got)
			}
		}
	}
}

// The same with the file itself, swapped back and forth as fast as possible.
func TestSwapRace(t *testing.T) {
	b := newBed(t)
	b.put(filepath.Join(b.away, "f.txt"), "SECRET")
	b.put("mine", "mine")
	b.link("../app-evil/f.txt", "theirs")
	b.put("f.txt", "mine")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := []string{"mine", "theirs"}[i%2]
			tmp := filepath.Join(b.dir, "tmp")
			if os.Link(filepath.Join(b.dir, name), tmp) == nil {
				_ = os.Rename(tmp, filepath.Join(b.dir, "f.txt"))
			}
			_ = os.Remove(tmp)
		}
	}()
	reads := 0
	for i := range 1000 {
		inv, pv, err := b.preview("read_file", m{"path": "f.txt"})
		if err != nil || pv.Access[0].Outside {
			continue // the change was noticed
		}
		out, err := b.finish("read_file", inv)
		if err == nil {
			reads++
		}
		if strings.Contains(out, "SECRET") {
			t.Fatal("the file outside was read")
		}
		if i%10 != 0 {
			continue
		}
		inv, pv, err = b.preview("write_file", m{"path": "f.txt", "content": "mine"})
		if err == nil && !pv.Access[0].Outside {
			_, _ = b.finish("write_file", inv)
		}
	}
	close(stop)
	<-done
	if got := b.get(filepath.Join(b.away, "f.txt")); got != "SECRET" {
		t.Errorf("the file outside was written: %q", got)
	}
	t.Logf("%d of 1000 reads went through", reads)
	if reads == 0 {
		t.Error("the race was never won by the reader: it proves nothing")
	}
}

// Writing to a file that has a second name outside does not change that one.
func TestHardLink(t *testing.T) {
	b := newBed(t)
	victim := b.put(filepath.Join(b.away, "v.txt"), "theirs")
	if err := os.Link(victim, filepath.Join(b.dir, "h.txt")); err != nil {
		t.Skip(err)
	}
	b.ok("write_file", m{"path": "h.txt", "content": "mine"})
	if b.get(victim) != "theirs" || b.get("h.txt") != "mine" {
		t.Errorf("outside: %q, inside: %q", b.get(victim), b.get("h.txt"))
	}
}

func TestRoots(t *testing.T) {
	b := newBed(t)
	// A root that is a link stays the folder that it led to at the beginning.
	real := filepath.Join(b.away, "real")
	b.put(filepath.Join(real, "a.txt"), "real")
	b.put(filepath.Join(b.away, "other/a.txt"), "other")
	root := filepath.Join(b.away, "root")
	if err := os.Symlink(real, root); err != nil {
		t.Skip(err)
	}
	absent := filepath.Join(b.away, "absent")
	b.meta.Roots = append(b.meta.Roots, root, absent, "relative")
	_, pv, err := b.preview("read_file", m{"path": root + "/a.txt"})
	if err != nil || pv.Access[0].Outside || pv.Access[0].Path != real+"/a.txt" || pv.Locations[0].Path != root+"/a.txt" {
		t.Fatalf("%+v %v", pv, err)
	}
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(b.away, "other"), root); err != nil {
		t.Fatal(err)
	}
	if _, pv, err = b.preview("read_file", m{"path": root + "/a.txt"}); err != nil || !pv.Access[0].Outside {
		t.Errorf("the workspace moved with the link: %+v %v", pv.Access, err)
	}
	// A root that does not exist yet.
	b.fails("read_file", m{"path": absent + "/a.txt"}, "the workspace folder "+absent+" does not exist")
	b.put(filepath.Join(absent, "a.txt"), "late")
	if got := b.ok("read_file", m{"path": absent + "/a.txt"}); got != "late" {
		t.Errorf("got %q", got)
	}
	// A root that was removed and made again.
	if err := os.RemoveAll(absent); err != nil {
		t.Fatal(err)
	}
	b.fails("read_file", m{"path": absent + "/a.txt"}, "does not exist")
	b.put(filepath.Join(absent, "a.txt"), "again")
	if got := b.ok("read_file", m{"path": absent + "/a.txt"}); got != "again" {
		t.Errorf("got %q", got)
	}
}
