//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package jsonl

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// checkOwner refuses a folder that other users own or may write to.
func checkOwner(dir string, fi fs.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf(
			"data folder %s belongs to another user (uid %d, we are %d): choose a folder of your own",
			dir,
			st.Uid,
			os.Geteuid(),
		)
	}
	if fi.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf(
			"data folder %s can be written to by other users (mode %#o): run chmod go-w on it, or choose another",
			dir,
			fi.Mode().Perm(),
		)
	}
	return nil
}

// truncate cuts a file that is open for appending.
func truncate(f *os.File, size int64) error { return f.Truncate(size) }

// linked reports whether a file still has a name.
func linked(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink > 0
}

// statIn returns the length of a file in a folder, and the time of its last change in nanoseconds. It follows no
// symbolic link.
func statIn(dir *os.File, name string) (length, at int64, err error) {
	var st unix.Stat_t
	err = unix.EINTR
	for errors.Is(err, unix.EINTR) {
		err = unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return 0, math.MinInt64, err
	}
	return st.Size, st.Mtim.Nano(), nil
}
