package sandbox

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"

	"dragoman/core/child"
)

// System starts sandboxes on this machine. Any goroutine may call its methods.
type System struct {
	program *os.File // our own program; nil: it could not be opened
	failed  error    // why not

	full, wrapped, files trial // wrapped is full, through bubblewrap

	bubblewraps []string                   // where it may be
	through     atomic.Pointer[bubblewrap] // makes the namespaces of level full; nil: we do
}

// trial is whether a level can be had, once somebody has tried.
type trial struct {
	turn  chan struct{} // taken by who tries, or looks
	tried bool
	err   error
}

func newTrial() trial { return trial{turn: make(chan struct{}, 1)} }

// result returns what a trial has shown, and tries if there was none.
func (t *trial) result(try func() error) error {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	if !t.tried {
		t.tried, t.err = true, try()
	}
	return t.err
}

// New returns the system. It opens our own program, so that a sandbox can be started even if the
// file has been replaced; nothing is tried before the first question.
func New() *System {
	s := &System{full: newTrial(), wrapped: newTrial(), files: newTrial(), bubblewraps: bubblewraps}
	s.program, s.failed = openProgram()
	return s
}

// Level returns how far programs can be confined here, at most at a level ("": child.Full), and the
// reason if that is not child.Full. It is found by trying: what a system can do depends on its
// version, on its settings and on what we run in. The first call starts processes and blocks for
// some milliseconds.
func (s *System) Level(most child.Level) (level child.Level, why string) {
	return s.level(most, func() error { return s.attempt(child.Full, nil) })
}

// Through returns the program that makes the sandboxes of level full in our place; "": none does, or
// nothing was tried yet.
func (s *System) Through() string {
	if b := s.through.Load(); b != nil {
		return b.Program
	}
	return ""
}

// level is Level with another way to try child.Full, such as a sandbox that is needed anyway.
func (s *System) level(most child.Level, full func() error) (level child.Level, why string) {
	if most == child.None {
		return child.None, "the configuration switches the sandbox off"
	}
	if s.failed != nil {
		return child.None, s.failed.Error()
	}
	why = "the configuration allows no more"
	if most != child.Files {
		err := s.full.result(full)
		if err == nil {
			return child.Full, ""
		}
		why = err.Error()
		switch other := s.wrapped.result(s.tryBubblewrap); {
		case other == nil:
			return child.Full, ""
		case !errors.Is(other, errNoBubblewrap):
			why += "; " + other.Error()
		}
	}
	if err := s.files.result(func() error { return s.attempt(child.Files, nil) }); err != nil {
		return child.None, err.Error()
	}
	return child.Files, why
}

// box is the sandbox of one guard.
type box struct {
	system  *System
	level   child.Level
	profile Profile
	through *bubblewrap                      // as in an order
	serve   func(net.Listener) (stop func()) // the proxy

	mu   sync.Mutex // guards the field below
	stop func()     // ends the proxy; nil: none is served
}

// box returns a sandbox of a level.
func (s *System) box(level child.Level, p Profile, serve func(net.Listener) (stop func())) *box {
	b := &box{system: s, level: level, profile: p, serve: serve}
	if level == child.Full {
		b.through = s.through.Load()
	}
	return b
}

// Launch implements child.Sandbox.
func (b *box) Launch(socket *os.File, name string) (*os.Process, error) {
	b.end() // that of a guard before
	guard, listener, err := b.system.launch(order{Level: b.level, Profile: b.profile, Name: name, Bubblewrap: b.through}, socket)
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
