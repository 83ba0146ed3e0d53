package configs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	// lockPatience is how long a change waits for those of others. One takes milliseconds.
	lockPatience = 30 * time.Second
	lockPause    = 10 * time.Millisecond
	// maxRaces is how often an edit starts again because the file has changed meanwhile.
	maxRaces = 5
)

// EditFile makes edits in the file that Load would read, and returns its path. A file
// that is not there is created, for its owner's eyes only; one that would be wrong
// stays as it is. It is replaced at once and whole, behind a link where it is one, and
// keeps its mode. What somebody else writes meanwhile is not lost: the edits are made
// anew over it. It blocks while another one does the same, for half a minute at most.
func EditFile(ctx context.Context, o Options, edits ...Edit) (path string, err error) {
	if path = o.Path; path == "" {
		path = userFile(o.ConfigDir, o.Env)
	}
	if path == "" {
		return "", errors.New("no place for a configuration file: the environment names no home folder")
	}
	target, err := behindLinks(path)
	if err != nil {
		return path, fmt.Errorf("change the configuration: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return path, fmt.Errorf("create the configuration's folder: %w", err)
	}
	lock, err := lockFile(ctx, target+".lock")
	if err != nil {
		return path, fmt.Errorf("change the configuration: %w", err)
	}
	written, err := editLocked(path, target, o.Editor, lock, edits)
	if err = errors.Join(err, lock.Close()); written && err == nil {
		err = os.Rename(lock.Name(), target)
	} else {
		written = false
	}
	if !written || err != nil { // else it is the file now, and the next one's lock has its name
		err = errors.Join(err, os.Remove(lock.Name()))
	}
	return path, err
}

// editLocked makes the edits in the lock file, which is then to take the place of the
// other one, and reports whether it is.
func editLocked(path, target string, below *Config, lock *os.File, edits []Edit) (written bool, err error) {
	for range maxRaces {
		old, info, err := readWhole(target)
		if err != nil {
			return false, fmt.Errorf("change the configuration: %w", err)
		}
		next, err := Apply(path, old, below, edits...)
		if err != nil || bytes.Equal(old, next) && info != nil {
			return false, err
		}
		if err := errors.Join(rewrite(lock, next), keepMode(lock, info)); err != nil {
			return false, fmt.Errorf("write the configuration: %w", err)
		}
		if now, _, err := readWhole(target); err == nil && bytes.Equal(now, old) {
			return true, nil
		}
	}
	return false, fmt.Errorf("change the configuration: somebody else keeps changing %s", path)
}

func rewrite(f *os.File, data []byte) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	return f.Sync()
}

func keepMode(f *os.File, info fs.FileInfo) error {
	if info == nil {
		return nil // a new one
	}
	return errors.Join(keepOwner(f, info), f.Chmod(info.Mode().Perm()))
}

// behindLinks is the file that a path means, which need not be there.
func behindLinks(path string) (string, error) {
	for range 40 {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link, or nothing at all
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", fmt.Errorf("%s is a link that leads nowhere", path)
}

// lockFile makes the file that stands for the right to change another one.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		lockPatience,
		fmt.Errorf("another program is changing it; if none is, remove %s", path),
	)
	defer cancel()
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		pause := time.NewTimer(lockPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, context.Cause(ctx)
		}
	}
}
