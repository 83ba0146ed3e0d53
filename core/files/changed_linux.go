package files

import (
	"io/fs"
	"syscall"
	"time"
)

// Changed returns when a file was changed last. A program can put back the time of its content
// (cp -p, tar), but not that of its entry.
func Changed(info fs.FileInfo) time.Time {
	at := info.ModTime()
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		if entry := time.Unix(s.Ctim.Unix()); entry.After(at) {
			return entry
		}
	}
	return at
}
