package terminal

import "golang.org/x/sys/unix"

// The system's requests to get and set a terminal's mode.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)
