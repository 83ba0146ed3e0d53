package configs

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that is rewritten, created or removed is noticed; an unchanged one is not.
func TestFileStatesSeeChanges(t *testing.T) {
	dir := t.TempDir()
	there, coming := filepath.Join(dir, "there"), filepath.Join(dir, "coming")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(there, "a")
	for what, change := range map[string]func(){
		"written": func() { write(there, "longer") },
		"come":    func() { write(coming, "b") },
	} {
		seen := FileStatesOf(there, coming, "")
		if len(seen) != 2 || seen.Changed() {
			t.Fatalf("before a file was %s: %v", what, seen)
		}
		if change(); !seen.Changed() {
			t.Errorf("nobody saw that a file was %s", what)
		}
	}
	seen := FileStatesOf(there)
	if err := os.Remove(there); err != nil {
		t.Fatal(err)
	}
	if !seen.Changed() || FileStateOf(there) != (FileState{}) {
		t.Error("nobody saw that a file has gone")
	}
}
