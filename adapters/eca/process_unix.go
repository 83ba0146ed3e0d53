//go:build unix

package eca

import (
	"errors"
	"syscall"
)

// alive says whether a process of that number is there.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
