//go:build unix

package child

import (
	"syscall"
	"testing"
)

func TestSignalName(t *testing.T) {
	for described, want := range map[string]string{
		syscall.SIGKILL.String(): "SIGKILL", syscall.SIGTERM.String(): "SIGTERM", syscall.SIGSEGV.String(): "SIGSEGV", "": "", "other": "other",
	} {
		if got := SignalName(described); got != want {
			t.Errorf("%q: %q, want %q", described, got, want)
		}
	}
}
