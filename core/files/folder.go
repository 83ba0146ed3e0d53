package files

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// Folder is an open folder whose entries are visited one by one. Names are opened one at a
// time, and one that has become a link is refused. Any goroutine may use it.
type Folder struct {
	dir   *os.Root
	holds atomic.Int32 // who still needs it, without the first one
}

// Hold keeps the folder open until one more Close.
func (f *Folder) Hold() *Folder {
	f.holds.Add(1)
	return f
}

// Close gives the folder back; the last of those who hold it closes it.
func (f *Folder) Close() {
	if f.holds.Add(-1) < 0 {
		f.dir.Close()
	}
}

// Folder opens the place as a folder, which the caller closes. Outside of the roots
// nothing above it needs to be readable.
func (p Place) Folder() (*Folder, error) {
	if p.Root == nil {
		dir, err := openReal(p.Real)
		if err != nil {
			return nil, err
		}
		return &Folder{dir: dir}, nil
	}
	h, err := p.Reach()
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return h.Folder()
}

// Folder opens the root as a folder, which the caller closes.
func (r *Root) Folder() (*Folder, error) {
	top, err := r.Open()
	if err != nil {
		return nil, err
	}
	dir, err := top.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	return &Folder{dir: dir}, nil
}

// Folder opens a folder in it, which the caller closes.
func (f *Folder) Folder(name string) (*Folder, error) {
	dir, err := down(f.dir, name)
	if err != nil {
		return nil, err
	}
	return &Folder{dir: dir}, nil
}

// Under opens the folder that rel, with slashes, leads to from here; the caller closes
// it. "." is the folder itself.
func (f *Folder) Under(rel string) (*Folder, error) {
	at := f.Hold()
	if rel == "." {
		return at, nil
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := at.Folder(name)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// Read lists the names in the folder, in their order. It reads at most most of them; 0
// means all. With an error it returns the names that were read before it.
func (f *Folder) Read(most int) ([]fs.DirEntry, error) {
	dir, err := f.dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	list, err := dir.ReadDir(most)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return list, err
}

// Regular opens a file in the folder for reading, which the caller closes. Everything but
// a regular file is refused before it is opened, and again after.
func (f *Folder) Regular(name string) (*os.File, fs.FileInfo, error) {
	return Handle{dir: f.dir, base: name}.Regular()
}

// Lstat looks at a name in the folder, not following a link.
func (f *Folder) Lstat(name string) (fs.FileInfo, error) { return f.dir.Lstat(name) }

// Stat looks at what rel, with slashes, leads to below the folder. Links are followed
// unless they lead out of it.
func (f *Folder) Stat(rel string) (fs.FileInfo, error) { return f.dir.Stat(filepath.FromSlash(rel)) }

// Readlink returns the target of a link in the folder.
func (f *Folder) Readlink(name string) (string, error) { return f.dir.Readlink(name) }
