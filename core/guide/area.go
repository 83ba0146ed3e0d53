package guide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/core/display"
	"dragoman/core/files"
)

// Limits of reading. Reasonable files stay far below them, except for the size of an
// instruction file.
const (
	maxFile    = 64 << 10  // bytes of one file; the rest is cut
	maxTexts   = 256 << 10 // bytes of all instructions, and of all rules that always apply
	maxRead    = 16 << 20  // bytes that one Load reads
	maxEntries = 4000      // names in folders that one Load visits
	maxFiles   = 256       // rules, skills, commands, agents: of each kind
	maxDepth   = 8         // folders below rules and commands
	maxName    = 64        // bytes
	maxWarn    = 100
)

// area is a folder inside of which files may be read: a workspace folder, the
// repository around it, or a directory of the user.
type area struct {
	dir  string // absolute and clean
	real string // the same with symbolic links resolved
	user bool
}

func newArea(dir string, user bool) *area {
	a := &area{dir: filepath.Clean(dir), user: user}
	a.real = a.dir
	if real, err := filepath.EvalSymlinks(a.dir); err == nil {
		a.real = real
	}
	return a
}

// rel returns an absolute path relative to the area's folder, with slashes; ok reports
// whether it is inside.
func (a *area) rel(name string) (rel string, ok bool) {
	if rel, ok = files.Within(a.dir, name); !ok {
		rel, ok = files.Within(a.real, name)
	}
	return filepath.ToSlash(rel), ok
}

// place is a file or folder in an area. rel has slashes.
type place struct {
	in  *area
	rel string
}

func (p place) path() string { return filepath.Join(p.in.dir, filepath.FromSlash(p.rel)) }

// dir returns the place's folder.
func (p place) dir() string { return filepath.Dir(p.path()) }

// source returns the place in the form for the guide's readers.
func (p place) source() Source {
	s := Source{File: display.Visible(p.path()), User: p.in.user, at: p}
	if !p.in.user {
		s.Folder = p.in.dir
	}
	return s
}

// disk reads places, each through the tree of its area. It records the state of each,
// so that a change can be detected later. close closes the trees.
type disk struct {
	trees   map[*area]areaTree
	seen    []observation
	noted   map[place]int  // index in seen
	missing map[place]bool // whether folders at the top of their area are, as far as this is known
	left    int            // bytes that may still be read
	entries int            // names in folders that may still be visited
}

// areaTree is an area's open folder, or the error of opening it.
type areaTree struct {
	tree *files.Tree
	err  error
}

func newDisk() *disk {
	return &disk{
		trees: map[*area]areaTree{}, noted: map[place]int{}, missing: map[place]bool{}, left: maxRead, entries: maxEntries,
	}
}

func (d *disk) close() {
	for _, o := range d.trees {
		if o.err == nil {
			o.tree.Close() //nolint:errcheck // the tree is read-only
		}
	}
}

// tree opens an area, once.
func (d *disk) tree(a *area) (*files.Tree, error) {
	o, ok := d.trees[a]
	if !ok {
		o.tree, o.err = files.OpenTree(a.dir)
		d.trees[a] = o
	}
	return o.tree, o.err
}

// stat returns the state of a place and records it; for a folder it records only the
// type. It follows links inside of the area.
func (d *disk) stat(p place) (fs.FileInfo, error) {
	info, err := d.lookAt(p)
	if _, ok := d.noted[p]; !ok {
		d.noted[p] = len(d.seen)
		d.seen = append(d.seen, observe(p, info, false))
	}
	return info, err
}

// lookAt returns the state of a place. Most places are missing. That takes one system call to see, and
// one for all places in a missing folder. The area is opened only for what is there.
func (d *disk) lookAt(p place) (fs.FileInfo, error) {
	if p.rel == "." {
		if info, err := os.Stat(p.in.dir); err == nil && info.IsDir() {
			return info, nil
		}
	} else if d.isMissing(p) {
		return nil, fs.ErrNotExist
	}
	t, err := d.tree(p.in)
	if err != nil {
		return nil, err
	}
	return t.Stat(p.rel)
}

// isMissing reports whether nothing has the name of a place. Links do not matter: what is missing where
// they are followed out of the area is missing in it as well.
func (d *disk) isMissing(p place) bool {
	if top, _, below := strings.Cut(p.rel, "/"); below {
		folder := place{p.in, top}
		missing, known := d.missing[folder]
		if !known {
			missing = isMissing(folder.path())
			d.missing[folder] = missing
		}
		if missing {
			return true
		}
	}
	return isMissing(p.path())
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// read returns at most n bytes of a regular file, and of text whole characters; cut
// reports that there are more. A missing file is fs.ErrNotExist.
func (d *disk) read(ctx context.Context, p place, n int) (data []byte, info fs.FileInfo, cut bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, false, err
	}
	info, err = d.stat(p)
	if err != nil {
		return nil, nil, false, err
	}
	t, err := d.tree(p.in)
	if err != nil {
		return nil, nil, false, err
	}
	f, err := t.Regular(p.rel, info)
	if err != nil {
		return nil, info, false, err
	}
	defer f.Close()
	if n = min(n, d.left); n <= 0 {
		return nil, info, false, fmt.Errorf("more than %d MiB were read already", maxRead>>20)
	}
	data, err = io.ReadAll(io.LimitReader(f, int64(n)+1))
	d.left -= len(data)
	if err != nil {
		return nil, info, false, files.Cause(err)
	}
	if len(data) > n {
		return display.Cut(data, n), info, true, nil
	}
	return data, info, false, nil
}

// list returns the names in a folder, sorted, without hidden files and backup files of
// editors.
func (d *disk) list(ctx context.Context, p place) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	info, err := d.stat(p)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("it is not a folder")
	}
	d.seen[d.noted[p]] = observe(p, info, true)
	t, err := d.tree(p.in)
	if err != nil {
		return nil, err
	}
	f, err := t.Folder(p.rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for {
		some, err := f.ReadDir(256)
		for _, e := range some {
			if d.entries--; d.entries < 0 {
				return nil, fmt.Errorf("there are more than %d names in all", maxEntries)
			}
			if n := e.Name(); !strings.HasPrefix(n, ".") && !strings.HasPrefix(n, "#") && !strings.HasSuffix(n, "~") {
				names = append(names, n)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, files.Cause(err)
		}
	}
	slices.Sort(names)
	return names, nil
}

// walk visits the files below a folder whose names have one of the extensions, in an
// order that depends only on the names: a folder's files before its subfolders. A
// missing folder has none. Unreadable files are reported and left out.
func (d *disk) walk(ctx context.Context, p place, ext []string, tell func(place, error), visit func(place)) {
	d.descend(ctx, p, ext, nil, tell, visit)
}

func (d *disk) descend(
	ctx context.Context,
	p place,
	ext []string,
	above []fs.FileInfo,
	tell func(place, error),
	visit func(place),
) {
	names, err := d.list(ctx, p)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			tell(p, err)
		}
		return
	}
	here, err := d.stat(p)
	if err != nil || holds(above, here) {
		return // a link to a folder above
	}
	above = append(slices.Clip(above), here)
	var folders []place
	for _, name := range names {
		at := place{p.in, path.Join(p.rel, name)}
		info, err := d.lookAt(at)
		switch {
		case err != nil:
			if !errors.Is(err, fs.ErrNotExist) {
				tell(at, err)
			}
		case info.IsDir():
			folders = append(folders, at)
		case hasExt(name, ext):
			visit(at)
		}
	}
	for _, f := range folders {
		if len(above) > maxDepth {
			tell(f, fmt.Errorf("it is more than %d folders deep", maxDepth))
			continue
		}
		d.descend(ctx, f, ext, above, tell, visit)
	}
}

// holds reports whether seen contains a file, under any name.
func holds(seen []fs.FileInfo, info fs.FileInfo) bool {
	return slices.ContainsFunc(seen, func(i fs.FileInfo) bool { return os.SameFile(i, info) })
}

func hasExt(name string, ext []string) bool {
	return slices.Contains(ext, strings.ToLower(path.Ext(name)))
}

// observation is the observed state of a place: enough to detect that it has changed.
type observation struct {
	at   place
	list bool        // the contents of a folder count
	mode fs.FileMode // 0: nothing, or nothing that may be read
	size int64
	time time.Time
}

func observe(p place, info fs.FileInfo, list bool) observation {
	switch {
	case info == nil:
		return observation{at: p, list: list}
	case info.IsDir() && !list:
		return observation{at: p, mode: info.Mode()}
	}
	return observation{at: p, list: list, mode: info.Mode(), size: info.Size(), time: info.ModTime()}
}

func (l observation) same(m observation) bool {
	return l.mode == m.mode && l.size == m.size && l.time.Equal(m.time)
}
