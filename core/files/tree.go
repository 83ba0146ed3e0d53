package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Tree is a folder, held open, for those who only read: inside of it symbolic links are
// followed, and none that leads out of it. Names have slashes. Errors do not name the
// path; what leads nowhere is fs.ErrNotExist.
type Tree struct{ dir *os.Root }

// ErrLeaves says that a link leads out of a Tree.
var ErrLeaves = errors.New("a symbolic link leads out of the folder that may be read")

// OpenTree opens a folder. Links on the way to it are followed. The caller closes it.
func OpenTree(dir string) (*Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, inTree(err)
	}
	return &Tree{root}, nil
}

// Close gives the folder back.
func (t *Tree) Close() error { return t.dir.Close() }

// Stat returns the info of the file that a name leads to.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	info, err := t.dir.Stat(filepath.FromSlash(name))
	return info, inTree(err)
}

// Regular opens the regular file that Stat has seen, for reading; the caller closes it.
// Another one, which somebody put there meanwhile, is refused.
func (t *Tree) Regular(name string, seen fs.FileInfo) (*os.File, error) {
	f, _, err := openSeen(t.dir, filepath.FromSlash(name), seen)
	if errors.Is(err, ErrNotRegular) {
		err = ErrNotRegular
	}
	return f, inTree(err)
}

// Folder opens a folder to list its names; the caller closes it. It never waits, whatever
// is there.
func (t *Tree) Folder(name string) (*os.File, error) {
	f, err := t.dir.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, inTree(err)
	}
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		f.Close()
		return nil, errors.New("it is not a folder")
	}
	return f, nil
}

// inTree words an error of a Tree.
func inTree(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "path escapes from parent"): // os has no name for it
		return ErrLeaves
	case isNotDir(err):
		return fs.ErrNotExist
	}
	return Cause(err)
}
