package files

import (
	"os"
	"path/filepath"
	"testing"
)

// A file is moved to where its new place was found, and nowhere else, however fast a folder
// on the way becomes a link and a folder again.
func TestMoveRace(t *testing.T) {
	d := newDesk(t)
	d.put("docs/x", "")
	d.put("hooks/x", "")
	docs, aside := filepath.Join(d.dir, "docs"), filepath.Join(d.dir, "aside")
	d.link("hooks", "link")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			// docs is a folder, and then a link to another one.
			_ = os.Rename(docs, aside)
			_ = os.Symlink("hooks", docs)
			_ = os.Remove(docs)
			_ = os.Rename(aside, docs)
		}
	}()
	moved := 0
	for range 500 {
		d.put("a", "mine")
		p, q := d.place("a"), Place{Name: filepath.Join(docs, "b"), Real: filepath.Join(docs, "b"), Show: "docs/b", Root: d.Roots()[0]}
		if p.MoveTo(q) == nil {
			moved++
		}
		if _, err := os.Lstat(filepath.Join(d.dir, "hooks", "b")); err == nil {
			t.Error("the file went through the link")
			break
		}
		_ = os.Remove(filepath.Join(docs, "b"))
		_ = os.Remove(filepath.Join(aside, "b"))
	}
	close(stop)
	<-done
	if moved == 0 {
		t.Error("no move went through: the race proves nothing")
	}
	t.Logf("%d moves went through", moved)
}
