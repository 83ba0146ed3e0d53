package datadir

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
)

// defaultMax limits a Document, in bytes, if Max does not.
const defaultMax = 16 << 20

// Document is a value in a file, shared by all processes. The fields must not change
// after the first call; methods may be called by any number of goroutines.
type Document[T any] struct {
	// Path is the file. A missing file has the zero value.
	Path string
	// Lock is the file that is locked while the document is changed; "": Path with
	// ".lock" appended. It stays.
	Lock string
	// Max limits the file, in bytes; 0: defaultMax.
	Max int64
	// Private refuses a file that others can read, on systems where its mode says so.
	Private bool
	// Decode reads the file's content; nil: it is JSON.
	Decode func([]byte) (T, error)
	// Encode returns the file's content; nil: it is JSON, indented by one blank.
	Encode func(T) ([]byte, error)

	mu   sync.Mutex // guards the fields below
	read *version   // nil: nothing was read yet
	held T
	err  error // why the file cannot be used
}

// version is the state of a file when it was read. A replaced file is a different one,
// even if its size and time are the same. info is nil if the file was missing.
type version struct{ info fs.FileInfo } // nil: missing

func (v *version) same(info fs.FileInfo) bool {
	if v == nil || v.info == nil || info == nil {
		return v != nil && v.info == nil && info == nil
	}
	return os.SameFile(v.info, info) && v.info.ModTime().Equal(info.ModTime()) && v.info.Size() == info.Size() &&
		v.info.Mode() == info.Mode()
}

// Read returns the value. It checks the file at each call, and reads it if it has
// changed. The value must not be changed. With an error it is the zero value.
func (d *Document[T]) Read() (T, error) {
	info, err := os.Stat(d.Path)
	if err != nil {
		info = nil
	}
	if err == nil || absent(err) {
		d.mu.Lock()
		if d.read.same(info) {
			defer d.mu.Unlock()
			return d.held, d.err
		}
		d.mu.Unlock()
	}
	v, info, err := d.load()
	d.keep(v, info, err)
	return v, err
}

func (d *Document[T]) keep(v T, info fs.FileInfo, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read, d.held, d.err = &version{info}, v, err
}

// absent reports whether an error means that there is no file. If a folder in the path
// is not a folder, the error comes when a file is created in it.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// load reads the file. Changes that come later than its info are read the next time.
func (d *Document[T]) load() (v T, info fs.FileInfo, err error) {
	data, info, err := Read(d.Path, cmp.Or(d.Max, defaultMax))
	switch {
	case absent(err):
		return v, nil, nil
	case err != nil:
		return v, info, err
	case d.Private && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return v, info, fmt.Errorf("%s can be read by others (%v)", d.Path, info.Mode().Perm())
	}
	if v, err = d.decode(data); err != nil {
		var zero T
		v = zero
	}
	return v, info, err
}

func (d *Document[T]) decode(data []byte) (v T, err error) {
	if d.Decode != nil {
		return d.Decode(data)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("%s: %w", d.Path, err)
	}
	return v, nil
}

func (d *Document[T]) encode(v T) ([]byte, error) {
	if d.Encode != nil {
		return d.Encode(v)
	}
	return json.MarshalIndent(v, "", " ")
}

// ErrUnchanged is for the function that Change calls: the value stays as it is.
var ErrUnchanged = errors.New("unchanged")

// Change replaces the value by the result of change. Other processes, and other
// goroutines of this one, that change it wait meanwhile, until ctx ends; readers do
// not. change gets the current value of the file, which it must not modify; its error
// is returned, unless it is ErrUnchanged, and the file stays. A file that cannot be
// read is not changed.
func (d *Document[T]) Change(ctx context.Context, change func(T) (T, error)) error {
	lock := d.Lock
	if lock == "" {
		lock = d.Path + ".lock"
	}
	if err := os.MkdirAll(filepath.Dir(lock), 0o700); err != nil {
		return err
	}
	held, err := WaitLock(ctx, lock)
	if err != nil {
		return err
	}
	err = d.changeLocked(change)
	return errors.Join(err, held.Unlock())
}

func (d *Document[T]) changeLocked(change func(T) (T, error)) error {
	now, _, err := d.load()
	if err != nil {
		return err
	}
	next, err := change(now)
	if errors.Is(err, ErrUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	content, err := d.encode(next)
	if err != nil {
		return err
	}
	if err := Replace(d.Path, content); err != nil {
		return err
	}
	if info, err := os.Stat(d.Path); err == nil { // else it is read the next time
		d.keep(next, info, nil)
	}
	return nil
}
