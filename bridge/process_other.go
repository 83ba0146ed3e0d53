//go:build unix && !linux

package bridge

import (
	"os/exec"
	"syscall"
)

// await returns when the program has ended. A call that leaves it to be waited for
// later is not to be had everywhere.
func (g *group) await(cmd *exec.Cmd) { _ = cmd.Wait() }

// alive reports whether a process of the group lives.
func (g *group) alive() bool { return syscall.Kill(-g.id, 0) == nil }

func (g *group) signal(sig syscall.Signal) { _ = syscall.Kill(-g.id, sig) }
