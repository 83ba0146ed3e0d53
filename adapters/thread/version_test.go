//go:build linux || darwin

package thread

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A file that was changed has another version, also if it has its size and its time again, and one that was
// not changed has the same.
func TestVersionOfAFileWhoseTimeWasPutBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	at := time.Now().Add(-time.Hour)
	write := func(text string) uint64 {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return version(info)
	}
	first := write("one")
	if info, err := os.Stat(path); err != nil || version(info) != first {
		t.Errorf("the version changes by itself: %v", err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for write("two") == first { // some systems count time in steps
		if time.Now().After(deadline) {
			t.Fatal("the changed file has the version of before")
		}
	}
}
