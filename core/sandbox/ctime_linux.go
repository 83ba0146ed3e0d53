package sandbox

import (
	"os"
	"syscall"
	"time"
)

// changeTime returns when a file's content or mode was last changed.
func changeTime(info os.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return info.ModTime()
}
