//go:build unix

package wire_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/wire"
)

// socketPair is two ends of a socket, as Node.js makes them for a child's standard streams.
func socketPair(t *testing.T) (*os.File, *os.File) {
	t.Helper()
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*os.File
	for i, fd := range fds {
		if err := syscall.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		ends[i] = os.NewFile(uintptr(fd), "socket")
		t.Cleanup(func() { ends[i].Close() })
	}
	return ends[0], ends[1]
}

// streams are the kinds of streams that are written to by whoever puts a message.
var streams = map[string]func(t *testing.T) (r, w *os.File){
	"pipe":   func(t *testing.T) (*os.File, *os.File) { return osPipe(t) },
	"socket": socketPair,
}

// A small message has left when Put returns, without a goroutine in between; those that follow at
// once are gathered.
func TestSmallMessagesLeaveAtOnce(t *testing.T) {
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, out := stream(t)
				w := wire.NewWriter(out, wire.Newline)
				if err := w.Put([]byte("before Run")); err != nil || w.Queued() == 0 {
					t.Errorf("nothing leaves before Run: %v, %d bytes are queued", err, w.Queued())
				}
				ended := make(chan error, 1)
				go func() { ended <- w.Run(t.Context()) }()
				for _, put := range []func() error{
					func() error { return w.Put([]byte("put")) },
					func() error { return w.PutLines([]byte("two\nlines\n")) },
				} {
					<-time.After(time.Millisecond) // Run waits for more, and nothing was written just before
					if err := put(); err != nil {
						t.Error(err)
					}
					if n, idle := w.Queued(), w.Stalled(); n != 0 || idle != 0 {
						t.Errorf("%d bytes are queued, for %v", n, idle)
					}
				}
				if w.Put([]byte("at once")); w.Queued() == 0 {
					t.Error("what follows at once does not wait for more")
				}
				const all = "before Run\nput\ntwo\nlines\nat once\n"
				b := make([]byte, len(all))
				if _, err := io.ReadFull(r, b); err != nil || string(b) != all {
					t.Errorf("%q, %v", b, err)
				}
				w.Close()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A peer that does not read holds up nobody who puts, and gets every message whole and in order
// when it reads after all, wherever its stream was full.
func TestFullStreamLosesNothing(t *testing.T) {
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			eachFraming(t, func(t *testing.T, framing wire.Framing) {
				r, out := stream(t)
				w := wire.NewWriter(out, framing)
				var owner sync.WaitGroup
				owner.Go(func() {
					if err := w.Run(t.Context()); err != nil {
						t.Error(err)
					}
				})
				rnd := rand.New(rand.NewPCG(1, 7))
				var sizes []int
				for queued := false; !queued || len(sizes)%100 != 0; { // until it is full, and more
					sizes = append(sizes, rnd.IntN(1<<rnd.IntN(13)))
					if err := w.Put(message(0, len(sizes)-1, sizes[len(sizes)-1])); err != nil {
						t.Fatal(err)
					}
					queued = w.Queued() > 64<<10
				}
				go w.Close()
				f := framing.Framer(r, 0)
				for i, size := range sizes {
					if b, err := f.Next(); err != nil || !bytes.Equal(b, message(0, i, size)) {
						t.Fatalf("message %d: %.100q, %v", i, b, err)
					}
				}
				owner.Wait()
			})
		})
	}
}
