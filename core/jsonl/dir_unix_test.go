//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package jsonl

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"dragoman/core"
)

// TestModes: folders are 0700 and files 0600, whatever the umask.
func TestModes(t *testing.T) {
	for _, umask := range []int{0, 0o22, 0o77, 0o777} {
		t.Run(fmt.Sprintf("umask %#o", umask), func(t *testing.T) {
			top := t.TempDir()
			old := unix.Umask(umask) // for the whole process: no test runs at the same time
			s := New(filepath.Join(top, "state", "dragoman"))
			j := logOf(t, s, "s1", core.Notice{Text: strings.Repeat("x", 300<<10)})
			err := own(t, j)
			unix.Umask(old)
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
				if err != nil || path == top {
					return err
				}
				fi, err := d.Info()
				if err != nil {
					return err
				}
				seen++
				want := fs.FileMode(0o600)
				if d.IsDir() {
					want = 0o700
				}
				if fi.Mode().Perm() != want {
					t.Errorf("%s has mode %#o, want %#o", path, fi.Mode().Perm(), want)
				}
				return nil
			})
			if err != nil || seen != 11 {
				t.Errorf("%d files and folders, %v", seen, err)
			}
		})
	}
}

// TestForeignFolder: a data folder that others own or can change is refused with a
// reason.
func TestForeignFolder(t *testing.T) {
	refused := func(t *testing.T, dir, why string) {
		t.Helper()
		_, err := New(dir).Open(t.Context(), core.Local, "s1")
		if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), dir) {
			t.Errorf("Open: %v, want that it %q", err, why)
		}
		for _, err := range New(dir).List(t.Context(), core.Local) {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("List: %v, want that it %q", err, why)
			}
		}
		if _, err := New(dir).Create(t.Context(), core.Meta{ID: "s2", Principal: core.Local}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("Create: %v, want that it %q", err, why)
		}
	}
	for _, below := range []string{"", "sessions"} {
		for _, mode := range []fs.FileMode{0o770, 0o707, 0o722} {
			t.Run(fmt.Sprintf("%s %#o", below, mode), func(t *testing.T) {
				dir := t.TempDir()
				logOf(t, New(dir), "s1")
				if err := os.Chmod(filepath.Join(dir, below), mode); err != nil {
					t.Fatal(err)
				}
				refused(t, dir, "can be written to by other users")
			})
		}
	}
	t.Run("owner", func(t *testing.T) {
		dir := t.TempDir()
		logOf(t, New(dir), "s1")
		if err := os.Chown(dir, 12345, -1); err != nil {
			t.Skip(err)
		}
		refused(t, dir, "belongs to another user")
	})
}
