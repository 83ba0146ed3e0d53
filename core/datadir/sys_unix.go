//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Open opens a regular file, which must not be a symbolic link. A new one is for this user only, as far as the
// umask allows. It does not try to have the system poll the file, as os.OpenFile does: regular files cannot be
// polled, and finding that out takes four system calls.
func Open(path string, flag int) (*os.File, error) {
	for {
		fd, err := unix.Open(path, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case errors.Is(err, unix.EINTR):
			continue
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
}

// keepOwner gives a new file to the owner of the file that it replaces, or else of the
// folder. Only root can do that: changing a user's file with sudo must not change its
// owner.
func keepOwner(f *os.File, path string) {
	var is unix.Stat_t
	if os.Geteuid() != 0 {
		return
	}
	if unix.Stat(path, &is) == nil || unix.Stat(filepath.Dir(path), &is) == nil {
		_ = f.Chown(int(is.Uid), int(is.Gid)) // if that fails it is root's
	}
}

// take locks a file for this open file only; false: another one has the lock.
func take(f *os.File) (bool, error) { return lock(f, unix.LOCK_EX) }

// takeShared locks it beside others that do so; false: another one has it alone.
func takeShared(f *os.File) (bool, error) { return lock(f, unix.LOCK_SH) }

func lock(f *os.File, how int) (bool, error) {
	err := flock(f, how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// release unlocks it, even if a child has a copy of the descriptor.
func release(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		}
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
}

// SyncDir makes the names in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) { // a file system without anything to sync
		err = nil
	}
	return errors.Join(err, d.Close())
}
