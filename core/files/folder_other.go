//go:build !linux

package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// opened is an open folder.
type opened struct{ root *os.Root }

// folderOf makes root, which is the Folder's to close, a Folder.
func folderOf(root *os.Root) (*Folder, error) { return &Folder{opened: opened{root}}, nil }

func (f *opened) close() { f.root.Close() }

func (f *opened) folder(name string) (*Folder, error) {
	dir, err := down(f.root, name)
	if err != nil {
		return nil, err
	}
	return folderOf(dir)
}

func (f *opened) read(most int) ([]Entry, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(most)
	list := make([]Entry, len(entries))
	for i, e := range entries {
		list[i] = Entry{e.Name(), e.Type()}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return list, err
}

func (f *opened) regular(name string) (*os.File, fs.FileInfo, error) {
	return Handle{dir: f.root, base: name}.Regular()
}

func (f *opened) source(name string) (file io.ReadCloser, size int64, linked bool, err error) {
	r, info, err := f.regular(name)
	if err != nil {
		return nil, 0, false, err
	}
	return r, info.Size(), ManyNames(info), nil
}

func (f *opened) lstat(name string) (fs.FileInfo, error) { return f.root.Lstat(name) }

// Stat looks at what rel, with slashes, leads to below the folder of a place or a root. Links are
// followed unless they lead out of it.
func (f *opened) Stat(rel string) (fs.FileInfo, error) { return f.root.Stat(filepath.FromSlash(rel)) }

func (f *opened) stamp(rel string) Stamp {
	info, err := f.root.Lstat(filepath.FromSlash(rel))
	if err != nil {
		return Stamp{}
	}
	return Stamp{size: info.Size(), changed: info.ModTime().UnixNano()}
}

// Readlink returns the target of a link in the folder.
func (f *opened) Readlink(name string) (string, error) { return f.root.Readlink(name) }
