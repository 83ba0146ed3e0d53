//go:build unix && !linux

package child

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// killTime limits the wait for a killed process to be gone. One that the system cannot
// end, because its disk does not answer, would hold us for ever.
const killTime = time.Second

// session is a session and the process group that leads it, with their watch; or one program in
// our own session, which has none.
type session struct {
	id    int  // of both, and the program's
	gone  bool // a look has found no living process in it, so there will never be one
	watch watch
	here  bool        // the program is in our session
	alone *os.Process // it, then
}

// keep has the watch hold files open as long as it lives.
func (t *session) keep(files []*os.File) { t.watch.kept = files }

// prepare prepares a program. Once started, it waits for adopt, unless it is to stay in our session.
func (t *session) prepare(cmd *exec.Cmd, here bool) {
	if t.here = here; !here {
		t.prepareBy(cmd, findShell())
	}
}

func (t *session) prepareBy(cmd *exec.Cmd, sh string) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	t.watch.sh = sh
	t.watch.hold(cmd)
}

// adopt starts the watch of a program that now runs.
func (t *session) adopt(p *os.Process) error {
	if t.here {
		t.alone = p
		return nil
	}
	t.id = p.Pid
	t.watch.start(t.id)
	return nil
}

// await also reaps the program: not every system has a call that waits without reaping.
func (t *session) await(reap func()) { reap() }

// signal sends a signal to all that live, and reports whether there were any; a group
// of ended processes alone answers with an error.
func (t *session) signal(sig syscall.Signal) bool {
	switch {
	case t.gone:
	case t.here:
		t.gone = t.alone.Signal(sig) != nil
	default:
		t.gone = syscall.Kill(-t.id, sig) != nil
	}
	return !t.gone
}

func (t *session) alive() bool { return t.signal(0) } // 0 only looks: it is not delivered

func (t *session) terminate() { t.signal(syscall.SIGTERM) }

// kill repeats the signal: a process may start others faster, and a killed process needs
// a moment to be gone.
func (t *session) kill() {
	for end := time.Now().Add(killTime); t.signal(syscall.SIGKILL) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// leave is called before the program is waited for: from then on its number may
// come to mean another group.
func (t *session) leave() { t.watch.dismiss() }

func (t *session) free() { t.watch.close() }

func endingOf(s *os.ProcessState) Ending {
	if how, ok := s.Sys().(syscall.WaitStatus); ok && how.Signaled() {
		return Ending{Code: -1, Signal: how.Signal().String()}
	}
	return Ending{Code: s.ExitCode()}
}
