package jsonl

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// errLocked says that another process, or another journal of ours, has a lock.
var errLocked = errors.New("locked")

// lock takes the lock file at path, which it makes if there is none, or fails
// with errLocked. The lock is held until the file is closed or the process dies.
//
// A lock on a file that has lost its name excludes nobody, so whoever gets one
// looks whether the name still means the same file.
func lock(path string) (*os.File, error) {
	for {
		f, err := openFile(path, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, err
		}
		ok, err := tryLock(f)
		if err == nil && !ok {
			err = errLocked
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		mine, err := f.Stat()
		if err == nil {
			var named fs.FileInfo
			if named, err = os.Lstat(path); err == nil && os.SameFile(mine, named) {
				return f, nil
			}
		}
		_ = f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// outlives is how long a dead owner's lock is waited for.
const outlives = time.Second

// lockSession takes a session's lock, or fails with errLocked. A process that is
// killed while it starts another leaves its lock to that one until it executes its
// own program, a moment later: so the lock of an owner that is dead is waited for.
func lockSession(ctx context.Context, f files) (*os.File, error) {
	for end := time.Now().Add(outlives); ; {
		held, err := lock(f.lock)
		if !errors.Is(err, errLocked) {
			return held, err
		}
		// One that has just begun has not said yet who it is.
		if o := readOwner(f.owner); o.PID == 0 || o.alive() || time.Now().After(end) {
			return nil, errLocked
		}
		timer := time.NewTimer(5 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// lockWait is lock for what is held for a moment only: it waits until it gets
// the lock or ctx ends.
func lockWait(ctx context.Context, path string) (*os.File, error) {
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		f, err := lock(path)
		if !errors.Is(err, errLocked) {
			return f, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// unlockAndRemove takes away a lock file that f has locked: its session is gone.
// Where an open file cannot be removed it is closed first; whoever locks it in
// between finds no session.
func unlockAndRemove(f *os.File) error {
	if runtime.GOOS == "windows" {
		_ = f.Close()
		return remove(f.Name())
	}
	return errors.Join(remove(f.Name()), f.Close())
}

// remove removes a file; no error if there is none.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Lock takes the lock file at path, which it makes if there is none, for others that
// keep something in the data folder. It waits until it gets it or ctx ends. The lock
// is held until unlock, or until the process dies.
func Lock(ctx context.Context, path string) (unlock func() error, err error) {
	f, err := lockWait(ctx, path)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}
