package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
)

// osPipe is an operating system's pipe.
func osPipe(t testing.TB) (*os.File, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// eachFraming runs f for both framings.
func eachFraming(t *testing.T, f func(t *testing.T, framing wire.Framing)) {
	t.Run("newline", func(t *testing.T) { f(t, wire.Newline) })
	t.Run("content-length", func(t *testing.T) { f(t, wire.ContentLength) })
}

// Many producers, one stream: every byte arrives, each producer's messages in its order, also when the writer is now
// busy and now idle, since a queue that is swapped at the wrong moment damages frames without a race.
func TestWriterUnderLoad(t *testing.T) {
	const producers, messages = 8, 3000
	eachFraming(t, func(t *testing.T, framing wire.Framing) {
		r, out := osPipe(t)
		w := wire.NewWriter(out, framing)
		var owner sync.WaitGroup
		owner.Go(func() {
			if err := w.Run(t.Context()); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		var put sync.WaitGroup
		for p := range producers {
			put.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(p), 7))
				var lines []byte
				for i := range messages {
					msg := message(p, i, rnd.IntN(1<<rnd.IntN(14)))
					if p%2 == 0 {
						if err := w.Put(msg); err != nil {
							t.Error(err)
						}
					} else if lines = append(append(lines, msg...), '\n'); rnd.IntN(4) == 0 || i == messages-1 {
						if err := w.PutLines(lines); err != nil {
							t.Error(err)
						}
						for i := range lines {
							lines[i] = '!' // the buffer is the pump's again
						}
						lines = lines[:0]
					}
					if rnd.IntN(50) == 0 { // let the writer run idle
						if err := w.Room(t.Context(), 1); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		owner.Go(func() { put.Wait(); w.Close() })
		f := framing.Framer(r, 0)
		var next [producers]int
		for range producers * messages {
			b, err := f.Next()
			if err != nil {
				t.Fatal(err)
			}
			var p, i, size int
			if _, err := fmt.Sscanf(string(b[:min(len(b), 40)]), `{"p":%d,"i":%d,"n":%d,`, &p, &i, &size); err != nil {
				t.Fatalf("damaged: %.100q", b)
			}
			if i != next[p] {
				t.Fatalf("producer %d: message %d instead of %d", p, i, next[p])
			}
			if next[p]++; !bytes.Equal(b, message(p, i, size)) {
				t.Fatalf("damaged: %.100q", b)
			}
		}
		if b, err := f.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the last message: %q, %v", b, err)
		}
		owner.Wait()
		if n := w.Queued(); n != 0 {
			t.Errorf("%d bytes are queued at the end", n)
		}
	})
}

func message(p, i, size int) []byte {
	return fmt.Appendf(nil, `{"p":%d,"i":%d,"n":%d,"t":"%s"}`, p, i, size, strings.Repeat(string(rune('a'+i%26)), size))
}

// wholeFrames is a stream that looks at every Write.
type wholeFrames struct {
	writes [][]byte
}

func (w *wholeFrames) Write(b []byte) (int, error) {
	w.writes = append(w.writes, bytes.Clone(b))
	return len(b), nil
}
func (w *wholeFrames) Close() error { return nil }

func TestWritesHoldWholeFrames(t *testing.T) {
	eachFraming(t, func(t *testing.T, framing wire.Framing) {
		var out wholeFrames
		w := wire.NewWriter(&out, framing)
		sizes := []int{10, 70_000, 1, 300, 500_000, 20, 65_536, 65_535, 3}
		for i := range 2000 {
			sizes = append(sizes, i%500)
		}
		for i, n := range sizes {
			if err := w.Put(message(0, i, n)); err != nil {
				t.Fatal(err)
			}
		}
		w.PutLines([]byte("1\n22\n333\n"))
		w.Close()
		if err := w.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, b := range out.writes {
			f := framing.Framer(bytes.NewReader(b), 0)
			for {
				msg, err := f.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("a Write of %d bytes ends within a frame: %v", len(b), err)
				}
				if n < len(sizes) && !bytes.Equal(msg, message(0, n, sizes[n])) {
					t.Fatalf("message %d is damaged", n)
				}
				n++
			}
			if framing == wire.Newline && b[len(b)-1] != '\n' {
				t.Errorf("a Write ends within a line")
			}
		}
		if n != len(sizes)+3 {
			t.Errorf("%d messages of %d", n, len(sizes)+3)
		}
		if len(out.writes) < 5 {
			t.Errorf("%d writes: progress could not be seen", len(out.writes))
		}
	})
}

// A line end between the tokens of a message would end its line too early.
func TestNewlineFramesAreOneLine(t *testing.T) {
	var out wholeFrames
	w := wire.NewWriter(&out, wire.Newline)
	w.Put([]byte("{\r\n  \"a\": 1\n}"))
	w.Close()
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := string(out.writes[0]); got != "{    \"a\": 1 }\n" {
		t.Errorf("%q", got)
	}
}

func TestRoomAndStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out := wiretest.Pipe()
		w := wire.NewWriter(out, wire.Newline)
		var owner sync.WaitGroup
		owner.Go(func() { w.Run(t.Context()) })
		if w.Stalled() != 0 {
			t.Error("stalled without anything queued")
		}
		msg := bytes.Repeat([]byte("x"), 99_999)
		for range 4 {
			w.Put(msg)
		}
		synctest.Wait()
		if n := w.Queued(); n != 400_000 {
			t.Errorf("%d bytes queued: what is under way counts until it is written", n)
		}
		var free atomic.Bool
		owner.Go(func() {
			if err := w.Room(t.Context(), 256<<10); err != nil {
				t.Error(err)
			}
			free.Store(true)
		})
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		if err := w.Room(ctx, 256<<10); err == nil || err.Error() != "enough" {
			t.Errorf("Room at the end of its context: %v", err)
		}
		<-time.After(59 * time.Second)
		synctest.Wait()
		if free.Load() {
			t.Error("room in a full queue")
		}
		if s := w.Stalled(); s != time.Minute {
			t.Errorf("stalled for %v", s)
		}
		f := wire.Lines(r, 0)
		for range 2 {
			f.Next()
		}
		synctest.Wait()
		if !free.Load() {
			t.Errorf("no room with %d bytes queued", w.Queued())
		}
		if s := w.Stalled(); s != 0 {
			t.Errorf("stalled for %v right after a Write", s)
		}
		for range 2 {
			f.Next()
		}
		synctest.Wait()
		if w.Queued() != 0 || w.Stalled() != 0 {
			t.Errorf("%d queued, stalled for %v", w.Queued(), w.Stalled())
		}
		w.Close()
		owner.Wait()
	})
}

// Closing writes what is queued, but for no longer than the linger; then everybody is released.
func TestWriterCloses(t *testing.T) {
	for _, reading := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r, out := wiretest.Pipe()
			w := wire.NewWriter(out, wire.Newline)
			w.Linger = 5 * time.Second
			ctx, cancel := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- w.Run(ctx) }()
			for range 10 {
				w.Put(bytes.Repeat([]byte("x"), 50_000))
			}
			waits := make(chan error, 1)
			go func() { waits <- w.Room(t.Context(), 1) }()
			synctest.Wait()
			start := time.Now()
			cancel()
			synctest.Wait()
			if err := w.Put([]byte("late")); !errors.Is(err, wire.ErrClosed) {
				t.Errorf("Put after the end: %v", err)
			}
			if err := <-waits; !errors.Is(err, wire.ErrClosed) {
				t.Errorf("Room: %v", err)
			}
			n := 0
			if reading {
				f := wire.Lines(r, 0)
				for {
					if _, err := f.Next(); err != nil {
						break
					}
					n++
				}
			}
			err := <-ran
			took := time.Since(start)
			if reading && (err != nil || n != 10 || took != 0) {
				t.Errorf("Run: %v after %v, %d of 10 messages", err, took, n)
			}
			if !reading && (err == nil || took != 5*time.Second) {
				t.Errorf("Run with nobody reading: %v after %v", err, took)
			}
			if w.Queued() != 0 {
				t.Errorf("%d bytes are kept", w.Queued())
			}
			if err := w.Room(t.Context(), 1); !errors.Is(err, wire.ErrClosed) {
				t.Errorf("Room at the end: %v", err)
			}
		})
	}
}

// A peer that has ended its own side gets what is queued for as long as it reads, however
// slowly, and keeps nobody when it stops.
func TestWriterDrains(t *testing.T) {
	const large = 20 << 20
	for name, reads := range map[string]int{"all": large + 1, "some": large / 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, out := io.Pipe()
				w := wire.NewWriter(out, wire.Newline)
				ran := make(chan error, 1)
				go func() { ran <- w.Run(t.Context()) }()
				w.Put(bytes.Repeat([]byte("x"), large))
				read := make(chan int, 1)
				go func() {
					n := 0
					for b := make([]byte, 1<<20); n < reads; {
						<-time.After(4 * time.Second)
						k, err := r.Read(b)
						n += k
						if err != nil {
							break
						}
					}
					read <- n
				}()
				w.Drain(t.Context())
				w.Close()
				err := <-ran
				if n := <-read; n < reads || (err == nil) != (name == "all") {
					t.Errorf("%d of %d bytes came: %v", n, large+1, err)
				}
			})
		})
	}
}

func TestBrokenPipe(t *testing.T) {
	r, out := osPipe(t)
	w := wire.NewWriter(out, wire.Newline)
	r.Close()
	w.Put([]byte("{}"))
	waits := make(chan error, 1)
	go func() { waits <- w.Room(t.Context(), 1) }()
	err := w.Run(t.Context())
	if !errors.Is(err, syscall.EPIPE) || !wire.PeerLeft(err) {
		t.Errorf("Run: %v", err)
	}
	if err := <-waits; !errors.Is(err, wire.ErrClosed) {
		t.Errorf("Room: %v", err)
	}
	if err := w.Put([]byte("{}")); !errors.Is(err, wire.ErrClosed) || !strings.Contains(err.Error(), "pipe") {
		t.Errorf("Put: %v", err)
	}
}

// A pump that uses its buffer again costs the writer no memory of its own.
func TestPumpAllocatesNothing(t *testing.T) {
	r, out := osPipe(t)
	w := wire.NewWriter(out, wire.Newline)
	var owner sync.WaitGroup
	owner.Go(func() { w.Run(t.Context()) })
	owner.Go(func() { io.Copy(io.Discard, r) })
	lines := bytes.Repeat([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"text":"hello"}}`+"\n"), 20)
	turn := func() {
		for range 100 {
			w.PutLines(lines)
		}
		w.Room(t.Context(), 1)
	}
	for range 20 {
		turn()
	}
	// One channel for each time that Room has to wait.
	if n := testing.AllocsPerRun(50, turn); n > 10 {
		t.Errorf("%v allocations for 2,000 messages", n)
	}
	w.Close()
	owner.Wait()
}
