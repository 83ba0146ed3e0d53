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

// What is swapped between the question whether it may be read and the reading is
// refused: nobody sees what policy was not asked about, and nobody waits for the
// other end of a pipe.
func TestThreadFilesThatAreSwapped(t *testing.T) {
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
