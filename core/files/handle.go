package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dragoman/core"
)

// Handle is a folder, held open, and the name in it that a call is about. Whoever has
// one closes it.
type Handle struct {
	dir  *os.Root
	base string // one name, or "." for the folder itself
	own  bool   // dir is ours to close

	spills core.Spills // opens base, a reference; nil: there is a dir
}

// Close gives the folder back.
func (h Handle) Close() {
	if h.own {
		h.dir.Close()
	}
}

// Reach opens the folder of a place for one call. The caller has made sure that a place
// outside was approved, or reads only for a preview of the approval. The place itself need
// not exist. Errors do not name the place: see Explain.
func (p Place) Reach() (Handle, error) { return p.reach(false) }

// reach is Reach. With create, missing folders on the way are created.
func (p Place) reach(create bool) (Handle, error) {
	var h Handle
	var rel string
	var err error
	if p.spills != nil {
		return Handle{spills: p.spills, base: p.Name}, nil
	}
	if p.Root != nil {
		if h.dir, err = p.Root.Open(); err != nil {
			return Handle{}, err
		}
		rel, _ = Within(p.Root.Real, p.Real)
	} else {
		top := filepath.Dir(p.Real)
		for {
			h.dir, err = openReal(top)
			if err == nil || !create || !Missing(err) || top == filepath.Dir(top) {
				break
			}
			top = filepath.Dir(top)
		}
		if err != nil {
			return Handle{}, Cause(err)
		}
		h.own = true
		rel, _ = Within(top, p.Real)
	}
	if err := h.walk(rel, create); err != nil {
		h.Close()
		return Handle{}, Cause(err)
	}
	return h, nil
}

// walk goes down to the folder of rel, name by name. It follows no symbolic
// link: rel had none when it was resolved, so one that is there now was put there
// since.
func (h *Handle) walk(rel string, create bool) error {
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
		h.Close()
		h.dir, h.own = next, true
	}
	h.base = names[len(names)-1]
	return nil
}

// ErrNotFolder says that a path leads through something else than folders.
var ErrNotFolder = errors.New("a name on the way is not a folder")

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
		return nil, ErrNotFolder
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

// Stat looks at the place, not following a link: one is refused.
func (h Handle) Stat() (fs.FileInfo, error) {
	if h.spills != nil {
		f, info, err := h.Source()
		if err == nil {
			err = f.Close()
		}
		return info, err
	}
	info, err := h.dir.Lstat(h.base)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, errSwapped
	}
	return info, err
}

// Folder opens the place as a folder, which the caller closes.
func (h Handle) Folder() (*Folder, error) {
	if h.spills != nil {
		return nil, fs.ErrNotExist
	}
	var dir *os.Root
	var err error
	if h.base == "." {
		dir, err = h.dir.OpenRoot(".")
	} else {
		dir, err = down(h.dir, h.base)
	}
	if err != nil {
		return nil, err
	}
	return folderOf(dir)
}

// Regular opens the place as a file for reading, which the caller closes.
func (h Handle) Regular() (*os.File, fs.FileInfo, error) {
	seen, err := h.Stat()
	if err == nil && h.spills != nil {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, nil, err
	}
	return openSeen(h.dir, h.base, seen)
}

// Source is Regular that also opens output that was cut.
func (h Handle) Source() (fs.File, fs.FileInfo, error) {
	if h.spills == nil {
		f, info, err := h.Regular()
		if err != nil {
			return nil, nil, err
		}
		return f, info, nil
	}
	f, err := h.spills.Spilled(h.base)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// openSeen opens the file that was seen in a folder. Everything but a regular file is
// refused before it is opened and again after, and so is another file; a pipe that was put
// there meanwhile is not waited for.
func openSeen(dir *os.Root, name string, seen fs.FileInfo) (*os.File, fs.FileInfo, error) {
	if err := CheckRegular(seen); err != nil {
		return nil, nil, err
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	got, err := f.Stat()
	if err == nil {
		err = CheckRegular(got) // a system may reuse the number of a removed file
	}
	if err == nil && !os.SameFile(got, seen) {
		err = errSwapped
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, got, nil
}

// ErrNotRegular is behind each error about something else than a regular file.
var ErrNotRegular = errors.New("it is not a regular file")

// irregular is ErrNotRegular in other words.
type irregular string

func (e irregular) Error() string        { return string(e) }
func (e irregular) Is(target error) bool { return target == ErrNotRegular }

// ErrFolder says that a file was wanted.
var ErrFolder error = irregular("it is a folder, not a file")

// CheckRegular returns an error unless the file is regular.
func CheckRegular(info fs.FileInfo) error {
	switch m := info.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		return ErrFolder
	case m&fs.ModeNamedPipe != 0:
		return irregular("it is a named pipe, not a file: refused")
	case m&fs.ModeSocket != 0:
		return irregular("it is a socket, not a file: refused")
	case m&fs.ModeDevice != 0:
		return irregular("it is a device, not a file: refused")
	}
	return irregular("it is not an ordinary file: refused")
}
