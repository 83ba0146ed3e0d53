//go:build unix

package tools

import (
	"errors"
	"syscall"
)

// nonblock keeps an open from waiting for the other end of a pipe.
const nonblock = syscall.O_NONBLOCK

// checkNames refuses names that the system would read as something else.
func checkNames(string) error { return nil }

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
