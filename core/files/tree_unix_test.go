//go:build unix

package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A tree follows the links inside of it and no other. What was swapped between looking
// and opening is refused, and nobody waits for the other end of a pipe.
func TestTree(t *testing.T) {
	d := newDesk(t)
	d.put("docs/a.md", "text")
	d.put(filepath.Join(d.away, "theirs.md"), "secret")
	for name, to := range map[string]string{"inner.md": "docs/a.md", "folder": "docs", "out.md": "../app-evil/theirs.md", "away": d.away} {
		if err := os.Symlink(to, filepath.Join(d.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := OpenTree(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close() //nolint:errcheck // it was only read
	for _, name := range []string{"docs/a.md", "inner.md", "folder/a.md"} {
		info, err := tree.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := tree.Regular(name, info)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(f); string(text) != "text" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		f.Close()
	}
	for name, want := range map[string]error{
		"out.md": ErrLeaves, "away/theirs.md": ErrLeaves, "../app-evil/theirs.md": ErrLeaves, "absent": fs.ErrNotExist, "docs/a.md/b": fs.ErrNotExist,
	} {
		if _, err := tree.Stat(name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if _, err := tree.Folder("docs/a.md"); err == nil {
		t.Error("a file was listed")
	}

	path := filepath.Join(d.dir, "docs", "a.md")
	seen, err := tree.Stat("docs/a.md")
	if err != nil {
		t.Fatal(err)
	}
	d.put("docs/other.md", "other")
	for what, put := range map[string]func() error{
		"another file":   func() error { return os.Link(filepath.Join(d.dir, "docs", "other.md"), path) },
		"a link inside":  func() error { return os.Symlink("other.md", path) },
		"a link outside": func() error { return os.Symlink("../../app-evil/theirs.md", path) },
		"a pipe":         func() error { return syscall.Mkfifo(path, 0o600) },
		"a folder":       func() error { return os.Mkdir(path, 0o700) },
		"nothing":        func() error { return nil },
	} {
		if err := errors.Join(os.RemoveAll(path), put()); err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Regular("docs/a.md", seen); err == nil {
			t.Errorf("%s was opened", what)
		}
		if what != "a folder" {
			if _, err := tree.Folder("docs/a.md"); err == nil {
				t.Errorf("%s was listed", what)
			}
		}
	}
}
