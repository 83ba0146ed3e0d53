//go:build unix && !linux

package tools

import "syscall"

// dieWithParent: there is nothing like it outside of Linux.
func dieWithParent(*syscall.SysProcAttr) {}

// alive reports whether a process of the group lives. A group of ended processes
// alone answers with an error here.
func (g *group) alive() bool { return syscall.Kill(-g.id, 0) == nil }

func (g *group) signal(sig syscall.Signal) { _ = syscall.Kill(-g.id, sig) }
