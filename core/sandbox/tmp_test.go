package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder that nobody uses any more, because a process was killed, is removed; one in use stays.
func TestScratchIsSwept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tmp")
	used, err := newTmpFolder(filepath.Join(folder, "used"))
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(folder, "left")
	if err := os.MkdirAll(filepath.Join(left, "a/b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(left, "a"), 0o500); err != nil { //nolint:gosec // as Go leaves modules
		t.Fatal(err)
	}
	sweep(folder)
	if _, err := os.Stat(left); err == nil {
		t.Error("what is left over is still there")
	}
	if _, err := os.Stat(used.dir); err != nil {
		t.Errorf("what is used is gone: %v", err)
	}
	used.remove()
	sweep(folder)
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}
