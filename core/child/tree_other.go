//go:build unix && !linux

package child

import (
	"os/exec"
	"syscall"
)

// DieWithThread does nothing here: only Linux can do that.
func DieWithThread(*exec.Cmd) {}

// await waits for the program in the system's sense: a call that leaves that to
// later is not to be had everywhere.
func (t *tree) await(reap func()) { reap() }

// send sends a signal to the group; one of ended processes alone answers with an
// error.
func (t *tree) send(sig syscall.Signal) bool { return syscall.Kill(-t.id, sig) == nil }
