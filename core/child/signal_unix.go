//go:build unix

package child

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// SignalName returns the name of a signal (SIGKILL) that Ending.Signal describes (killed). A text
// that describes none is returned as it is.
func SignalName(described string) string {
	for sig := syscall.Signal(1); sig < 65; sig++ {
		if sig.String() == described && unix.SignalName(sig) != "" {
			return unix.SignalName(sig)
		}
	}
	return described
}
