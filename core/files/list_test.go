package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// names lists a place, as List finds it from dir.
func names(p Place, dir, begin string, denied func(string) bool) string {
	var list []string
	for _, f := range p.List(dir, begin, 9, denied) {
		name := filepath.ToSlash(f.Path)
		if f.Folder {
			name += "/"
		}
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

func nothing(string) bool { return false }

func TestList(t *testing.T) {
	d := newDesk(t)
	for _, name := range []string{"Main.go", "make/x.go", ".hidden", "keys/id.pem"} {
		d.put(name, "")
	}
	keys := func(real string) bool { _, in := Within(filepath.Join(d.dir, "keys"), real); return in }
	for _, c := range []struct{ path, begin, want string }{
		{".", "", "./make/ ./Main.go"},
		{".", "ma", "./make/ ./Main.go"},
		{".", ".", "./.hidden"},
		{"make", "", "./x.go"},
		{"keys", "", ""},
		{"Main.go", "", ""},
		{"absent", "", ""},
	} {
		if got := names(d.place(c.path), "", c.begin, keys); got != strings.ReplaceAll(c.want, "./", "") {
			t.Errorf("%s, %q: got %q, want %q", c.path, c.begin, got, c.want)
		}
	}
}

// What has become a link since it was found is not listed, wherever it leads and
// wherever it is.
func TestListRefusesLinksThatAppear(t *testing.T) {
	d := newDesk(t)
	other := filepath.Join(d.away, "other")
	d.put(filepath.Join(other, "theirs.txt"), "")
	for _, folder := range []string{filepath.Join(d.dir, "sub", "folder"), filepath.Join(d.away, "folder")} {
		d.put(filepath.Join(folder, "mine.txt"), "")
		p := d.place(folder)
		if got := names(p, "", "", nothing); got != "mine.txt" {
			t.Fatalf("got %q", got)
		}
		if err := os.Rename(folder, folder+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(other, folder); err != nil {
			t.Skipf("no symbolic links: %v", err) // Windows, without the right to make them
		}
		if got := names(p, "", "", nothing); got != "" {
			t.Errorf("%s: a link was followed to %q", folder, got)
		}
	}
}
