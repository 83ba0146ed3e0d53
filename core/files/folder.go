package files

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Folder is an open folder whose entries are visited one by one. Names are opened one at a
// time, and one that has become a link is refused. Any goroutine may use it.
type Folder struct {
	opened // by the system: folder_linux.go, folder_other.go

	holds atomic.Int32 // who still needs it, without the first one
}

// Entry is a name in a folder, and its type.
type Entry struct {
	Name string
	Kind fs.FileMode // the type bits
}

// Hold keeps the folder open until one more Close.
func (f *Folder) Hold() *Folder {
	f.holds.Add(1)
	return f
}

// Close gives the folder back; the last of those who hold it closes it.
func (f *Folder) Close() {
	if f.holds.Add(-1) < 0 {
		f.close()
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
		return folderOf(dir)
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
	return folderOf(dir)
}

// Folder opens a folder in it, which the caller closes.
func (f *Folder) Folder(name string) (*Folder, error) {
	if !single(name) {
		return nil, errName
	}
	return f.folder(name)
}

// errName says that something was asked for by more than a name.
var errName = errors.New("it is not a name in the folder")

// single reports whether a name leads to something in the folder itself.
func single(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00") &&
		!strings.ContainsRune(name, os.PathSeparator)
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

// Read lists what is in the folder, in the order of names. It reads at most most of them; 0
// means all. With an error it returns what was read before it.
func (f *Folder) Read(most int) ([]Entry, error) {
	list, err := f.read(most)
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return list, err
}

// Regular opens a file in the folder for reading, which the caller closes. Everything but
// a regular file is refused before it is opened, and again after.
func (f *Folder) Regular(name string) (*os.File, fs.FileInfo, error) {
	if !single(name) {
		return nil, nil, errName
	}
	return f.regular(name)
}

// Lstat looks at a name in the folder, not following a link.
func (f *Folder) Lstat(name string) (fs.FileInfo, error) {
	if !single(name) {
		return nil, errName
	}
	return f.lstat(name)
}

// Stamp identifies the state of a file or a folder: while it stays the same, no name was added to the
// folder, and none taken away. It is zero for what does not exist.
type Stamp struct {
	id      [2]uint64 // device and number, where they are known
	size    int64
	changed int64 // nanoseconds since 1970
}

// coarse is the resolution of the times of the coarsest file systems.
const coarse = 2 * time.Second

// Settled reports whether a later change is sure to change the stamp, too. A stamp taken soon after a
// change may be that of the next one as well.
func (s Stamp) Settled(taken time.Time) bool { return s.changed < taken.Add(-coarse).UnixNano() }

// Stamp returns the stamp of what is at rel, with slashes, below the folder. Nothing is opened. It
// serves to compare: folders on the way may have become links.
func (f *Folder) Stamp(rel string) Stamp { return f.stamp(rel) }

// Text is a text file as Folder.Text reads it.
type Text struct {
	Data   []byte
	Large  bool // it is larger than what was asked for, and was not read
	Linked bool // it has other names
}

// Text reads a file in the folder, like Regular, into buf, which grows where the file does not fit.
// What is not text counts as empty, and so does a file of more than most bytes.
func (f *Folder) Text(name string, most int64, buf *[]byte) (t Text, err error) {
	if !single(name) {
		return t, errName
	}
	file, size, linked, err := f.source(name)
	if err != nil {
		return t, err
	}
	defer file.Close()
	t.Linked = linked
	if t.Large = size > most; t.Large {
		return t, nil
	}
	if int64(cap(*buf)) < size {
		*buf = make([]byte, size+size/2)
	}
	data := (*buf)[:cap(*buf)]
	n, err := io.ReadFull(file, data[:min(size, firstRead)])
	if err == nil && !Binary(data[:n]) && int64(n) < size {
		var more int
		more, err = io.ReadFull(file, data[n:size])
		n += more
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // it has become shorter
		err = nil
	}
	if err == nil && !Binary(data[:n]) {
		t.Data = data[:n]
	}
	return t, err
}

// firstRead is the number of bytes of a file that are read before it is known to be text.
const firstRead = 64 << 10
