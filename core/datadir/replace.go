package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes data to the file at path, as a whole or not at all, only for this
// user; a file that root replaces keeps its owner. It creates the folder if there is
// none. When it returns, a loss of power does not undo it.
func Replace(path string, data []byte) error { return ReplaceBy(path, content(data)) }

// ReplaceBy is Replace of a file whose content write writes, piece by piece. The file stays as it was if
// write returns an error; write may read again what it has written.
func ReplaceBy(path string, write func(*os.File) error) error { return aside(path, write, os.Rename) }

// Create is like Replace, but only for a new file: if the file exists, even if another
// process has just made it, the error is fs.ErrExist and the file stays.
func Create(path string, data []byte) error { return CreateBy(path, content(data)) }

// CreateBy is Create of a file whose content write writes, as that of ReplaceBy.
func CreateBy(path string, write func(*os.File) error) error {
	return aside(path, write, func(made, path string) error {
		err := os.Link(made, path)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		// A file system without links: of two processes at the same time the second
		// one wins.
		if _, err := os.Lstat(path); err == nil {
			return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
		}
		return os.Rename(made, path)
	})
}

func content(data []byte) func(*os.File) error {
	return func(f *os.File) error {
		_, err := f.Write(data)
		return err
	}
}

// aside writes a temporary file in the folder of path and calls put to give it that
// name.
func aside(path string, write func(*os.File) error, put func(made, path string) error) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.Remove(f.Name()); err != nil && !errors.Is(gone, fs.ErrNotExist) { // put may have renamed it
			err = errors.Join(err, gone)
		}
	}()
	keepOwner(f, path)
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := put(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}
