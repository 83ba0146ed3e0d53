//go:build unix

package thread_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A file that is swapped between the check by the policy and the reading is refused: only checked
// files are read, and nothing waits for the other end of a pipe.
func TestSwappedThreadFiles(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "o.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, put := range map[string]func(path string) error{
		"a link to what is denied":  func(path string) error { return os.Symlink("x.key", path) },
		"a link to what is outside": func(path string) error { return os.Symlink(outside, path) },
		"a pipe":                    func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "x.key"), []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			swap := func(put func(string) error) error {
				next := filepath.Join(dir, "next")
				if err := put(next); err != nil {
					return err
				}
				return os.Rename(next, filepath.Join(dir, "a.txt"))
			}
			file := func(path string) error { return os.WriteFile(path, []byte("open"), 0o600) }
			if err := swap(file); err != nil {
				t.Fatal(err)
			}
			peer, stop := serveIn(t, dir)
			defer stop()
			ask := func(method, params string) string {
				t.Helper()
				if err := peer.Send(fmt.Sprintf(`{"id":7,"method":%q,"params":%s}`, method, params)); err != nil {
					t.Fatal(err)
				}
				answer, err := peer.Next()
				if err != nil {
					t.Fatal(err)
				}
				return answer
			}
			ask("createThread", "null")
			if got := ask("readTextFile", `{"threadId":"s1","path":"a.txt"}`); !strings.Contains(got, `"open"`) {
				t.Fatal(got)
			}

			enough := make(chan struct{})
			var swapper sync.WaitGroup
			swapper.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-enough:
						return
					default:
					}
					now := put
					if i%2 == 1 {
						now = file
					}
					if err := swap(now); err != nil {
						t.Error(err)
						return
					}
				}
			})
			defer swapper.Wait()
			defer close(enough)
			for range 2000 {
				for _, method := range []string{"readTextFile", "readBinaryFile"} {
					got := ask(method, `{"threadId":"s1","path":"a.txt"}`)
					if strings.Contains(got, "secret") || strings.Contains(got, "c2VjcmV0") {
						t.Fatalf("%s: %s", method, got)
					}
				}
			}
		})
	}
}

// A file that may also be somewhere else is read only after a question; here nobody can be asked.
// The same holds for everything in a workspace that contains the user's home folder.
func TestThreadFilesThatNeedAQuestion(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "o.txt")
	for _, name := range []string{elsewhere, filepath.Join(dir, "a.txt")} {
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(elsewhere, filepath.Join(dir, "linked.txt")); err != nil {
		t.Fatal(err)
	}
	read := func(name, want string) {
		t.Helper()
		peer, stop := serveIn(t, dir)
		defer stop()
		for _, call := range []string{`{"id":6,"method":"createThread","params":null}`, fmt.Sprintf(`{"id":7,"method":"readTextFile","params":{"threadId":"s1","path":%q}}`, name)} {
			if err := peer.Send(call); err != nil {
				t.Fatal(err)
			}
			answer, err := peer.Next()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(call, name) && !strings.Contains(answer, want) {
				t.Errorf("%s: got %s, want %s", name, answer, want)
			}
		}
	}
	read("a.txt", `"content":"text"`)
	read("linked.txt", "may not be read: it has other names")
	t.Setenv("HOME", dir)
	read("a.txt", "may not be read: it may be anything of the user's")
}
