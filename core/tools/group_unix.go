//go:build unix

package tools

import (
	"os"
	"os/exec"
	"syscall"
)

// group is the processes of one command. The program leads a session and a
// process group of its own, so it has no terminal either.
type group struct {
	id    int
	env   []string
	guard guard
}

// newGroup prepares cmd, which has all but that already. Once started, it waits
// for adopt. close must follow.
func newGroup(cmd *exec.Cmd, _ []string) *group {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithParent(cmd.SysProcAttr)
	g := &group{env: cmd.Env}
	g.guard.hold(cmd)
	return g
}

// adopt is told the program once it runs, and has the group guarded.
func (g *group) adopt(p *os.Process) error {
	g.id = p.Pid
	g.guard.start(g.id, g.env)
	return nil
}

// leave is called when the group has been ended and before the program is waited
// for: from then on its number may come to mean another group.
func (g *group) leave() { g.guard.dismiss() }

func (g *group) close() { g.guard.close() }

// terminate asks all processes to end.
func (g *group) terminate() { g.signal(syscall.SIGTERM) }

// kill ends them. It is repeated while a process starts others faster.
func (g *group) kill() {
	for range 10 {
		g.signal(syscall.SIGKILL)
		if !g.alive() {
			return
		}
	}
}

// signalOf names the signal that ended a process; "": none did.
func signalOf(s *os.ProcessState) string {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
