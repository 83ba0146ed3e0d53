package child

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// stdio holds a program's three streams, and copies those that are not files.
type stdio struct {
	files  [3]*os.File // the program's; nil: the null device
	theirs []*os.File  // those of them that are ours to close once it has them
	ours   []*os.File  // the other ends
	copies []func()
	wg     sync.WaitGroup // the copies that run
}

// openStdio opens the streams of cmd. An error leaves nothing open.
func openStdio(cmd *exec.Cmd) (*stdio, error) {
	s := &stdio{}
	if err := s.open(cmd); err != nil {
		closeAll(s.theirs)
		closeAll(s.ours)
		return nil, err
	}
	return s, nil
}

func (s *stdio) open(cmd *exec.Cmd) error {
	switch in := cmd.Stdin.(type) {
	case nil:
	case *os.File:
		s.files[0] = in
	default:
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		s.files[0], s.theirs, s.ours = r, append(s.theirs, r), append(s.ours, w)
		s.copies = append(s.copies, func() {
			_, _ = io.Copy(w, in) // a program need not read its input
			w.Close()
		})
	}
	for i, to := range []io.Writer{cmd.Stdout, cmd.Stderr} {
		switch out := to.(type) {
		case nil:
		case *os.File:
			s.files[1+i] = out
		default:
			if i == 1 && same(to, cmd.Stdout) {
				s.files[2] = s.files[1]
				continue
			}
			r, w, err := os.Pipe()
			if err != nil {
				return err
			}
			s.files[1+i], s.theirs, s.ours = w, append(s.theirs, w), append(s.ours, r)
			s.copies = append(s.copies, func() {
				_, _ = io.Copy(out, r) // a writer that fails wants no more
				r.Close()              // a program that continues to print gets an error
			})
		}
	}
	return nil
}

// same reports whether two writers are one; types that cannot be compared are not.
func same(a, b io.Writer) bool {
	defer func() { _ = recover() }()
	return a == b
}

// started is called when the program has its ends.
func (s *stdio) started() {
	closeAll(s.theirs)
	for _, c := range s.copies {
		s.wg.Go(c)
	}
}

// failed is called when there is no program.
func (s *stdio) failed() {
	closeAll(s.theirs)
	closeAll(s.ours)
}

// finish waits until everything is copied. A process that has left the group may keep an
// end open for ever, so finish gives up after delay, unless that is 0.
func (s *stdio) finish(delay time.Duration) {
	if delay > 0 {
		late := time.AfterFunc(delay, func() { closeAll(s.ours) })
		defer late.Stop()
	}
	s.wg.Wait()
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
