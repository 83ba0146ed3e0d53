//go:build !linux

package sandbox

import (
	"os"
	"time"
)

// changeTime returns when a file's content was last changed.
func changeTime(info os.FileInfo) time.Time { return info.ModTime() }

// allocated returns how much of the disk a file takes at most, in bytes.
func allocated(info os.FileInfo) int64 { return info.Size() }

// identify tells nothing apart: there are no mounts here.
func identify(string) identity { return identity{} }

// changedAt returns changeTime of what is at a path; the zero time: nothing is there.
func changedAt(path string) time.Time {
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}
	}
	return changeTime(info)
}
