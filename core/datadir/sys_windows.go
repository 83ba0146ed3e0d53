package datadir

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// noFollow has no counterpart: creating a symbolic link requires a privilege here.
const noFollow = 0

// keepOwner does nothing: a file belongs to the user who creates it here.
func keepOwner(*os.File, string) {}

// take locks a file for this open file only; false: another one has the lock.
func take(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	if err != nil {
		return false, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return true, nil
}

// release unlocks it.
func release(f *os.File) error {
	if err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, new(windows.Overlapped)); err != nil {
		return &fs.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return nil
}

// SyncDir has nothing to do: the file system journals its names.
func SyncDir(string) error { return nil }
