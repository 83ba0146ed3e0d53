package sandbox

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"dragoman/core/child"
)

// openProgram opens this same program, whatever is at its path by now.
func openProgram() (*os.File, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("open our own program: %w", err)
	}
	return f, nil
}

// attempt starts an empty sandbox of a level and ends it.
func (s *System) attempt(level child.Level, through *bubblewrap) error {
	o := order{Level: level, Name: attemptName, Bubblewrap: through}
	if through != nil && through.Layers {
		store, err := os.MkdirTemp("", "dragoman-layer-")
		if err != nil {
			return err
		}
		defer func() { _ = removeAll(store) }()
		if err := makeStore(store); err != nil {
			return err
		}
		o.Profile.Layers = []Layer{{At: "/run/layer", Lower: "/etc", Store: store}}
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "our end"), os.NewFile(uintptr(pair[1]), "guard's end")
	p, _, err := s.launch(o, theirs)
	theirs.Close()
	ours.Close()
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// attemptName is the name of a guard without programs. The process ends at once, because nobody
// holds the other end of its socket.
const attemptName = "dragoman-guard"

// launch starts a launcher and waits until a guard has come out of it. listener is that of the proxy;
// nil: there is none.
func (s *System) launch(o order, socket *os.File) (guard *os.Process, listener net.Listener, err error) {
	text, err := memory(o)
	if err != nil {
		return nil, nil, fmt.Errorf("write the profile: %w", err)
	}
	defer text.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(pair[0])
	theirs := os.NewFile(uintptr(pair[1]), "reports")
	cmd := &exec.Cmd{
		Path: programPath, Args: []string{outerName}, Env: []string{}, Dir: "/",
		Stdin: socket, ExtraFiles: []*os.File{text, s.program, theirs}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	var errs, theirErrs *os.File // of bubblewrap
	if o.Bubblewrap != nil {
		r, w, err := os.Pipe()
		if err != nil {
			theirs.Close()
			return nil, nil, err
		}
		defer r.Close()
		cmd.Stderr, errs, theirErrs = w, r, w
	}
	err = cmd.Start()
	theirs.Close()
	theirErrs.Close() //nolint:errcheck // nil closes nothing
	if err != nil {
		return nil, nil, err
	}
	said, files, err := reports(pair[0])
	if err != nil {
		_ = cmd.Process.Kill()
	}
	pid, filled, failed := parseReport(said)
	if err == nil {
		err = failed
	}
	if o.Bubblewrap != nil && (err != nil || !filled) {
		_ = cmd.Process.Kill()
		err = bubblewrapFailed(err, complaints(errs))
	}
	guard = cmd.Process
	if pid != 0 {
		_ = cmd.Wait() // it has done its work
		guard, _ = os.FindProcess(pid)
	}
	if err == nil && o.Profile.Proxy {
		listener, err = listenerOf(files)
	}
	for _, fd := range files {
		_ = unix.Close(fd)
	}
	if err != nil {
		_ = guard.Kill()
		_, _ = guard.Wait()
		return nil, nil, err
	}
	return guard, listener, nil
}

// complaints returns what a launcher that was killed has written to its standard error.
func complaints(r *os.File) string {
	_ = r.SetReadDeadline(time.Now().Add(time.Second)) // something of it may still hold the other end
	text, _ := io.ReadAll(io.LimitReader(r, 4<<10))
	return string(text)
}

// listenerOf returns the listener that a launcher has passed.
func listenerOf(files []int) (net.Listener, error) {
	if len(files) != 1 {
		return nil, fmt.Errorf("the launcher has passed %d listeners for the proxy", len(files))
	}
	fd, err := unix.FcntlInt(uintptr(files[0]), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "proxy")
	defer f.Close()
	return net.FileListener(f)
}

// memory returns a file, without a name, with an order in it.
func memory(o order) (*os.File, error) {
	text, err := o.encode()
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("profile", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "profile")
	if _, err := f.Write(text); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
