package folders

import (
	"os"
	"path/filepath"
	"testing"
)

// A symbolic link out of a root is outside of it, and one into it is inside.
func TestWithinRoots(t *testing.T) {
	base, err := Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"root/in", "rooted", "out"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"root/escape": "out", "out/back": "root/in"} {
		if err := os.Symlink(filepath.Join(base, to), filepath.Join(base, link)); err != nil {
			t.Skip(err)
		}
	}
	for path, want := range map[string]bool{
		"root": true, "root/in": true, "root/../root/in": true, "out/back": true,
		"root/escape": false, "rooted": false, "out": false, "root/..": false, ".": false,
	} {
		dir, err := Resolve(filepath.Join(base, path))
		if err != nil {
			t.Fatal(err)
		}
		if got := Within(filepath.Join(base, "root"), dir); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if !Within("/", "/x") || !Within("/x", "/x") || Within("/x", "/xy") {
		t.Error("plain paths")
	}
}

func TestFilePath(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///w/a%20b": "/w/a b", "file://localhost/w": "/w", "file://host/w": "", "https://x/w": "", "/w": "", "file:w": "", "%": "",
		"file:///w?x": "", "file:///w#x": "", "file://ada@/w": "",
	} {
		if got, ok := OfURI(uri); ok != (want != "") || ok && got != filepath.FromSlash(want) {
			t.Errorf("%s: %q, %v", uri, got, ok)
		}
	}
}
