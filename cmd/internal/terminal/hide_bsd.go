//go:build unix && !linux && !aix && !solaris

package terminal

import "golang.org/x/sys/unix"

// How the system asks for, and sets, what a terminal does.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
