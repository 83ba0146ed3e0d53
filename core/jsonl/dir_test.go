package jsonl

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dragoman/core"
)

func TestDefaultDir(t *testing.T) {
	home := map[string]string{"HOME": "/home/ada", "LocalAppData": `C:\Users\ada\AppData\Local`}
	tests := []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", home, "/home/ada/.local/state/dragoman"},
		{"freebsd", home, "/home/ada/.local/state/dragoman"},
		{"linux", map[string]string{"HOME": "/home/ada", "XDG_STATE_HOME": "/var/ada"}, "/var/ada/dragoman"},
		{"darwin", home, "/home/ada/Library/Application Support/dragoman"},
		{"darwin", map[string]string{"HOME": "/home/ada", "XDG_STATE_HOME": "/var/ada"}, "/var/ada/dragoman"},
		{"windows", home, `C:\Users\ada\AppData\Local/dragoman`},
		{"linux", nil, ""},
		{"windows", nil, ""},
	}
	if runtime.GOOS == "linux" {
		tests = append(tests, struct {
			goos string
			env  map[string]string
			want string
		}{"linux", map[string]string{"HOME": "/home/ada", "XDG_STATE_HOME": "state"}, "/home/ada/.local/state/dragoman"})
	}
	for _, tt := range tests {
		got := defaultDir(tt.goos, func(k string) string { return tt.env[k] })
		if filepath.ToSlash(got) != filepath.ToSlash(tt.want) {
			t.Errorf("%s with %v: %q, want %q", tt.goos, tt.env, got, tt.want)
		}
	}
	if _, err := New("").Create(t.Context(), core.Meta{ID: "s1", Principal: core.Local}); err == nil {
		t.Error("a session is made without a data folder")
	}
}

// TestReadingCreatesNothing: reading creates no files.
func TestReadingCreatesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	s := New(dir)
	for range s.List(t.Context(), core.Local) {
		t.Error("a session in a store that is not there")
	}
	if _, err := s.Open(t.Context(), core.Local, "s1"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("Open: %v, want ErrNotFound", err)
	}
	if err := s.Delete(t.Context(), core.Local, "s1"); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if err := s.Note(t.Context(), core.Local, core.Summary{ID: "s1"}); err == nil {
		t.Error("a session that is not there was noted")
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := os.Lstat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking has made %s: %v", filepath.Dir(dir), err)
	}
	logOf(t, s, "s1")
	if got := ids(listAll(t, s)); len(got) != 1 {
		t.Errorf("listed %v by the store that had found nothing before", got)
	}
}

// TestFolderRemoved: a session can be made after the whole folder was removed.
func TestFolderRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := New(dir)
	logOf(t, s, "s1")
	if err := os.RemoveAll(dir); err != nil {
		t.Skip(err) // an open file cannot be removed here
	}
	if got := listAll(t, s); len(got) > 0 {
		t.Errorf("listed %v", got)
	}
	logOf(t, s, "s2")
	if got := ids(listAll(t, s)); len(got) != 1 || got[0] != "s2" {
		t.Errorf("listed %v", got)
	}
}

// TestLinks: the data folder may be a symbolic link, its contents may not.
func TestLinks(t *testing.T) {
	base := t.TempDir()
	top := filepath.Join(base, "link")
	if err := os.Symlink(t.TempDir(), top); err != nil {
		t.Skip(err)
	}
	j := logOf(t, New(top), "s1", notices(1)...)
	if got := readAll(t, j); len(got) != 3 {
		t.Errorf("%d records behind a link", len(got))
	}
	for _, name := range []string{"sessions", "two digits", "log", "lock"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := logOf(t, New(dir), "s1", notices(1)...).files
			at := map[string]string{"sessions": filepath.Join(dir, "sessions"), "two digits": path.dir, "log": path.log, "lock": path.lock}[name]
			moved := filepath.Join(t.TempDir(), "moved")
			if err := errors.Join(os.Rename(at, moved), os.Symlink(moved, at)); err != nil {
				t.Fatal(err)
			}
			s := New(dir)
			j, err := s.Open(t.Context(), core.Local, "s1")
			if err == nil {
				_, err = j.Claim(t.Context())
			}
			if err == nil || errors.Is(err, core.ErrNotFound) {
				t.Errorf("a link in place of %s is followed: %v", name, err)
			}
		})
	}
}

// TestNotAFolder: the error names the file in the folder's place.
func TestNotAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	put(t, dir, nil)
	_, err := New(dir).Create(t.Context(), core.Meta{ID: "s1", Principal: core.Local})
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("Create in a file: %v", err)
	}
}
