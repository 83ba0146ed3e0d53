package files

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"dragoman/core"
)

// desk is a session's workspace for a test, and its host.
type desk struct {
	*Workspace

	t      testing.TB
	dir    string // the workspace root
	away   string // a folder beside it
	meta   core.Meta
	editor core.Editor
	texts  core.Texts
}

func (d *desk) Meta() core.Meta           { return d.meta }
func (d *desk) Editor(string) core.Editor { return d.editor }
func (d *desk) Spills() core.Spills       { return nil }
func (d *desk) Texts() *core.Texts        { return &d.texts }

func newDesk(t testing.TB) *desk {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: filepath.Join(top, "app"), away: filepath.Join(top, "app-evil")}
	for _, dir := range []string{d.dir, d.away} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.meta = core.Meta{ID: "s1", Cwd: d.dir, Roots: []string{d.dir}}
	d.Workspace = New(d)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// put writes a file below the workspace, or at an absolute path.
func (d *desk) put(path, content string) string {
	d.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.dir, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		d.t.Fatal(err)
	}
	return path
}

// link makes a symbolic link in the workspace.
func (d *desk) link(target, name string) {
	d.t.Helper()
	if err := os.Symlink(target, filepath.Join(d.dir, name)); err != nil {
		d.t.Skipf("no symbolic links: %v", err) // Windows, without the right to make them
	}
}

// place locates a path.
func (d *desk) place(path string) Place {
	d.t.Helper()
	p, err := d.Locate(path)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

// read is the text of a file on the disk.
func (d *desk) read(path string) string {
	d.t.Helper()
	c, err := d.OnDisk(d.place(path))
	if err != nil {
		d.t.Fatal(err)
	}
	return c.Text
}

// Whoever opens a root first, all get the same handle, and none is left behind.
func TestRootIsOpenedOnce(t *testing.T) {
	d := newDesk(t)
	root := d.Roots()[0]
	handles := make(chan *os.Root, 8)
	var all sync.WaitGroup
	for range cap(handles) {
		all.Go(func() {
			dir, err := root.Open()
			if err != nil {
				t.Error(err)
			}
			handles <- dir
		})
	}
	all.Wait()
	close(handles)
	for dir := range handles {
		if dir != root.dir {
			t.Errorf("another handle was handed out")
		}
		if _, err := dir.Stat("."); err != nil {
			t.Error(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Open(); !errors.Is(err, core.ErrClosed) {
		t.Errorf("a closed root was opened: %v", err)
	}
}

// A workspace that rests holds no root open, and opens it again when it is needed. Once
// closed it opens none.
func TestRest(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "hello")
	for range 2 {
		if got := d.read("a.txt"); got != "hello" {
			t.Errorf("got %q", got)
		}
		for _, r := range d.known {
			if r.dir == nil {
				t.Errorf("%s is not open", r.Given)
			}
		}
		d.Rest()
		for _, r := range d.known {
			if r.dir != nil {
				t.Errorf("%s is open", r.Given)
			}
		}
	}
	p, roots := d.place("a.txt"), d.Roots()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Reach(); err == nil {
		t.Error("a closed workspace was reached")
	}
	if _, err := d.place("a.txt").Reach(); err == nil {
		t.Error("a closed workspace was reached by another way")
	}
	if len(roots) != 1 || roots[0].dir != nil {
		t.Errorf("roots are held: %v", roots)
	}
}
