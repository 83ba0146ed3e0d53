//go:build unix

package child

import (
	"errors"
	"syscall"
)

// Alive reports whether there is a process of that number, ours or not.
func Alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
