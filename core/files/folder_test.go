package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	for _, name := range []string{"inside", "outside", "file", "absent", "..", ".", "", "sub/deep", "../" + filepath.Base(d.away)} {
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
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "file inside other outside sub" {
		t.Errorf("got %s", got)
	}
}

// A folder lists what os.ReadDir does, and reads files like it reads any other.
func TestFolderReads(t *testing.T) {
	d := newDesk(t)
	for i := range 3000 {
		d.put(fmt.Sprintf("many/a name that fills blocks of entries %d é", i), "")
	}
	d.put("many/text", strings.Repeat("x", 100_000))
	d.put("many/late", strings.Repeat("x", 9000)+"\x00")
	d.put("many/binary", "a\x00")
	d.put("many/sub/f", "")
	d.link("text", "many/link")
	f, err := d.place("many").Folder()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 2 { // the second time it begins anew
		list, err := f.Read(0)
		want, err2 := os.ReadDir(filepath.Join(d.dir, "many"))
		if err != nil || err2 != nil || len(list) != len(want) {
			t.Fatalf("%d entries, %v; want %d, %v", len(list), err, len(want), err2)
		}
		for i, e := range list {
			if e.Name != want[i].Name() || e.Kind != want[i].Type() {
				t.Errorf("%q %v, want %v", e.Name, e.Kind, want[i])
			}
		}
	}
	if list, err := f.Read(100); err != nil || len(list) != 100 {
		t.Errorf("%d entries, %v", len(list), err)
	}
	var buf []byte
	for name, want := range map[string]int{"text": 100_000, "late": 9001, "binary": 0} {
		if text, err := f.Text(name, 1<<20, &buf); err != nil || len(text.Data) != want || text.Large || text.Linked {
			t.Errorf("%s: %d bytes, %+v, %v", name, len(text.Data), text.Large, err)
		}
	}
	if text, err := f.Text("text", 99_999, &buf); err != nil || !text.Large || text.Data != nil {
		t.Errorf("%+v, %v", text.Large, err)
	}
	for _, name := range []string{"link", "sub", "absent", "..", ".", "", "sub/f", "a\x00"} {
		if text, err := f.Text(name, 1<<20, &buf); err == nil {
			t.Errorf("%q was read: %d bytes", name, len(text.Data))
		}
	}
	for name, kind := range map[string]fs.FileMode{"link": fs.ModeSymlink, "sub": fs.ModeDir, "text": 0} {
		if info, err := f.Lstat(name); err != nil || info.Mode().Type() != kind || info.Name() != name {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if to, err := f.Readlink("link"); err != nil || to != "text" {
		t.Errorf("the link leads to %q, %v", to, err)
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
