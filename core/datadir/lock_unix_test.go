//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnlockedBeforeItIsClosed: a copy of the descriptor in a program that is being
// started does not hold the lock.
func TestUnlockedBeforeItIsClosed(t *testing.T) {
	for name, giveBack := range map[string]func(*Lock) error{"unlock": (*Lock).Unlock, "remove": (*Lock).Remove} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.lock")
			held, err := TryLock(path)
			if err != nil {
				t.Fatal(err)
			}
			copied, err := unix.Dup(int(held.f.Fd())) // like fork
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(copied) //nolint:errcheck // it was only held open
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

// A file that root replaces or creates in a user's folder belongs to that user.
func TestRootKeepsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	dir := t.TempDir()
	old, added := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	if err := Replace(old, []byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chown(old, 12345, 12345), os.Chown(dir, 12346, 12346)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Replace(old, []byte("b")), Replace(added, []byte("c"))); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]uint32{old: 12345, added: 12346} {
		var is unix.Stat_t
		if err := unix.Stat(path, &is); err != nil || is.Uid != want {
			t.Errorf("%s belongs to %d, want %d (%v)", path, is.Uid, want, err)
		}
	}
}
