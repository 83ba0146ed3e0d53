package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// ErrHeld means that the lock is taken: by another process, or by another Lock of this
// one.
var ErrHeld = errors.New("another process has it")

// ErrMoved means that the name of a lock does not refer to its file any more.
var ErrMoved = errors.New("its file was removed or replaced")

// Lock is a held lock on a file: alone, or with others (WaitShared).
type Lock struct {
	f    *os.File
	info fs.FileInfo // of f, to recognize it by its name
}

// TryLock locks the file at path. It creates the file if there is none, for this user only. It
// does not wait: if the lock is taken it returns ErrHeld.
//
// A lock on a removed file excludes no one, so TryLock checks afterwards that the name
// still refers to the locked file.
func TryLock(path string) (*Lock, error) { return try(path, take) }

// try locks the file at path in a way.
func try(path string, take func(*os.File) (bool, error)) (*Lock, error) {
	for {
		f, err := Open(path, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, err
		}
		ok, err := take(f)
		if err == nil && !ok {
			err = fmt.Errorf("lock %s: %w", path, ErrHeld)
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		held := &Lock{f: f}
		if held.info, err = f.Stat(); err == nil {
			err = held.named()
		}
		if err == nil {
			return held, private(held, held.info)
		}
		_ = held.Unlock()
		if !errors.Is(err, ErrMoved) {
			return nil, err
		}
	}
}

// named returns ErrMoved if the name of the lock does not refer to its file any more.
func (l *Lock) named() error {
	now, err := os.Lstat(l.f.Name())
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(l.info, now) {
		return ErrMoved
	}
	return err
}

// private restricts a new lock file to this user, whatever the umask.
func private(held *Lock, fi fs.FileInfo) error {
	if fi.Mode().Perm() == 0o600 || fi.Size() > 0 || runtime.GOOS == "windows" {
		return nil
	}
	if err := held.f.Chmod(0o600); err != nil {
		_ = held.Unlock()
		return err
	}
	return nil
}

// WaitLock is like TryLock, but waits for the lock until ctx ends; then the error wraps
// both ErrHeld and the cause of ctx.
func WaitLock(ctx context.Context, path string) (*Lock, error) {
	return LockWhile(ctx, path, func() bool { return true })
}

// LockWhile is like WaitLock, but gives up with ErrHeld when the lock is taken and worth returns
// false. It calls worth between tries, which are up to 5 ms apart.
func LockWhile(ctx context.Context, path string, worth func() bool) (*Lock, error) {
	return wait(ctx, worth, func() (*Lock, error) { return TryLock(path) })
}

// WaitShared is like WaitLock for a lock that others may have at the same time, all of them by
// WaitShared. While anybody has it so, nobody gets it by the other functions.
func WaitShared(ctx context.Context, path string) (*Lock, error) {
	return wait(ctx, func() bool { return true }, func() (*Lock, error) { return try(path, takeShared) })
}

// wait calls try until the lock is not taken, ctx ends or worth returns false.
func wait(ctx context.Context, worth func() bool, try func() (*Lock, error)) (*Lock, error) {
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		f, err := try()
		if !errors.Is(err, ErrHeld) || !worth() {
			return f, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// Pause releases the lock and keeps its file open, for Resume.
func (l *Lock) Pause() error { return release(l.f) }

// Resume takes a lock again that was released by Pause, and waits for it until ctx ends, as WaitLock does. With an
// error it is not held and its file is closed; ErrMoved: it is to be taken by its name.
func (l *Lock) Resume(ctx context.Context) error {
	_, err := wait(ctx, func() bool { return true }, func() (*Lock, error) {
		ok, err := take(l.f)
		if err == nil && !ok {
			err = fmt.Errorf("lock %s: %w", l.f.Name(), ErrHeld)
		}
		return l, err
	})
	if err == nil {
		if err = l.named(); err == nil {
			return nil
		}
		_ = release(l.f)
	}
	return errors.Join(err, l.f.Close())
}

// Discard closes the file of a lock that Pause has released.
func (l *Lock) Discard() error { return l.f.Close() }

// File returns the locked file. A process that is given its descriptor has the lock as well, if we die
// without releasing it; on Windows none can.
func (l *Lock) File() *os.File { return l.f }

// Unlock releases the lock. The file stays.
func (l *Lock) Unlock() error { return errors.Join(release(l.f), l.f.Close()) }

// Remove releases the lock and removes its file. On systems that cannot remove an open
// file it is closed first; another process may lock it in between.
func (l *Lock) Remove() error {
	path := l.f.Name()
	if runtime.GOOS == "windows" {
		return errors.Join(l.Unlock(), Remove(path))
	}
	return errors.Join(Remove(path), l.Unlock())
}

// Remove removes a file, if there is one.
func Remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
