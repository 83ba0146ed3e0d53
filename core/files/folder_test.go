package files

import (
	"io"
	"strings"
	"sync"
	"testing"
)

// What has become a link since a folder was opened is refused in it, wherever the link
// leads.
func TestFolderRefusesLinks(t *testing.T) {
	d := newDesk(t)
	d.put("sub/deep/a.txt", "mine")
	d.put("other/a.txt", "theirs")
	top, err := d.place(".").Folder()
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	deep, err := top.Under("sub/deep")
	if err != nil {
		t.Fatal(err)
	}
	defer deep.Close()
	for name, to := range map[string]string{"inside": "other", "outside": d.away, "file": "other/a.txt", "sub/deep/b.txt": "a.txt"} {
		d.link(to, name)
	}
	for _, name := range []string{"inside", "outside", "file", "absent", ".."} {
		if f, err := top.Folder(name); err == nil {
			t.Errorf("the folder %s was opened", name)
			f.Close()
		}
	}
	if f, err := top.Under("inside/deep"); err == nil {
		t.Error("a link on the way was followed")
		f.Close()
	}
	for _, name := range []string{"b.txt", "absent", "."} {
		if f, _, err := deep.Regular(name); err == nil {
			t.Errorf("the file %s was opened", name)
			f.Close()
		}
	}
	list, err := top.Read(0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "file inside other outside sub" {
		t.Errorf("got %s", got)
	}
}

// A folder stays open until the last of its holders has closed it.
func TestFolderIsHeld(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "text")
	f, err := d.place(".").Folder()
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for range 4 {
		held := f.Hold()
		readers.Go(func() {
			defer held.Close()
			file, _, err := held.Regular("a.txt")
			if err != nil {
				t.Error(err)
				return
			}
			defer file.Close()
			if text, err := io.ReadAll(file); string(text) != "text" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	f.Close()
	readers.Wait()
	if _, err := f.Read(0); err == nil {
		t.Error("it is still open")
	}
}
