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

// between has another process act before call at. Beside, programs are being started all
// the time: each has a copy of a lock that is given back, for a while.
type between struct {
	faulty
	another func()
	copies  []func() // close what those programs have
}

// executes is the time that a program takes to execute: longer than anybody waits for it.
const executes = 2 * ownerless

func (l *between) call(c *call, do func() error) error {
	if l.calls+1 == l.at {
		l.at = 0
		l.another()
	}
	if c.op == opUnlock || c.op == opTakeLock {
		l.fork(c.path)
	}
	return l.faulty.call(c, do)
}

// fork copies what is open of path, as a program has it before it executes.
func (l *between) fork(path string) {
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
			l.copies = append(l.copies, sync.OnceFunc(func() { _ = unix.Close(n) })) // it was only held
			time.AfterFunc(executes, l.copies[len(l.copies)-1])
		}
	}
	for len(l.copies) > 3 {
		l.copies[0]()
		l.copies = l.copies[1:]
	}
}

func (l *between) close() {
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
		_ = s.changeIndex(ctx, func(root string) error { return s.sweep(ctx, root) }) // there may be no folder
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
		_, err = s.Open(t.Context(), core.Local, "s1") // it may be gone though the index could not be changed
		return there && errors.Is(err, core.ErrNotFound)
	},
}

// TestBetweenAnyTwoCalls has another process act between any two calls of one that makes,
// claims, writes, gives back, lists and deletes: between making a session and claiming
// it, writing and saying so, giving back and claiming again. Neither notices more than it
// must: nobody is refused for what nobody has, and nothing that was acknowledged is lost.
func TestBetweenAnyTwoCalls(t *testing.T) {
	counting := newFaulty(0, fails)
	newRun(t, filepath.Join(inMemory(t), "data"), counting, func() bool { return false }).play()
	dir := filepath.Join(inMemory(t), "data")
	for name, intrude := range intruders {
		for n := 1; n <= counting.calls; n++ {
			t.Run(fmt.Sprint(name, " before ", n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					gone, wrote := false, 0
					l := &between{faulty: *newFaulty(0, fails)}
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
					if gone { // it was not owned then, and nothing was written behind that
						if _, err := New(dir).Open(t.Context(), core.Local, "s1"); !errors.Is(err, core.ErrNotFound) {
							t.Errorf("what was deleted is there: %v", err)
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
