//go:build unix

package files

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// Links lists links and nothing else, and waits for nothing.
func TestLinksInAFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.Symlink("/nowhere", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	names := Links(dir)
	slices.Sort(names)
	if !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("links: %q", names)
	}
	for _, none := range []string{pipe, filepath.Join(dir, "a"), filepath.Join(dir, "missing")} {
		if names := Links(none); names != nil {
			t.Errorf("%s: %q", none, names)
		}
	}
}
