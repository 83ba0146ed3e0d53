//go:build unix

package child

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// killTime is how long a killed process is waited for. One that the system cannot
// end, because its disk does not answer, would hold us for ever.
const killTime = time.Second

// tree is a session and the process group that leads it, with their guard.
type tree struct {
	id    int            // of both, and the program's
	gone  bool           // nobody of it lived when somebody looked; so nobody ever will
	seen  map[int]string // who lived then, and when each began; where the system tells
	guard guard
}

// prepare prepares a program. Once started, it waits for adopt.
func (t *tree) prepare(cmd *exec.Cmd) { t.prepareBy(cmd, findShell()) }

func (t *tree) prepareBy(cmd *exec.Cmd, sh string) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	t.guard.sh = sh
	t.guard.hold(cmd)
}

// adopt is told the program once it runs, and has it guarded.
func (t *tree) adopt(p *os.Process) error {
	t.id, t.seen = p.Pid, map[int]string{}
	t.guard.start(t.id)
	return nil
}

// signal sends a signal to all that live, and reports whether there were any.
func (t *tree) signal(sig syscall.Signal) bool {
	if !t.gone && !t.send(sig) {
		t.gone = true
	}
	return !t.gone
}

func (t *tree) alive() bool { return t.signal(0) } // which nobody hears

func (t *tree) terminate() { t.signal(syscall.SIGTERM) }

// kill repeats itself: a process may start others faster, and what was killed needs
// a moment to be gone.
func (t *tree) kill() {
	for end := time.Now().Add(killTime); t.signal(syscall.SIGKILL) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// leave is called before the program is waited for: from then on its number may
// come to mean another group.
func (t *tree) leave() { t.guard.dismiss() }

func (t *tree) free() { t.guard.close() }

// SignalOf names the signal that ended a process; "": none did.
func SignalOf(s *os.ProcessState) string {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
