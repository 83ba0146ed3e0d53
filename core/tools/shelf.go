package tools

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// shelf is a folder, held open, and the name in it that a call is about.
type shelf struct {
	dir  *os.Root
	base string // one name, or "." for the folder itself
	own  bool   // dir is ours to close
}

func (h shelf) close() {
	if h.own {
		h.dir.Close()
	}
}

// reach opens the way to a place for one call; who calls it has made sure that a
// place outside was approved, or that this is only for what the approver sees.
// With create, missing folders on the way are created. Its errors do not name the
// place: see explain.
func (p place) reach(create bool) (shelf, error) {
	var h shelf
	var rel string
	var err error
	if p.root != nil {
		if h.dir, err = p.root.open(); err != nil {
			return shelf{}, err
		}
		rel, _ = within(p.root.real, p.real)
	} else {
		top := filepath.Dir(p.real)
		for {
			h.dir, err = openReal(top)
			if err == nil || !create || !missing(err) || top == filepath.Dir(top) {
				break
			}
			top = filepath.Dir(top)
		}
		if err != nil {
			return shelf{}, cause(err)
		}
		h.own = true
		rel, _ = within(top, p.real)
	}
	if err := h.walk(rel, create); err != nil {
		h.close()
		return shelf{}, cause(err)
	}
	return h, nil
}

// walk goes down to the folder of rel, name by name. It follows no symbolic
// link: rel had none when it was resolved, so one that is there now was put there
// since.
func (h *shelf) walk(rel string, create bool) error {
	names := strings.Split(rel, string(filepath.Separator))
	for _, name := range names[:len(names)-1] {
		next, err := down(h.dir, name)
		if create && errors.Is(err, fs.ErrNotExist) {
			if err := h.dir.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			next, err = down(h.dir, name)
		}
		if err != nil {
			return err
		}
		h.close()
		h.dir, h.own = next, true
	}
	h.base = names[len(names)-1]
	return nil
}

// down opens a folder of dir by its name; links are refused.
func down(dir *os.Root, name string) (*os.Root, error) {
	want, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if want.Mode()&fs.ModeSymlink != 0 {
		return nil, errSwapped
	}
	if !want.IsDir() {
		return nil, errors.New("a name on the way is not a folder")
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if got, err := next.Stat("."); err != nil || !os.SameFile(got, want) {
		next.Close()
		return nil, errSwapped
	}
	return next, nil
}

// stat looks at what the shelf is about, not following a link.
func (h shelf) stat() (fs.FileInfo, error) {
	info, err := h.dir.Lstat(h.base)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, errSwapped
	}
	return info, err
}

// folder opens the shelf's place as a folder. Its handle is to be closed.
func (h shelf) folder() (*os.Root, error) {
	if h.base == "." {
		return h.dir.OpenRoot(".")
	}
	return down(h.dir, h.base)
}

// regular opens the shelf's file for reading. Everything but a regular file is
// refused before it is opened, and again after.
func (h shelf) regular() (*os.File, fs.FileInfo, error) {
	want, err := h.stat()
	if err != nil {
		return nil, nil, err
	}
	if err := wantRegular(want); err != nil {
		return nil, nil, err
	}
	f, err := h.dir.OpenFile(h.base, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	got, err := f.Stat()
	if err == nil && !os.SameFile(got, want) {
		err = errSwapped
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, got, nil
}

// errFolder says that a file was wanted.
var errFolder = errors.New("it is a folder, not a file: use directory_tree")

func wantRegular(info fs.FileInfo) error {
	switch m := info.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		return errFolder
	case m&fs.ModeNamedPipe != 0:
		return errors.New("it is a named pipe, not a file: refused")
	case m&fs.ModeSocket != 0:
		return errors.New("it is a socket, not a file: refused")
	case m&fs.ModeDevice != 0:
		return errors.New("it is a device, not a file: refused")
	}
	return errors.New("it is not an ordinary file: refused")
}
