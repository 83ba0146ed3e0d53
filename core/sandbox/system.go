package sandbox

import (
	"net"
	"os"
	"os/exec"
	"sync"

	"dragoman/core/child"
)

// System starts sandboxes on this machine. Any goroutine may call its methods.
type System struct {
	program *os.File // our own program; nil: it could not be opened
	failed  error    // why not

	full, files func() error // try a level, once
}

// New returns the system. It opens our own program, so that a sandbox can be started even if the
// file has been replaced; nothing is tried before the first question.
func New() *System {
	s := &System{}
	s.program, s.failed = openProgram()
	s.full = sync.OnceValue(func() error { return s.attempt(child.Full) })
	s.files = sync.OnceValue(func() error { return s.attempt(child.Files) })
	return s
}

// Level returns how far programs can be confined here, at most at a level ("": child.Full), and the
// reason if that is not child.Full. It is found by trying: what a system can do depends on its
// version, on its settings and on what we run in. The first call starts processes and blocks for
// some milliseconds.
func (s *System) Level(most child.Level) (level child.Level, why string) {
	if most == child.None {
		return child.None, "the configuration switches the sandbox off"
	}
	if s.failed != nil {
		return child.None, s.failed.Error()
	}
	why = "the configuration allows no more"
	if most != child.Files {
		err := s.full()
		if err == nil {
			return child.Full, ""
		}
		why = err.Error()
	}
	if err := s.files(); err != nil {
		return child.None, err.Error()
	}
	return child.Files, why
}

// box is the sandbox of one guard.
type box struct {
	system  *System
	level   child.Level
	profile Profile
	serve   func(net.Listener) (stop func()) // the proxy

	mu   sync.Mutex // guards the field below
	stop func()     // ends the proxy; nil: none is served
}

// Launch implements child.Sandbox.
func (b *box) Launch(socket *os.File, name string) (*os.Process, error) {
	b.end() // that of a guard before
	guard, listener, err := b.system.launch(order{Level: b.level, Profile: b.profile, Name: name}, socket)
	if err != nil || listener == nil {
		return guard, err
	}
	stop := b.serve(listener)
	b.mu.Lock()
	b.stop = stop
	b.mu.Unlock()
	return guard, nil
}

// end ends the proxy. It blocks until it has.
func (b *box) end() {
	b.mu.Lock()
	stop := b.stop
	b.stop = nil
	b.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// Program implements child.Sandbox.
func (b *box) Program(cmd *exec.Cmd) *exec.Cmd {
	return &exec.Cmd{
		Path: cmd.Path, Args: cmd.Args, Env: changed(cmd.Environ(), b.profile.Env), Dir: cmd.Dir, Err: cmd.Err,
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, WaitDelay: cmd.WaitDelay,
	}
}
