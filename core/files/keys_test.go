package files

import (
	"path/filepath"
	"testing"
)

// A name in a folder is judged like its whole path.
func FuzzKeepsKeysIn(f *testing.F) {
	for _, s := range [][2]string{{"/home/u/.config", "GH"}, {"/a", ".ssh"}, {"/.docker", "config.json"}, {"/w", "id_rsa"}, {"/w/gh", "op"}, {"/", "x"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, dir, name string) {
		dir = filepath.Clean("/" + dir)
		if !single(name) || filepath.Base(name) != name || KeepsKeys(dir) {
			return
		}
		path := filepath.Join(dir, name)
		if got, want := KeepsKeysIn(filepath.Base(dir), name), KeepsKeys(path); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	})
}
