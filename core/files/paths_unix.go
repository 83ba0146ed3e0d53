//go:build unix

package files

import (
	"errors"
	"io/fs"
	"syscall"
)

// nonblock keeps an open from waiting for the other end of a pipe.
const nonblock = syscall.O_NONBLOCK

// checkNames refuses names that the system would read as something else.
func checkNames(string) error { return nil }

// ManyNames reports whether a file has other names.
func ManyNames(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && st.Nlink > 1
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
