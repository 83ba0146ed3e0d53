//go:build unix

package jsonl

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/core"
)

// Cut output is only for this user, and is deleted with its session. An earlier
// version gave models the path of the file, which can still be read: this path, and no
// other. No link is followed, and no error contains the path of the data folder.
func TestSpill(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	j := logOf(t, s, "s1")
	folder := j.files.spill()
	if exists(folder) {
		t.Fatal("the folder is there before it is needed")
	}
	w, ref, err := j.Spill("output.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "kept"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{folder: 0o700, filepath.Join(folder, "output.txt"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	other := logOf(t, s, "s2")
	put(t, filepath.Join(dir, "secret"), []byte("secret"))
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in   *journal
		ref  string
		want string
	}{
		"a reference":                {j, ref, "kept"},
		"a path":                     {j, filepath.Join(folder, "output.txt"), "kept"},
		"another session":            {other, ref, ""},
		"another session's path":     {other, filepath.Join(folder, "output.txt"), ""},
		"a path that leads out":      {j, folder + "/../output.txt", ""},
		"the log":                    {j, j.files.log, ""},
		"a link":                     {j, "spill:link", ""},
		"the path of a link":         {j, filepath.Join(folder, "link"), ""},
		"a folder":                   {j, "spill:folder", ""},
		"the folder of all":          {j, folder, ""},
		"a missing file":             {j, "spill:nothing", ""},
		"the path of a missing file": {j, filepath.Join(folder, "nothing"), ""},
	} {
		f, err := c.in.Spilled(c.ref)
		if c.want == "" {
			if !errors.Is(err, fs.ErrNotExist) || strings.HasPrefix(c.ref, core.SpillRef) && strings.Contains(err.Error(), dir) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil || string(b) != c.want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, _, err := j.Spill("more"); os.Geteuid() != 0 && (err == nil || strings.Contains(err.Error(), dir)) {
		t.Errorf("where nothing can be written: %v", err)
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), core.Local, "s1"); err != nil || exists(folder) {
		t.Errorf("Delete: %v; the folder is there: %v", err, exists(folder))
	}
}
