package terminal

import "golang.org/x/sys/unix"

// How the system asks for, and sets, what a terminal does.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)
