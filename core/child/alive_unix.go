//go:build unix

package child

import (
	"errors"
	"syscall"
)

// Alive reports whether there is a process of that number, ours or not. One that cannot be
// looked at is one.
func Alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
