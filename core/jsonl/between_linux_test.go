package jsonl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"dragoman/core"
)

// intruder lets another process act before call at. Meanwhile programs are being
// started all the time: each has a copy of a released lock, for a while.
type intruder struct {
	faultyDisk
	another func()
	copies  []func() // close the copies of those programs
}

// executes is the time until a program executes: longer than any wait for it.
const executes = 2 * ownerless

func (l *intruder) call(c *call, do func() error) error {
	l.mu.Lock()
	now := l.calls+1 == l.at
	if now {
		l.at = 0
	}
	l.mu.Unlock()
	if now {
		l.another()
	}
	if c.op == opUnlock || c.op == opTakeLock {
		l.fork(c.path)
	}
	return l.faultyDisk.call(c, do)
}

// fork copies the open files of path, like a program before it executes.
func (l *intruder) fork(path string) {
	const open = "/proc/self/fd"
	fds, err := os.ReadDir(open)
	if err != nil {
		return
	}
	for _, fd := range fds {
		var n int
		if to, err := os.Readlink(filepath.Join(open, fd.Name())); err != nil || to != path {
			continue
		}
		if _, err := fmt.Sscan(fd.Name(), &n); err != nil {
			continue
		}
		if n, err = unix.Dup(n); err == nil {
			l.copies = append(l.copies, sync.OnceFunc(func() { _ = unix.Close(n) })) // only held open
			time.AfterFunc(executes, l.copies[len(l.copies)-1])
		}
	}
	for len(l.copies) > 3 {
		l.copies[0]()
		l.copies = l.copies[1:]
	}
}

func (l *intruder) close() {
	for _, done := range l.copies {
		done()
	}
}

// intruders act as another process in between. gone: s1 was deleted.
var intruders = map[string]func(t *testing.T, s *Store) (gone bool){
	"claims": func(t *testing.T, s *Store) bool {
		opened, err := s.Open(t.Context(), core.Local, "s1")
		if errors.Is(err, core.ErrNotFound) {
			return false
		}
		if err != nil {
			t.Errorf("Open: %v", err)
			return false
		}
		epoch, err := opened.Claim(t.Context())
		var owned *core.OwnedError
		switch {
		case errors.As(err, &owned) || errors.Is(err, core.ErrNotFound):
			return false
		case err != nil:
			t.Errorf("Claim: %v", err)
			return false
		}
		at := opened.(*journal).claimed().end.Seq
		records := []core.Record{{Epoch: epoch, Seq: at, Event: core.Claimed{Epoch: epoch, Node: another}}, {Epoch: epoch, Seq: at + 1, Event: core.Notice{Text: another}}}
		if err := errors.Join(opened.Write(t.Context(), records), opened.Close()); err != nil {
			t.Errorf("Write: %v", err)
		}
		return false
	},
	"lists and sweeps": func(t *testing.T, s *Store) bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // the index may be locked
		defer cancel()
		for _, err := range s.List(ctx, core.Local) {
			if err != nil && ctx.Err() == nil {
				t.Errorf("List: %v", err)
			}
		}
		_ = s.changeIndex(ctx, func(root string) error { return s.sweep(ctx, root) }) // the folder may be missing
		return false
	},
	"deletes": func(t *testing.T, s *Store) bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := s.Open(ctx, core.Local, "s1")
		there := err == nil
		err = s.Delete(ctx, core.Local, "s1")
		if owned := (*core.OwnedError)(nil); err != nil && !errors.As(err, &owned) && ctx.Err() == nil {
			t.Errorf("Delete: %v", err)
		}
		_, err = s.Open(t.Context(), core.Local, "s1") // the session may be gone even if the index could not be changed
		return there && errors.Is(err, core.ErrNotFound)
	},
}

// TestBetweenAnyTwoCalls lets another process act between any two calls of a process
// that creates, claims, writes, releases, lists and deletes: between creating a
// session and claiming it, writing and reporting it, releasing and claiming again.
// Neither notices more than necessary: no claim is refused for a session without an
// owner, and nothing that was acknowledged is lost.
func TestBetweenAnyTwoCalls(t *testing.T) {
	counting := newFaulty(0, fails)
	newRun(t, filepath.Join(inMemory(t), "data"), counting, func() bool { return false }).play()
	dir := filepath.Join(inMemory(t), "data")
	for name, intrude := range intruders {
		for n := 1; n <= counting.calls; n++ {
			t.Run(fmt.Sprint(name, " before ", n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					gone, wrote := false, 0
					l := &intruder{faultyDisk: *newFaulty(0, fails)}
					l.at = n
					defer l.close()
					r := newRun(t, dir, l, func() bool { return gone })
					l.another = func() {
						s := New(dir)
						s.disk.layer = newFaulty(0, fails)
						gone = intrude(t, s)
						wrote = len(r.acked["s1"])
					}
					r.play()
					if gone { // it had no owner then, and nothing was written after that
						if _, err := New(dir).Open(t.Context(), core.Local, "s1"); !errors.Is(err, core.ErrNotFound) {
							t.Errorf("the deleted session is there: %v", err)
						}
						if n := len(r.acked["s1"]); n > wrote {
							t.Errorf("%d writes to what was deleted succeeded", n-wrote)
						}
						return
					}
					r.check(dir)
				})
			})
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}
