package lock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/lock"
)

func TestOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	held, err := lock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Try(path); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("a second one: %v", err)
	}
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	if held, err = lock.Try(path); err != nil {
		t.Fatalf("after Unlock: %v", err)
	}
	if err := held.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Remove the file is there: %v", err)
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.lock")
		held, err := lock.Try(path)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := lock.Wait(short, path); !errors.Is(err, lock.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait for what is not given back: %v", err)
		}
		asked := 0
		if _, err := lock.WaitWhile(t.Context(), path, func() bool { asked++; return asked < 3 }); !errors.Is(err, lock.ErrHeld) || asked != 3 {
			t.Errorf("WaitWhile gave up after %d tries: %v", asked, err)
		}
		time.AfterFunc(time.Minute, func() {
			if err := held.Unlock(); err != nil {
				t.Error(err)
			}
		})
		next, err := lock.Wait(t.Context(), path)
		if err != nil {
			t.Fatalf("Wait for what is given back: %v", err)
		}
		if err := next.Unlock(); err != nil {
			t.Error(err)
		}
	})
}

// TestHoldersRemoveIt: a lock whose file is removed by each holder still has one at a
// time.
func TestHoldersRemoveIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	var wg sync.WaitGroup
	inside := make(chan struct{}, 1)
	for range 8 {
		wg.Go(func() {
			for n := range 50 {
				held, err := lock.Wait(t.Context(), path)
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
