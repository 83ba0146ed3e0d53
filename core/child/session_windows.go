package child

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// session is a job object. It ends with our handle on it, so it does not outlive us. A program at
// our console has none: what it leaves, such as a browser, lives on.
type session struct {
	job   windows.Handle
	ended bool
	here  bool        // the program is at our console
	alone *os.Process // it, then
}

// keep does nothing: the system ends a job by itself.
func (*session) keep([]*os.File) {}

func (t *session) prepare(cmd *exec.Cmd, here bool) {
	if t.here = here; here {
		return
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.HideWindow = true
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
}

// adopt puts the program into the job. What it started before that is not in it:
// Go cannot start a program suspended.
func (t *session) adopt(p *os.Process) error {
	if t.here {
		t.alone = p
		return nil
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("create a job object: %v", err)
	}
	t.job = job
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		return fmt.Errorf("set up a job object: %v", err)
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	if err != nil {
		return nil // it has ended already
	}
	defer windows.CloseHandle(h)
	if err := windows.AssignProcessToJobObject(job, h); err != nil {
		return fmt.Errorf("use a job object: %v", err)
	}
	return nil
}

func (t *session) await(reap func()) { reap() }

// alive: the job is always ended, which costs nothing when it is empty.
func (t *session) alive() bool { return !t.ended }

// terminate ends the job at once: Windows has no polite way for programs without
// a window.
func (t *session) terminate() { t.kill() }

func (t *session) kill() {
	t.ended = true
	if t.here {
		_ = t.alone.Kill() // it may have ended
		return
	}
	_ = windows.TerminateJobObject(t.job, 1)
}

// leave: a job is known by a handle, which cannot come to mean another.
func (t *session) leave() {}

func (t *session) free() {
	if t.job != 0 {
		_ = windows.CloseHandle(t.job)
	}
}

// endingOf: there are no signals here.
func endingOf(s *os.ProcessState) Ending { return Ending{Code: s.ExitCode()} }
