package integrity

import (
	"io/fs"
	"syscall"
)

// changed returns when anything of a file was changed, which no program of the user can set.
func changed(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano()
	}
	return 0
}
