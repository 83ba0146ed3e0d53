package datadir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"dragoman/core/datadir"
)

type counts map[string]int

func document(path string) *datadir.Document[counts] {
	return &datadir.Document[counts]{Path: path, Max: 1 << 10}
}

func plus(name string) func(counts) (counts, error) {
	return func(now counts) (counts, error) {
		next := counts{name: now[name] + 1}
		for k, v := range now {
			if k != name {
				next[k] = v
			}
		}
		return next, nil
	}
}

// Concurrent changes by several processes and goroutines are all kept.
func TestConcurrentChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "counts.json")
	shared := document(path)
	var all sync.WaitGroup
	const many = 20
	for i := range many {
		d := shared
		if i%2 == 0 {
			d = document(path) // another process
		}
		all.Go(func() {
			if err := d.Change(t.Context(), plus("a")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, d := range []*datadir.Document[counts]{shared, document(path)} {
		if got, err := d.Read(); err != nil || got["a"] != many {
			t.Errorf("%v, %v", got, err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 2 { // the document and its lock
		t.Errorf("left behind: %v, %v", left, err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// Changes and removals by another process are noticed by the next read.
func TestDocumentFollowsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts.json")
	d, other := document(path), document(path)
	want := func(n int) {
		t.Helper()
		if got, err := d.Read(); err != nil || got["a"] != n {
			t.Errorf("%v, %v; want %d", got, err, n)
		}
	}
	want(0)
	for n := range 3 { // each content has the same length
		if err := other.Change(t.Context(), plus("a")); err != nil {
			t.Fatal(err)
		}
		want(n + 1)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want(0)
}

func TestUnchangedDocument(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts.json")
	d := document(path)
	if err := d.Change(t.Context(), func(counts) (counts, error) { return nil, datadir.ErrUnchanged }); err != nil {
		t.Error(err)
	}
	own := errors.New("no")
	if err := d.Change(t.Context(), func(counts) (counts, error) { return nil, own }); !errors.Is(err, own) {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
}

// An unreadable file is an error and not an empty value, and it is never overwritten.
func TestUnreadableDocument(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"another form": {`[1]`, "counts.json: "},
		"cut":          {`{"a":`, "counts.json: "},
		"large":        {fmt.Sprintf(`{"a":1,"%s":2}`, strings.Repeat("x", 1<<10)), "is larger than 1 KiB"},
		"a folder":     {"", "is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "counts.json")
			var err error
			if c.text == "" {
				err = os.Mkdir(path, 0o700)
			} else {
				err = os.WriteFile(path, []byte(c.text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			d := document(path)
			for range 2 {
				if got, err := d.Read(); err == nil || !strings.Contains(err.Error(), c.want) || len(got) > 0 {
					t.Errorf("%v, %v", got, err)
				}
			}
			if err := d.Change(t.Context(), plus("a")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("changed: %v", err)
			}
			if c.text != "" {
				if now, err := os.ReadFile(path); err != nil || string(now) != c.text {
					t.Errorf("it is %q now, %v", now, err)
				}
			}
		})
	}
}

// A private file that others can read is an error, also if it becomes one, and is not changed.
func TestPrivateDocument(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	d := document(filepath.Join(t.TempDir(), "counts.json"))
	d.Private = true
	if err := d.Change(t.Context(), plus("a")); err != nil {
		t.Fatal(err)
	}
	for mode, readable := range map[os.FileMode]bool{0o600: true, 0o640: false, 0o604: false, 0o400: true} {
		if err := os.Chmod(d.Path, mode); err != nil {
			t.Fatal(err)
		}
		got, err := d.Read()
		if readable != (err == nil) || readable != (got["a"] == 1) || !readable && !strings.Contains(err.Error(), "can be read by others (-rw-") {
			t.Errorf("%v: %v, %v", mode, got, err)
		}
		if err := d.Change(t.Context(), func(counts) (counts, error) { return nil, datadir.ErrUnchanged }); readable != (err == nil) {
			t.Errorf("%v: changed, %v", mode, err)
		}
	}
}

// Of several that create a file one succeeds; the others get fs.ErrExist.
func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "token")
	var all sync.WaitGroup
	made := make(chan int, 8)
	for i := range 8 {
		all.Go(func() {
			switch err := datadir.Create(path, fmt.Append(nil, i)); {
			case err == nil:
				made <- i
			case !errors.Is(err, os.ErrExist):
				t.Error(err)
			}
		})
	}
	all.Wait()
	close(made)
	text, err := os.ReadFile(path)
	if err != nil || len(made) != 1 || string(text) != fmt.Sprint(<-made) {
		t.Errorf("%q, %v", text, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A file that cannot replace another one is removed.
func TestFailedReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "there")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := datadir.Replace(path, []byte("x")); err == nil {
		t.Error("a folder was replaced")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
