package sandbox

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// changeTime returns when a file's content or mode was last changed.
func changeTime(info os.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return info.ModTime()
}

// allocated returns how much of the disk a file takes, in bytes.
func allocated(info os.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}

// identify returns the identity of what is at a path; of a symbolic link, its own.
func identify(path string) identity {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &s); err != nil {
		return identity{}
	}
	return identity{device: unix.Mkdev(s.Dev_major, s.Dev_minor), inode: s.Ino, born: s.Btime.Sec*1e9 + int64(s.Btime.Nsec)}
}

// changedAt returns changeTime of what is at a path; the zero time: nothing is there.
func changedAt(path string) time.Time {
	var s syscall.Stat_t
	if err := syscall.Lstat(path, &s); err != nil {
		return time.Time{}
	}
	return time.Unix(s.Ctim.Unix())
}
