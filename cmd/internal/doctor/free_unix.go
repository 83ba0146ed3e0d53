//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// freeSpace returns the bytes that the user can still write to a folder's file system.
func freeSpace(dir string) (uint64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}
