//go:build windows

package wire

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Stdio returns standard input and output as a connection's streams. On Windows a Close
// of a pipe ends a Read or Write that is under way by itself.
func Stdio() (io.ReadCloser, io.WriteCloser, error) { return os.Stdin, os.Stdout, nil }

// Stdin returns standard input alone, as Stdio does.
func Stdin() (io.ReadCloser, error) { return os.Stdin, nil }

// hungUp reports whether a system call failed because the other end is gone. The numbers
// are Windows' ERROR_BROKEN_PIPE and ERROR_NO_DATA, a pipe that is being closed.
func hungUp(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.Errno(109)) || errors.Is(err, syscall.Errno(232))
}
