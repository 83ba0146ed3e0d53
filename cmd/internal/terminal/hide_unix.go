//go:build unix && !aix && !solaris

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// hideInput keeps a terminal from showing the typed text, until restore is called.
func hideInput(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	hidden := *was
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	if err := unix.IoctlSetTermios(fd, setTermios, &hidden); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, was) }, nil // the terminal may be gone
}
