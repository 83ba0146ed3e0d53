package datadir_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/datadir"
)

func TestOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	held, err := datadir.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.TryLock(path); !errors.Is(err, datadir.ErrHeld) {
		t.Errorf("a second one: %v", err)
	}
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	if held, err = datadir.TryLock(path); err != nil {
		t.Fatalf("after Unlock: %v", err)
	}
	if err := held.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Remove the file is there: %v", err)
	}
}

// TestSeveralHolders: a shared lock excludes nobody but those who want it alone.
func TestSeveralHolders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	var held []*datadir.Lock
	for range 2 {
		lock, err := datadir.WaitShared(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, lock)
	}
	for _, lock := range held {
		if _, err := datadir.TryLock(path); !errors.Is(err, datadir.ErrHeld) {
			t.Errorf("alone beside a holder: %v", err)
		}
		if err := lock.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	alone, err := datadir.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := datadir.WaitShared(ended, path); !errors.Is(err, datadir.ErrHeld) || !errors.Is(err, context.Canceled) {
		t.Errorf("beside one who has it alone: %v", err)
	}
	if err := alone.Remove(); err != nil {
		t.Error(err)
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.lock")
		held, err := datadir.TryLock(path)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := datadir.WaitLock(short, path); !errors.Is(err, datadir.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitLock for what is not given back: %v", err)
		}
		asked := 0
		if _, err := datadir.LockWhile(t.Context(), path, func() bool { asked++; return asked < 3 }); !errors.Is(err, datadir.ErrHeld) || asked != 3 {
			t.Errorf("LockWhile gave up after %d tries: %v", asked, err)
		}
		time.AfterFunc(time.Minute, func() {
			if err := held.Unlock(); err != nil {
				t.Error(err)
			}
		})
		next, err := datadir.WaitLock(t.Context(), path)
		if err != nil {
			t.Fatalf("WaitLock for what is given back: %v", err)
		}
		if err := next.Unlock(); err != nil {
			t.Error(err)
		}
	})
}

// TestHoldersRemoveTheFile: a lock whose file is removed by each holder still has one
// holder at a time.
func TestHoldersRemoveTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	var wg sync.WaitGroup
	inside := make(chan struct{}, 1)
	for range 8 {
		wg.Go(func() {
			for n := range 50 {
				held, err := datadir.WaitLock(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				select {
				case inside <- struct{}{}:
				default:
					t.Error("two have the lock at once")
				}
				<-inside
				giveBack := held.Remove
				if n%3 == 0 {
					giveBack = held.Unlock
				}
				if err := giveBack(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestPause: a lock that pauses is free for others, and is had again by Resume, unless its file was replaced.
func TestPause(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	held, err := datadir.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Pause(); err != nil {
		t.Fatal(err)
	}
	other, err := datadir.TryLock(path)
	if err != nil {
		t.Fatalf("TryLock while the lock pauses: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := other.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := held.Resume(t.Context()); err != nil {
		t.Fatalf("Resume of a free lock: %v", err)
	}
	if err := other.Resume(ctx); !errors.Is(err, datadir.ErrHeld) || !errors.Is(err, context.Canceled) {
		t.Errorf("Resume of a lock that is held: %v", err)
	}
	if err := errors.Join(held.Pause(), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	if err := held.Resume(t.Context()); !errors.Is(err, datadir.ErrMoved) {
		t.Errorf("Resume of a lock whose file was removed: %v", err)
	}
}
