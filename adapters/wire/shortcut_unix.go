//go:build unix

package wire

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// shortcut writes to a stream without waiting, and so without the writer's goroutine.
type shortcut struct {
	conn syscall.RawConn
	try  func(fd uintptr) bool // writes b, and sets n; made once
	b    []byte
	n    int

	unreadBy uint // the request for what is not read; 0: unknown
}

// shortcutTo returns the shortcut to a pipe, socket or terminal that does not block; nil: out is
// none.
func shortcutTo(out io.Writer) *shortcut {
	if s, ok := out.(*std); ok {
		out = s.File
	}
	f, ok := out.(*os.File)
	if !ok {
		return nil
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	s, blocks := &shortcut{conn: conn}, true
	if conn.Control(func(fd uintptr) { blocks, s.unreadBy = waits(fd), unreadRequest(fd) }) != nil || blocks {
		return nil
	}
	s.try = func(fd uintptr) bool {
		s.n, _ = syscall.Write(int(fd), s.b)
		return true
	}
	return s
}

// waits reports whether a write to the descriptor may wait.
func waits(fd uintptr) bool {
	var st syscall.Stat_t
	if syscall.Fstat(int(fd), &st) != nil || st.Mode&syscall.S_IFMT == syscall.S_IFREG {
		return true
	}
	flags, err := unix.FcntlInt(fd, syscall.F_GETFL, 0)
	return err != nil || flags&syscall.O_NONBLOCK == 0
}

// unread returns how many bytes the peer has not read of what was written, or somewhat more than that
// but for 0; ok is false if that cannot be seen.
func (s *shortcut) unread() (n int, ok bool) {
	if s.unreadBy == 0 {
		return 0, false
	}
	err := s.conn.Control(func(fd uintptr) {
		got, err := unread(fd, s.unreadBy)
		n, ok = got, err == nil
	})
	return n, ok && err == nil
}

// write writes as many bytes as the stream accepts without waiting, and returns their number. Errors
// are left to the next Write. Only one goroutine may call it at a time.
func (s *shortcut) write(b []byte) int {
	s.b, s.n = b, 0
	_ = s.conn.Write(s.try) // an error means that it was closed
	s.b = nil
	return max(s.n, 0)
}
