package jsonl

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// checkOwner leaves the decision to the folder's access list, which a folder in the
// user's profile inherits.
func checkOwner(string, fs.FileInfo) error { return nil }

// truncate cuts a file that is open for appending, which does not include the right to
// do so here.
func truncate(f *os.File, size int64) error { return os.Truncate(f.Name(), size) }

// linked is always true: an open file cannot be removed here.
func linked(fs.FileInfo) bool { return true }

// statIn returns the length of a file in a folder, and the time of its last change in nanoseconds. It follows no
// symbolic link.
func statIn(dir *os.File, name string) (length, at int64, err error) {
	fi, err := os.Lstat(filepath.Join(dir.Name(), name))
	if err != nil {
		return 0, math.MinInt64, err
	}
	return fi.Size(), fi.ModTime().UnixNano(), nil
}
