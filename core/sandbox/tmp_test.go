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

// The processes that use a session one after the other have the same folder, and the last of them removes
// it: one whose session rests keeps it, and does not keep the others from working.
func TestScratchIsShared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tmp", "session")
	first, err := newTmpFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "note"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := newTmpFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	first.remove()
	sweep(filepath.Dir(dir))
	if _, err := os.Stat(filepath.Join(dir, "note")); err != nil {
		t.Errorf("what the other process uses is gone: %v", err)
	}
	second.remove()
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}
