package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// errNotRegular is the reason why a pipe, a device or a folder is not read: opening a pipe could block for ever.
var errNotRegular = errors.New("it is not a regular file")

// Read reads a regular file of at most limit bytes. info describes the file before that, so that a later
// change shows; nil: it could not be looked at. Errors are of type *fs.PathError.
func Read(path string, limit int64) (data []byte, info fs.FileInfo, err error) {
	info, err = os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	refused := func(why error) ([]byte, fs.FileInfo, error) {
		return nil, info, &fs.PathError{Op: "read", Path: path, Err: why}
	}
	if !info.Mode().IsRegular() {
		return refused(errNotRegular)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, info, err
	}
	defer f.Close() //nolint:errcheck // the file was only read
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return refused(fmt.Errorf("it is larger than %d KiB", limit>>10))
	}
	return data, info, err
}
