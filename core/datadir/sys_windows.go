package datadir

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Open opens a regular file. A new one is for this user only. It may be a symbolic link: creating one requires a
// privilege here.
func Open(path string, flag int) (*os.File, error) { return os.OpenFile(path, flag, 0o600) }

// keepOwner does nothing: a file belongs to the user who creates it here.
func keepOwner(*os.File, string) {}

// take locks a file for this open file only; false: another one has the lock.
func take(f *os.File) (bool, error) { return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// takeShared locks it beside others that do so; false: another one has it alone.
func takeShared(f *os.File) (bool, error) { return lock(f, 0) }

func lock(f *os.File, how uint32) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
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
