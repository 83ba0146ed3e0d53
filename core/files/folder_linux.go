package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// opened is an open folder. os.Root looks at every entry that it lists, and at each name before and
// after it is opened. Here the system itself refuses links (O_NOFOLLOW), and says the types of entries.
type opened struct {
	root *os.Root // nil: it was opened in another folder
	fd   int
}

// folderOf makes root, which is the Folder's to close, a Folder.
func folderOf(root *os.Root) (*Folder, error) {
	dir, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	defer dir.Close()
	fd, err := unix.FcntlInt(dir.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		root.Close()
		return nil, err
	}
	return &Folder{opened: opened{root, fd}}, nil
}

func (f *opened) close() {
	_ = unix.Close(f.fd) // it was only read through
	if f.root != nil {
		f.root.Close()
	}
}

// open opens a name in the folder, and never waits.
func (f *opened) open(name string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Openat(f.fd, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func (f *opened) folder(name string) (*Folder, error) {
	fd, err := f.open(name, unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		err = ErrNotFolder
	}
	if err != nil {
		return nil, err
	}
	return &Folder{opened: opened{fd: fd}}, nil
}

// blocks are buffers for entries of folders.
var blocks = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

func (f *opened) read(most int) (list []Entry, err error) {
	fd, err := f.open(".", unix.O_DIRECTORY) // its own place in the list of entries
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // it was only read
	block := blocks.Get().(*[]byte)
	defer blocks.Put(block)
	for {
		n, err := unix.Getdents(fd, *block)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return list, err
		case n <= 0:
			return list, nil
		}
		list = f.entries(list, (*block)[:n])
		if most > 0 && len(list) >= most {
			return list[:most], nil
		}
	}
}

// entries adds the entries of a block, each a struct linux_dirent64.
func (f *opened) entries(list []Entry, block []byte) []Entry {
	const length, kind, name = 16, 18, 19 // where these are
	for len(block) > name {
		n := int(binary.NativeEndian.Uint16(block[length:]))
		if n <= name || n > len(block) {
			return list
		}
		text, _, _ := bytes.Cut(block[name:n], []byte{0})
		e := Entry{Name: string(text)}
		known := binary.NativeEndian.Uint64(block) != 0 && e.Name != "." && e.Name != ".."
		if known {
			e.Kind, known = f.kind(block[kind], e.Name)
		}
		if known {
			list = append(list, e)
		}
		block = block[n:]
	}
	return list
}

// kind returns the type of an entry; ok is false where it is gone. Some file systems make one look.
func (f *opened) kind(said byte, name string) (kind fs.FileMode, ok bool) {
	switch said {
	case unix.DT_REG:
		return 0, true
	case unix.DT_DIR:
		return fs.ModeDir, true
	case unix.DT_LNK:
		return fs.ModeSymlink, true
	case unix.DT_FIFO:
		return fs.ModeNamedPipe, true
	case unix.DT_SOCK:
		return fs.ModeSocket, true
	case unix.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice, true
	case unix.DT_BLK:
		return fs.ModeDevice, true
	}
	info, err := f.lstat(name)
	if err != nil {
		return fs.ModeIrregular, !errors.Is(err, fs.ErrNotExist)
	}
	return info.Mode().Type(), true
}

// regularFD opens a regular file. What is something else is not opened at all; what has become
// something else since it was looked at is.
func (f *opened) regularFD(name string) (fd int, got unix.Stat_t, err error) {
	var seen unix.Stat_t
	if err := unix.Fstatat(f.fd, name, &seen, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return 0, got, err
	}
	switch seen.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFLNK:
		return 0, got, errSwapped
	default:
		return 0, got, ErrNotRegular
	}
	if fd, err = f.open(name, unix.O_RDONLY); err != nil {
		return 0, got, err
	}
	switch err = unix.Fstat(fd, &got); {
	case err != nil:
	case got.Mode&unix.S_IFMT != unix.S_IFREG:
		err = ErrNotRegular
	case got.Dev != seen.Dev || got.Ino != seen.Ino:
		err = errSwapped
	}
	if err != nil {
		_ = unix.Close(fd)
		return 0, got, err
	}
	return fd, got, nil
}

func (f *opened) regular(name string) (*os.File, fs.FileInfo, error) {
	fd, _, err := f.regularFD(name)
	if err != nil {
		return nil, nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func (f *opened) source(name string) (file io.ReadCloser, size int64, linked bool, err error) {
	fd, got, err := f.regularFD(name)
	if err != nil {
		return nil, 0, false, err
	}
	return descriptor(fd), got.Size, got.Nlink > 1, nil
}

// descriptor is an open file.
type descriptor int

func (d descriptor) Close() error { return unix.Close(int(d)) }

func (d descriptor) Read(p []byte) (int, error) {
	for {
		switch n, err := unix.Read(int(d), p); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (f *opened) lstat(name string) (fs.FileInfo, error) {
	fd, err := f.open(name, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	return file.Stat()
}

// Stat looks at what rel, with slashes, leads to below the folder of a place or a root. Links are
// followed unless they lead out of it.
func (f *opened) Stat(rel string) (fs.FileInfo, error) {
	if f.root == nil {
		return nil, errors.ErrUnsupported
	}
	return f.root.Stat(rel)
}

func (f *opened) stamp(rel string) Stamp {
	var st unix.Stat_t
	if unix.Fstatat(f.fd, rel, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return Stamp{}
	}
	return Stamp{id: [2]uint64{uint64(st.Dev), st.Ino}, size: st.Size, changed: st.Mtim.Nano()}
}

// Readlink returns the target of a link in the folder.
func (f *opened) Readlink(name string) (string, error) {
	target := make([]byte, 4<<10)
	n, err := unix.Readlinkat(f.fd, name, target)
	if err != nil {
		return "", err
	}
	return string(target[:n]), nil
}
