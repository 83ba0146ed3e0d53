package sandbox

import (
	"os"
	"os/exec"
	"slices"
	"sync"

	"dragoman/core/child"
)

// System starts sandboxes on this machine. Any goroutine may call its methods.
type System struct {
	most    child.Level
	program *os.File // our own program; nil: it could not be opened
	failed  error    // why not

	found func() (child.Level, string) // tries the levels, once
}

// New returns a system that confines as far as it can, at most at a level. It opens our own
// program, so that a sandbox can be started even if the file has been replaced; nothing is tried
// before the first question.
func New(most child.Level) *System {
	s := &System{most: most}
	s.program, s.failed = openProgram()
	s.found = sync.OnceValues(s.try)
	return s
}

// Level returns how far programs can be confined here and, if that is not child.Full, the reason.
// The first call starts processes and blocks for some milliseconds.
func (s *System) Level() (level child.Level, why string) { return s.found() }

// try finds the level by trying: what a system promises depends on its version, its settings and on
// what we run in.
func (s *System) try() (child.Level, string) {
	if s.failed != nil {
		return child.None, s.failed.Error()
	}
	levels := []child.Level{child.Full, child.Files}
	from := slices.Index(levels, s.most)
	if from < 0 {
		return child.None, "the configuration switches the sandbox off"
	}
	why := ""
	if from > 0 {
		why = "the configuration allows no more"
	}
	for _, level := range levels[from:] {
		err := s.attempt(level)
		if err == nil {
			return level, why
		}
		if why == "" {
			why = err.Error()
		}
	}
	return child.None, why
}

// box is the sandbox of one guard.
type box struct {
	system  *System
	level   child.Level
	profile Profile
}

// Launch implements child.Sandbox.
func (b *box) Launch(socket *os.File, name string) (*os.Process, error) {
	return b.system.launch(order{Level: b.level, Profile: b.profile, Name: name}, socket)
}

// Program implements child.Sandbox.
func (b *box) Program(cmd *exec.Cmd) *exec.Cmd {
	return &exec.Cmd{
		Path: cmd.Path, Args: cmd.Args, Env: changed(cmd.Environ(), b.profile.Env), Dir: cmd.Dir, Err: cmd.Err,
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, WaitDelay: cmd.WaitDelay,
	}
}
