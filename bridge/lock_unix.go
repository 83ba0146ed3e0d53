//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package bridge

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file for this open file alone; false: somebody else has it.
func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, unix.EINTR):
			continue
		}
		return false, err
	}
}
