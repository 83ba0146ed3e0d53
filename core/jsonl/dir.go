package jsonl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// DefaultDir is where sessions are kept when nothing else was chosen:
// $XDG_STATE_HOME/dragoman, else the platform's own place. env looks up a
// variable of the environment. It is empty if the environment names no home.
func DefaultDir(env func(string) string) string { return defaultDir(runtime.GOOS, env) }

func defaultDir(goos string, env func(string) string) string {
	in := func(variable string, below ...string) string {
		base := env(variable)
		if base == "" || goos == runtime.GOOS && !filepath.IsAbs(base) { // the XDG specification: ignore what is relative
			return ""
		}
		return filepath.Join(append([]string{base}, below...)...)
	}
	if dir := in("XDG_STATE_HOME", "dragoman"); dir != "" {
		return dir
	}
	switch goos {
	case "windows":
		return in("LocalAppData", "dragoman")
	case "darwin", "ios":
		return in("HOME", "Library", "Application Support", "dragoman")
	}
	return in("HOME", ".local", "state", "dragoman")
}

// checkTop checks the data folder itself, which may be a symbolic link, and
// returns where it is. The error is fs.ErrNotExist where there is none.
func checkTop(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no data folder: neither XDG_STATE_HOME nor a home folder is known")
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	return real, checkDir(real)
}

// checkDir refuses what is not a folder that only this user can write to.
func checkDir(dir string) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return fmt.Errorf("data folder %s is not a folder but %s", dir, what(fi.Mode()))
	}
	return checkOwner(dir, fi)
}

func what(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsRegular():
		return "a file"
	}
	return "something else (" + mode.Type().String() + ")"
}

// makeDirs makes a folder and those above it. The new ones are for this user
// only, and durable.
func makeDirs(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if up := filepath.Dir(dir); up != dir {
		if err := makeDirs(up); err != nil {
			return err
		}
	}
	return makeDir(dir)
}

// makeDir makes one folder for this user only, whatever the umask; no error if
// there is one.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = os.Chmod(dir, 0o700)
	}
	if err == nil {
		err = syncDir(filepath.Dir(dir))
	}
	return err
}

// openFile opens a file, which must not be a symbolic link. One that it makes is
// for this user only, whatever the umask.
func openFile(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|noFollow, 0o600)
	if err != nil || flag&os.O_CREATE == 0 {
		return f, err
	}
	if fi, err := f.Stat(); err == nil && fi.Size() == 0 && fi.Mode().Perm() != 0o600 {
		if err := f.Chmod(0o600); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	return f, nil
}

// unfinished ends the name of a file that is being written.
const unfinished = ".new"

// replaceFile puts data into a file, whole or not at all. It is durable if sync
// says so; the name in the folder is not synced.
func replaceFile(path string, data []byte, sync bool) error {
	tmp := path + unfinished
	f, err := openFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return err
}
