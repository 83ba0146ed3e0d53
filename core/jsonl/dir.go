package jsonl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"dragoman/core/datadir"
)

// DefaultDir returns the default folder of sessions: $XDG_STATE_HOME/dragoman, else
// the platform's own place. env looks up a variable of the environment. DefaultDir
// returns "" if the environment has no home folder.
func DefaultDir(env func(string) string) string { return defaultDir(runtime.GOOS, env) }

func defaultDir(goos string, env func(string) string) string {
	in := func(variable string, below ...string) string {
		base := env(variable)
		if base == "" ||
			goos == runtime.GOOS && !filepath.IsAbs(base) { // the XDG specification: ignore relative paths
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

// checkTop checks the data folder itself, which may be a symbolic link, and returns
// its real path. The error is fs.ErrNotExist if there is none.
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

// checkDir refuses everything but a folder that only this user can write to.
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

// openFile opens a file, which must not be a symbolic link. A new file is only for
// this user, whatever the umask.
func openFile(path string, flag int) (*os.File, error) {
	f, err := datadir.Open(path, flag)
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
