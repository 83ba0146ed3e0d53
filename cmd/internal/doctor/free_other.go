//go:build !linux && !darwin && !windows

package doctor

// freeSpace is not available on this system.
func freeSpace(string) (uint64, bool) { return 0, false }
