package sandbox

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// claimScratch makes a folder that programs see as /tmp, and marks it as used until the file is
// closed: a process that is killed leaves its folders to whoever looks next.
func claimScratch(dir string) (*os.File, error) {
	for {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		f, err := os.Open(filepath.Clean(dir))
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err != nil {
			f.Close()
			return nil, os.NewSyscallError("flock "+dir, err)
		}
		ours, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		if there, err := os.Stat(dir); err == nil && os.SameFile(ours, there) {
			return f, nil
		}
		f.Close() // it was swept away before it was marked
	}
}

// sweepScratch removes the folders in a folder that nobody uses.
func sweepScratch(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		f, err := os.Open(filepath.Join(folder, e.Name()))
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = removeAll(filepath.Join(folder, e.Name()))
		}
		f.Close()
	}
}
