package files

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"dragoman/core"
	"dragoman/core/display"
)

// Host says whose workspace it is. A core.ToolHost is one.
type Host interface {
	Meta() core.Meta
	// Editor may know texts that are not saved; nil: there is none.
	Editor(string) core.Editor
	// Spills keeps output that was cut; nil: nothing does.
	Spills() core.Spills
	// Texts is what the session knows about the texts of files; nil: nothing.
	Texts() *core.Texts
}

// Workspace is the folders of one session. Nothing is opened before it is needed.
// It may be used by any goroutine.
type Workspace struct {
	host Host

	mu    sync.Mutex // guards the fields below
	shut  bool
	known map[string]*Root // by path as in Meta.Roots
	temp  *Root            // the folder that the session's commands see under another path; nil: none
	// versions are the editor's numbers of the texts that were read last, by real path.
	versions map[string]uint64
}

// New returns the workspace of a host. It does nothing else. Only Close may
// be called where h is nil.
func New(h Host) *Workspace {
	return &Workspace{host: h, known: map[string]*Root{}, versions: map[string]uint64{}}
}

// Close gives the handles of the roots back. Calls that still run fail.
func (w *Workspace) Close() error {
	w.mu.Lock()
	known, temp := w.known, w.temp
	w.shut, w.known, w.temp = true, map[string]*Root{}, nil
	w.mu.Unlock()
	var errs []error
	for _, r := range known {
		errs = append(errs, r.release(true))
	}
	if temp != nil {
		errs = append(errs, temp.release(true))
	}
	return errors.Join(errs...)
}

// Rest gives the handles of the roots back until a call needs them again.
func (w *Workspace) Rest() {
	w.mu.Lock()
	known := slices.Collect(maps.Values(w.known))
	if w.temp != nil {
		known = append(known, w.temp)
	}
	w.mu.Unlock()
	for _, r := range known {
		_ = r.release(false) // it was only read through
	}
}

// Mount makes a folder known under the path at which the session's commands see it, such as their
// own /tmp. What lies in it counts as inside of the workspace. A workspace root that lies below that
// path goes on meaning itself. Editors do not know the folder, and are not asked.
func (w *Workspace) Mount(at, folder string) {
	real, err := Real(filepath.Clean(folder))
	if err != nil {
		return // there is nothing in it that could be read
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.temp == nil || w.temp.Given != at || w.temp.Real != real {
		w.temp = &Root{Given: at, Real: real}
	}
}

// mounted returns the mount, and the path in its folder that an absolute path means; nil: it means none.
func (w *Workspace) mounted(path string) (*Root, string) {
	w.mu.Lock()
	temp := w.temp
	w.mu.Unlock()
	if temp == nil {
		return nil, ""
	}
	rel, ok := Within(temp.Given, path)
	if !ok || slices.ContainsFunc(w.Roots(), func(r *Root) bool {
		_, given := Within(r.Given, path)
		_, real := Within(r.Real, path)
		return given || real
	}) {
		return nil, ""
	}
	return temp, filepath.Join(temp.Real, rel)
}

// Root is one workspace root. Its real path is settled when it is first seen to
// exist: who replaces the folder by a link to another one later does not move the
// workspace.
type Root struct {
	Given string // as in Meta.Roots
	Real  string // with symbolic links resolved
	Wide  bool   // it is the user's home folder, or holds it

	mu   sync.Mutex // guards the fields below
	shut bool
	dir  *os.Root // nil until a call needs it
}

// Roots returns the workspace's roots. One that is no absolute path grants nothing.
func (w *Workspace) Roots() []*Root {
	meta := w.host.Meta()
	given := meta.Roots
	if len(given) == 0 {
		given = []string{meta.Cwd}
	}
	list := make([]*Root, 0, len(given))
	for _, g := range given {
		if !filepath.IsAbs(g) {
			continue
		}
		g = filepath.Clean(g)
		w.mu.Lock()
		r := w.known[g]
		w.mu.Unlock()
		if r == nil {
			r = w.settle(g)
		}
		if r != nil {
			list = append(list, r)
		}
	}
	return list
}

// settle finds a root's real path, and keeps it once the folder exists.
func (w *Workspace) settle(given string) *Root {
	real, err := Real(given)
	if err != nil {
		return nil
	}
	r := &Root{Given: given, Real: real, Wide: wide(real)}
	info, err := os.Lstat(real)
	exists := err == nil && info.IsDir()
	w.mu.Lock()
	defer w.mu.Unlock()
	if first := w.known[given]; first != nil {
		return first
	}
	if r.shut = w.shut; exists && !w.shut {
		w.known[given] = r
	}
	return r
}

// wide reports whether a folder is the user's home folder or contains it. Nearly all of the
// user's files are in such a folder.
func wide(real string) bool {
	if real == filepath.Dir(real) {
		return true
	}
	home, err := os.UserHomeDir()
	if err == nil && filepath.IsAbs(home) {
		home, err = Real(filepath.Clean(home))
	}
	if err != nil {
		return false
	}
	_, holds := Within(real, home)
	return holds
}

// Open returns the handle of the root. It stays open until the workspace rests or is
// closed, or the folder was replaced by another one.
func (r *Root) Open() (*os.Root, error) {
	info, err := os.Lstat(r.Real)
	if err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the workspace folder %s does not exist", display.Visible(r.Given))
	}
	r.mu.Lock()
	dir := r.dir
	r.mu.Unlock()
	if dir != nil {
		if now, err := dir.Stat("."); err == nil && os.SameFile(now, info) {
			return dir, nil
		}
	}
	fresh, err := openReal(r.Real)
	if err != nil {
		return nil, fmt.Errorf("open the workspace folder %s: %w", display.Visible(r.Given), Cause(err))
	}
	dir, spare, err := r.keep(fresh, dir)
	if spare != nil {
		spare.Close()
	}
	return dir, err
}

// keep makes fresh the root's handle, in place of old, unless another call was
// quicker. spare is the handle that is no longer needed.
func (r *Root) keep(fresh, old *os.Root) (dir, spare *os.Root, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.shut:
		return nil, fresh, core.ErrClosed
	case r.dir != nil && r.dir != old:
		return r.dir, fresh, nil
	}
	r.dir = fresh
	return fresh, old, nil
}

// release closes the handle, for good if shut is set.
func (r *Root) release(shut bool) error {
	r.mu.Lock()
	dir := r.dir
	r.dir, r.shut = nil, r.shut || shut
	r.mu.Unlock()
	if dir == nil {
		return nil
	}
	return dir.Close()
}

// openReal opens the folder at a path without symbolic links, and sees to it
// that it is that folder: a link put there meanwhile leads elsewhere.
func openReal(real string) (*os.Root, error) {
	dir, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	got, err := dir.Stat(".")
	if err == nil {
		var now string
		var want fs.FileInfo
		if now, err = Real(real); err == nil {
			want, err = os.Lstat(real)
		}
		if err == nil && (now != real || !os.SameFile(got, want)) {
			err = errSwapped
		}
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

var errSwapped = errors.New("it was replaced while the call ran: refused")
