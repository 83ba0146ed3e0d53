//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package datadir

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnlockedBeforeItIsClosed: what a program that is being started has of a lock does
// not hold it.
func TestUnlockedBeforeItIsClosed(t *testing.T) {
	for name, giveBack := range map[string]func(*Lock) error{"unlock": (*Lock).Unlock, "remove": (*Lock).Remove} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.lock")
			held, err := TryLock(path)
			if err != nil {
				t.Fatal(err)
			}
			copied, err := unix.Dup(int(held.f.Fd())) // as fork does
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(copied) //nolint:errcheck // it was only held
			if err := giveBack(held); err != nil {
				t.Fatal(err)
			}
			again, err := TryLock(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Unlock(); err != nil {
				t.Error(err)
			}
		})
	}
}
