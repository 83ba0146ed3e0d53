package wire_test

import (
	"io"
	"os"
	"runtime"
	"testing"

	"dragoman/adapters/wire"
)

// A writer sees what its peer has not read, in a pipe and in a socket, and not in a file.
func TestUnread(t *testing.T) {
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			r, out := stream(t)
			w := wire.NewWriter(out, wire.Newline)
			if n, ok := w.Unread(); ok {
				t.Errorf("%d bytes are unread before Run", n)
			}
			ended := make(chan error, 1)
			go func() { ended <- w.Run(t.Context()) }()
			for range 3 {
				if err := w.Put([]byte("seven b")); err != nil {
					t.Fatal(err)
				}
				if n, ok := w.Unread(); !ok || n < len("seven b\n") {
					t.Errorf("%d bytes are unread, %v", n, ok)
				}
				if _, err := io.ReadFull(r, make([]byte, len("seven b\n"))); err != nil {
					t.Fatal(err)
				}
				for { // Run may not have noticed yet that its write is over
					if n, ok := w.Unread(); ok && n == 0 {
						break
					}
					runtime.Gosched()
				}
			}
			w.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	f, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	w := wire.NewWriter(f, wire.Newline)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(t.Context()) }()
	if err := w.Put([]byte("x")); err != nil {
		t.Error(err)
	}
	w.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n, ok := w.Unread(); ok {
		t.Errorf("%d bytes of a file are unread", n)
	}
}
