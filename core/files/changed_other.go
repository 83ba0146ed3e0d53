//go:build !linux && !darwin

package files

import (
	"io/fs"
	"time"
)

// Changed returns when a file was changed last.
func Changed(info fs.FileInfo) time.Time { return info.ModTime() }
