//go:build unix && !linux

package wire

import "errors"

// unreadRequest returns 0: these systems do not count what the reader of a pipe has not read.
func unreadRequest(uintptr) uint { return 0 }

func unread(uintptr, uint) (int, error) { return 0, errors.ErrUnsupported }
