package coretest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"testing/fstest"

	"dragoman/core"
)

// Spills is a core.Spills in memory. Its zero value is empty.
type Spills struct {
	// Err, if not nil, is the error of each Spill.
	Err error

	mu    sync.Mutex // guards the field below
	files fstest.MapFS
}

var _ core.Spills = (*Spills)(nil)

// spillWriter is a file that is being written.
type spillWriter struct {
	to   *Spills
	name string
}

func (w spillWriter) Write(b []byte) (int, error) {
	w.to.mu.Lock()
	defer w.to.mu.Unlock()
	f := w.to.files[w.name]
	if f == nil {
		return 0, fs.ErrClosed
	}
	f.Data = append(f.Data, b...)
	return len(b), nil
}

func (w spillWriter) Close() error { return nil }

// Spill implements core.Spills.
func (s *Spills) Spill(name string) (io.WriteCloser, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := core.CheckSpill(name)
	if err == nil && s.files[name] != nil {
		err = fmt.Errorf("%s: %w", name, fs.ErrExist)
	}
	if err == nil {
		err = s.Err
	}
	if err != nil {
		return nil, "", err
	}
	if s.files == nil {
		s.files = fstest.MapFS{}
	}
	s.files[name] = &fstest.MapFile{Mode: 0o600}
	return spillWriter{s, name}, core.SpillRef + name, nil
}

func nameOf(ref string) string {
	if len(ref) < len(core.SpillRef) || ref[:len(core.SpillRef)] != core.SpillRef {
		return ""
	}
	return ref[len(core.SpillRef):]
}

// Spilled implements core.Spills.
func (s *Spills) Spilled(ref string) (fs.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[nameOf(ref)]
	if err := core.CheckSpill(nameOf(ref)); err != nil || f == nil {
		return nil, fmt.Errorf("%.100q: %w", ref, fs.ErrNotExist)
	}
	return fstest.MapFS{"x": {Data: bytes.Clone(f.Data), Mode: f.Mode}}.Open("x")
}

// Unspill implements core.Spills.
func (s *Spills) Unspill(ref string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[nameOf(ref)] == nil {
		return fmt.Errorf("%.100q: %w", ref, fs.ErrNotExist)
	}
	delete(s.files, nameOf(ref))
	return nil
}

// Refs lists the references of the stored files.
func (s *Spills) Refs() (refs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		refs = append(refs, core.SpillRef+name)
	}
	return refs
}

// Text returns the content of a reference; "" if there is no such file.
func (s *Spills) Text(ref string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[nameOf(ref)]; f != nil {
		return string(f.Data)
	}
	return ""
}
