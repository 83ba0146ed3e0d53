//go:build unix && !linux && !aix && !solaris

package terminal

import "golang.org/x/sys/unix"

// The system's requests to get and set a terminal's mode.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
