package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder that nobody uses any more, because a process was killed, is removed; one in use stays.
func TestScratchIsSwept(t *testing.T) {
	folder := t.TempDir()
	used, left := filepath.Join(folder, "used"), filepath.Join(folder, "left")
	f, err := claimScratch(used)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.MkdirAll(filepath.Join(left, "a/b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(left, "a"), 0o500); err != nil { // as Go leaves modules
		t.Fatal(err)
	}
	sweepScratch(folder)
	if _, err := os.Stat(left); err == nil {
		t.Error("what is left over is still there")
	}
	if _, err := os.Stat(used); err != nil {
		t.Errorf("what is used is gone: %v", err)
	}
	f.Close()
	sweepScratch(folder)
	if _, err := os.Stat(used); err == nil {
		t.Error("what is not used any more is still there")
	}
}
