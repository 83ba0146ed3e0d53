package install

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// inUse reports whether a process runs a program of a folder.
func inUse(dir string, _ time.Time) bool {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(processes) == 0 {
		return true // it is not known
	}
	for _, p := range processes {
		if exe, err := os.Readlink(p + "/exe"); err == nil && strings.HasPrefix(exe, dir+"/") {
			return true
		}
		if line, err := os.ReadFile(p + "/cmdline"); err == nil && bytes.Contains(line, []byte(dir+"/")) {
			return true
		}
	}
	return false
}
