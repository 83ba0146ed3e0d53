//go:build unix

package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Stdio returns standard input and output as a connection's streams. A Close of either
// ends a Read or Write under way, for which both are made non-blocking; on a terminal,
// which others share, Close undoes that.
//
// They are duplicates of descriptors 0 and 1, which stay open: a file opened later
// cannot take their numbers, and a write to a closed standard output fails with EPIPE
// without a signal. The peer sees the end of our output when the process ends.
func Stdio() (io.ReadCloser, io.WriteCloser, error) {
	in, err := openStd(os.Stdin, syscall.Stdin)
	if err != nil {
		return nil, nil, err
	}
	out, err := openStd(os.Stdout, syscall.Stdout)
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, out, nil
}

// Stdin returns standard input alone, as Stdio does.
func Stdin() (io.ReadCloser, error) { return openStd(os.Stdin, syscall.Stdin) }

// std is a duplicate of a standard stream.
type std struct {
	*os.File
	restore bool
	fd      int // the original
}

func openStd(f *os.File, fd int) (*std, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Name(), err)
	}
	syscall.ForkLock.RLock()
	dup, err := syscall.Dup(fd)
	if err == nil {
		syscall.CloseOnExec(dup)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Name(), err)
	}
	if err := syscall.SetNonblock(dup, true); err != nil {
		syscall.Close(dup)
		return nil, fmt.Errorf("open %s: %w", f.Name(), err)
	}
	return &std{os.NewFile(uintptr(dup), f.Name()), info.Mode()&os.ModeCharDevice != 0, fd}, nil
}

func (s *std) Close() error {
	err := s.File.Close()
	if s.restore {
		syscall.SetNonblock(s.fd, false) // a terminal that is gone needs no care
	}
	return err
}

// hungUp reports whether a system call failed because the other end is gone; a terminal returns
// EIO.
func hungUp(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EIO)
}
