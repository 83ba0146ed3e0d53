package doctor

import "golang.org/x/sys/windows"

// freeSpace returns the bytes that the user can still write to a folder's file system.
func freeSpace(dir string) (uint64, bool) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, false
	}
	return free, true
}
