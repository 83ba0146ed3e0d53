package child

import "syscall"

const (
	queryLimited = 0x1000 // PROCESS_QUERY_LIMITED_INFORMATION
	stillActive  = 259
)

// Alive reports whether there is a process of that number, ours or not. One that cannot be
// looked at is one.
func Alive(pid int) bool {
	h, err := syscall.OpenProcess(queryLimited, false, uint32(pid))
	if err != nil {
		return err == syscall.ERROR_ACCESS_DENIED //nolint:errorlint // a bare errno
	}
	defer syscall.CloseHandle(h) //nolint:errcheck // nothing was changed through it
	var code uint32
	return syscall.GetExitCodeProcess(h, &code) != nil || code == stillActive
}
