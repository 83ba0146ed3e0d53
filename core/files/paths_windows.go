package files

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

// nonblock: opening never waits on Windows, and Go refuses unknown flags.
const nonblock = 0

// checkNames refuses names that Windows reads as something else: devices,
// streams of a file, and names whose last dots and blanks it drops.
func checkNames(path string) error {
	path = filepath.FromSlash(path)
	if strings.HasPrefix(path, `\\?\`) || strings.HasPrefix(path, `\\.\`) || strings.HasPrefix(path, `\??\`) {
		return errors.New("device paths are refused")
	}
	vol := filepath.VolumeName(path)
	if vol != "" && !filepath.IsAbs(path) || vol == "" && strings.HasPrefix(path, `\`) {
		return errors.New("the path depends on the current drive; give it in full")
	}
	for _, name := range strings.Split(path[len(vol):], `\`) {
		switch {
		case name == "" || name == "." || name == "..":
		case strings.Contains(name, ":"):
			return errors.New("streams of files are refused")
		case strings.TrimRight(name, ". ") != name:
			return errors.New("a name must not end in a dot or a blank")
		case !filepath.IsLocal(name):
			return errors.New("the name of a device is refused")
		}
	}
	return nil
}

// isNotDir: Windows says that the path was not found.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// ManyNames is always false: whether a file has other names cannot be found out here
// without opening it.
func ManyNames(fs.FileInfo) bool { return false }
