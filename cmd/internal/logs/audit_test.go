package logs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The record stays open, notices when another process has rotated it, and is rotated itself when
// it is large.
func TestHeldLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &cachedLog{path: filepath.Join(t.TempDir(), "sub", "log")}
		defer h.let()
		write := func(line string) {
			t.Helper()
			if _, err := h.Write([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		holds := func(path, want string) {
			t.Helper()
			if b, err := os.ReadFile(path); err != nil || string(b) != want {
				t.Errorf("%s holds %q, %v", filepath.Base(path), b, err)
			}
		}
		write("one\n")
		write("two\n")
		holds(h.path, "one\ntwo\n")
		if err := os.Rename(h.path, older(h.path)); err != nil {
			t.Skip(err) // Windows does not move open files
		}
		<-time.After(renewEvery)
		write("three\n")
		holds(h.path, "three\n")
		holds(older(h.path), "one\ntwo\n")
		write(strings.Repeat("x", maxFile))
		<-time.After(renewEvery)
		write("four\n")
		write("five\n")
		holds(h.path, "five\n")
	})
}
