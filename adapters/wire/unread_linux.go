package wire

import "golang.org/x/sys/unix"

// unreadRequest returns the ioctl that counts what the reader of a pipe or of a local socket has not
// read; 0: there is none. For a socket it counts the memory of that, too.
func unreadRequest(fd uintptr) uint {
	var st unix.Stat_t
	if unix.Fstat(int(fd), &st) != nil {
		return 0
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return unix.TIOCINQ
	case unix.S_IFSOCK:
		if domain, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil && domain == unix.AF_UNIX {
			return unix.TIOCOUTQ
		}
	}
	return 0
}

func unread(fd uintptr, request uint) (int, error) { return unix.IoctlGetInt(int(fd), request) }
