package jsonl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dragoman/core"
)

// Spill implements core.Spills.
func (j *journal) Spill(name string) (io.WriteCloser, string, error) {
	err := core.CheckSpill(name)
	if err == nil {
		err = j.files.disk.makeDir(j.files.spill())
	}
	if err == nil {
		err = checkDir(j.files.spill())
	}
	var f *file
	if err == nil {
		f, err = j.files.disk.open(filepath.Join(j.files.spill(), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	}
	if err != nil {
		return nil, "", spillError(core.SpillRef+name, err)
	}
	return f, core.SpillRef + name, nil
}

// Spilled implements core.Spills. Before there were references, models were given the
// path of the file; such paths in a log can be read as well.
func (j *journal) Spilled(ref string) (fs.File, error) {
	path, err := j.spillPath(ref)
	if err == nil {
		err = checkDir(j.files.spill())
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(path)
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	var f *os.File
	if err == nil {
		f, err = openFile(path, os.O_RDONLY)
	}
	if err != nil {
		return nil, spillError(ref, err)
	}
	return f, nil
}

// Unspill implements core.Spills.
func (j *journal) Unspill(ref string) error {
	path, err := j.spillPath(ref)
	if err == nil {
		err = j.files.disk.remove(path)
	}
	if err != nil {
		return spillError(ref, err)
	}
	return nil
}

// spillPath returns the file of a reference, or of a path from an earlier version.
func (j *journal) spillPath(ref string) (string, error) {
	name, ok := strings.CutPrefix(ref, core.SpillRef)
	if !ok {
		var dir string
		if dir, name = filepath.Split(ref); filepath.Clean(dir) != j.files.spill() {
			return "", fs.ErrNotExist
		}
	}
	return filepath.Join(j.files.spill(), name), core.CheckSpill(name)
}

// spillError returns an error with the reference, but without a path of the data
// folder.
func spillError(ref string, err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%.100q: %w", ref, err)
}

// SpillNames lists the names of a session's cut output, in their order; core.ErrNotFound: there is no
// such session.
func (s *Store) SpillNames(p core.Principal, id core.SessionID) (names []string, err error) {
	f, err := s.repairable(p, id)
	var found []fs.DirEntry
	if err == nil {
		found, err = os.ReadDir(f.spill())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the cut output of session %q: %w", id, err)
	}
	for _, entry := range found {
		if core.CheckSpill(entry.Name()) == nil && entry.Type().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}
