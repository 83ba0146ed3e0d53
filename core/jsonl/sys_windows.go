package jsonl

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// noFollow has no counterpart: making a symbolic link takes a privilege here.
const noFollow = 0

// tryLock locks a file for this open file alone; false: somebody else has it.
func tryLock(f *os.File) (bool, error) {
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

// checkOwner leaves the decision to the folder's access list, which a folder in
// the user's profile inherits.
func checkOwner(string, fs.FileInfo) error { return nil }

// truncate cuts a file that is open for appending, which does not include the
// right to do so here.
func truncate(f *os.File, size int64) error { return os.Truncate(f.Name(), size) }

// linked is always true: an open file cannot be removed here.
func linked(fs.FileInfo) bool { return true }

// syncDir has nothing to do: the file system journals its names.
func syncDir(string) error { return nil }

// alive reports whether a process exists.
func alive(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var code uint32
	const stillActive = 259
	return windows.GetExitCodeProcess(h, &code) != nil || code == stillActive
}
