package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestCreate(t *testing.T) {
	d := newDesk(t)
	d.put("docs/there.md", "theirs")
	text := func(w io.Writer) error { _, err := io.WriteString(w, "mine"); return err }
	docs := d.place("docs")
	if err := docs.Create("new.md", text); err != nil || d.read("docs/new.md") != "mine" {
		t.Errorf("%v, %q", err, d.read("docs/new.md"))
	}
	if err := docs.Create("there.md", text); !errors.Is(err, fs.ErrExist) || d.read("docs/there.md") != "theirs" {
		t.Errorf("%v, %q", err, d.read("docs/there.md"))
	}
	if err := docs.Create("../up.md", text); err == nil {
		t.Error("a name left its folder")
	}
	if err := d.place("absent").Create("new.md", text); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is absent: %v", err)
	}
	broken := errors.New("broken")
	if err := docs.Create("part.md", func(w io.Writer) error { return errors.Join(text(w), broken) }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "docs", "part.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was not written whole is there: %v", err)
	}
	d.link(filepath.Join(d.away, "theirs.md"), "docs/link.md")
	if err := docs.Create("link.md", text); !errors.Is(err, fs.ErrExist) {
		t.Errorf("through a link: %v", err)
	}
	if err := os.Rename(filepath.Join(d.dir, "docs"), filepath.Join(d.dir, "old")); err != nil {
		t.Fatal(err)
	}
	d.link("old", "docs")
	if err := docs.Create("other.md", text); err == nil {
		t.Error("a link that appeared was followed")
	}
}
