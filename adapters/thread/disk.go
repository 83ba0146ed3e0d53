package thread

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/core"
)

// disk is the folders of a thread. Each is opened once, when it is first needed, and
// held until the thread is left: who replaces it by a link later does not move the
// workspace.
type disk struct {
	mu   sync.Mutex // guards the fields below
	left bool
	open map[string]folder // by path as in Meta.Roots
}

// folder is a workspace folder that is held open.
type folder struct {
	real string // its path, links resolved
	dir  *os.Root
}

// folder opens a folder of the thread's, unless it is open.
func (d *disk) folder(given string) (folder, error) {
	d.mu.Lock()
	have, ok := d.open[given]
	d.mu.Unlock()
	if ok {
		return have, nil
	}
	real := resolved(given)
	dir, err := os.OpenRoot(real)
	if err != nil {
		return folder{}, fmt.Errorf("open the folder %s: %w", given, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if have, ok := d.open[given]; ok || d.left {
		dir.Close()
		if !ok {
			return folder{}, core.ErrClientGone
		}
		return have, nil
	}
	if d.open == nil {
		d.open = map[string]folder{}
	}
	d.open[given] = folder{real, dir}
	return d.open[given], nil
}

// close gives the folders back; what is asked of them then fails.
func (d *disk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.open {
		f.dir.Close()
	}
	d.left, d.open = true, nil
}

// place is a path of a thread's workspace that policy lets be read: the folder that
// it is in, held open, and its name there. Whoever has one closes it.
type place struct {
	path string // absolute, links resolved: what policy was asked about
	dir  *os.Root
	base string // one name, or "." for the folder itself
	own  bool   // dir is ours to close
}

func (p place) close() {
	if p.own {
		p.dir.Close()
	}
}

// place finds what a path means. It must lie within a folder of the thread, links
// resolved, and policy must allow to read it without asking, for nobody can be
// asked here. From the folder down to it no link is followed: there was none when
// policy was asked, so one that is there now was put there since.
func (t *thread) place(ctx context.Context, name string) (place, error) {
	meta := t.att.Session().Meta()
	if name == "" || strings.ContainsRune(name, 0) {
		return place{}, jrpc2.Errorf(jrpc2.InvalidParams, "path: expected the path of a file")
	}
	abs := filepath.FromSlash(name)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(meta.Cwd, abs)
	}
	abs = resolved(filepath.Clean(abs))
	var lacking error // a folder that cannot be opened
	for _, root := range meta.Roots {
		f, err := t.disk.folder(root)
		if err != nil {
			lacking = err
			continue
		}
		rel, err := filepath.Rel(f.real, abs)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		may, err := t.reader(ctx)
		if err == nil {
			err = may(abs)
		}
		if err != nil {
			return place{}, err
		}
		p := place{path: abs, dir: f.dir}
		if err := p.walk(rel); err != nil {
			p.close()
			return place{}, err
		}
		return p, nil
	}
	if lacking != nil {
		return place{}, lacking
	}
	return place{}, jrpc2.Errorf(jrpc2.InvalidParams, "path: %.200q is outside of the thread's folder", name)
}

// resolved follows links as far as a path exists.
func resolved(abs string) string {
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	if dir := filepath.Dir(abs); dir != abs {
		return filepath.Join(resolved(dir), filepath.Base(abs))
	}
	return abs
}

// reader asks policy: its answer is nil for what may be read.
func (t *thread) reader(ctx context.Context) (func(abs string) error, error) {
	meta, settings := t.att.Session().Meta(), t.att.State().Settings
	prof, err := t.srv.opts.Gateway.Profile(ctx, meta.Roots)
	if err != nil {
		return nil, err
	}
	if prof.Policy == nil {
		return nil, errors.New("no policy is configured")
	}
	return func(abs string) error {
		v := prof.Policy.Decide(core.Check{
			Call:   core.Call{Server: core.Native, Tool: "read_file", Kind: core.KindRead, Args: argsOf(abs)},
			Spec:   core.Spec{Server: core.Native, Name: "read_file", Kind: core.KindRead, ReadOnly: true},
			Access: []core.Access{{Op: core.OpRead, Path: abs}}, Meta: meta, Settings: settings,
		})
		switch v.Effect {
		case core.Allow:
			return nil
		case core.Deny, core.MustAsk:
		}
		return jrpc2.Errorf(jrpc2.InvalidParams, "path: %.200s may not be read: %s", abs, v.Why)
	}, nil
}

func argsOf(abs string) []byte { return append(wire.AppendString([]byte(`{"path":`), abs), '}') }

var errSwapped = errors.New("it was replaced while it was asked for")

// walk goes down to the folder of rel, name by name.
func (p *place) walk(rel string) error {
	names := strings.Split(rel, string(filepath.Separator))
	last := len(names) - 1
	for _, name := range names[:last] {
		next, err := down(p.dir, name)
		if err != nil {
			return err
		}
		p.close()
		p.dir, p.own = next, true
	}
	p.base = names[last]
	return nil
}

// down opens a folder of dir by its name; a link is refused.
func down(dir *os.Root, name string) (*os.Root, error) {
	want, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !want.IsDir() {
		return nil, fmt.Errorf("%s is not a folder: %w", name, fs.ErrNotExist)
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

// folder opens the place as a folder.
func (p place) folder() (*os.Root, error) {
	if p.base == "." {
		return p.dir.OpenRoot(".")
	}
	return down(p.dir, p.base)
}

// stat looks at the place, following no link.
func (p place) stat() (fs.FileInfo, error) {
	info, err := p.dir.Lstat(p.base)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, errSwapped
	}
	return info, err
}

// open opens the file, which must be a regular one. What is swapped for a pipe
// meanwhile is opened without waiting, and refused.
func (p place) open() (*os.File, fs.FileInfo, error) {
	want, err := p.stat()
	if err != nil {
		return nil, nil, err
	}
	if !want.Mode().IsRegular() {
		return nil, nil, errors.New("it is not a regular file")
	}
	flag := os.O_RDONLY
	if runtime.GOOS != "windows" { // there opening never waits, and unknown flags are refused
		flag |= syscall.O_NONBLOCK
	}
	f, err := p.dir.OpenFile(p.base, flag, 0)
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
