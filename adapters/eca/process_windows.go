package eca

import "syscall"

const (
	queryLimited = 0x1000 // PROCESS_QUERY_LIMITED_INFORMATION
	stillActive  = 259
)

// alive says whether a process of that number is there.
func alive(pid int) bool {
	h, err := syscall.OpenProcess(queryLimited, false, uint32(pid))
	if err != nil {
		return err == syscall.ERROR_ACCESS_DENIED //nolint:errorlint // a bare errno
	}
	defer syscall.CloseHandle(h) //nolint:errcheck // nothing was changed through it
	var code uint32
	return syscall.GetExitCodeProcess(h, &code) == nil && code == stillActive
}
