//go:build !linux && !darwin && !windows

package doctor

// freeSpace is not known here.
func freeSpace(string) (uint64, bool) { return 0, false }
