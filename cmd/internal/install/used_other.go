//go:build !linux

package install

import "time"

// inUse reports whether a process may run a program of a folder. Here nobody says so; a day after it was
// retired, none does.
func inUse(_ string, retired time.Time) bool { return time.Since(retired) < 24*time.Hour }
