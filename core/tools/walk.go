package tools

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"dragoman/core"
	"dragoman/core/files"
)

// entry is a file or folder that a walk visits.
type entry struct {
	rel   string // from the start of the walk, with slashes
	name  string
	kind  fs.FileMode   // the type bits
	depth int           // 1: in the folder where the walk starts
	in    *files.Folder // its folder, open during the visit
}

// walk visits the contents of a folder and of all folders below it, folder by folder
// in the order of names. It does not follow symbolic links, and leaves out entries
// that are ignored or must not be read.
type walk struct {
	dir    *files.Folder // where it starts
	real   string        // its path
	top    string        // from the folder where ignore rules start, with slashes; "": dir itself
	rules  *ignores      // that apply in dir
	closed bool          // some folders could not be read
	bar    func(real string) bool
	barred int  // number of entries left out
	keys   int  // number of entries where programs keep keys
	among  bool // it started among keys, and visits them
	most   int  // maximum number of entries of one folder; 0: all

	// pick says, in any goroutine, whether an entry is visited, and whether its folder is entered;
	// nil: both hold for all.
	pick  func(e *entry) (visit, into bool)
	ahead *ahead // nil: nothing is read before the walk comes to it
}

// walkFrom prepares a walk through a place that must be a folder. The ignore files of
// the folders above it, up to its root, apply as well, unless they ignore the place
// itself: a caller who names it wants to see it. close ends the walk.
func (s *toolset) walkFrom(p files.Place) (w *walk, close func(), err error) {
	bar, err := s.bar()
	if err != nil {
		return nil, nil, err
	}
	h, err := p.Reach()
	if err != nil {
		return nil, nil, p.Explain(err)
	}
	defer h.Close()
	if info, err := h.Stat(); err == nil && !info.IsDir() {
		return nil, nil, p.Explain(errFile)
	}
	dir, err := h.Folder()
	if err != nil {
		return nil, nil, p.Explain(err)
	}
	w = &walk{
		dir: dir, real: p.Real, among: files.KeepsKeys(p.Real),
		bar: bar,
	}
	if p.Root != nil {
		if top, err := p.Root.Folder(); err == nil {
			rel, _ := files.Within(p.Root.Real, p.Real)
			w.above(top, filepath.ToSlash(rel))
			top.Close()
		}
	}
	w.rules = w.rules.within(w.dir, w.top)
	return w, dir.Close, nil
}

// above reads the ignore files from the root down to the folder before dir.
func (w *walk) above(top *files.Folder, rel string) {
	var rules *ignores
	if info, err := top.Under(".git/info"); err == nil {
		rules = rules.add(info, "", "exclude")
		info.Close()
	}
	if rel == "." {
		w.rules = rules
		return
	}
	names := strings.Split(rel, "/")
	for i := range names {
		above, at := path.Join(names[:i]...), path.Join(names[:i+1]...)
		if dir, err := top.Under(cmp.Or(above, ".")); err == nil {
			rules = rules.with(dir, above)
			dir.Close()
		}
		if rules.match(at, true) {
			return // no rules from above; paths are relative to here
		}
	}
	w.rules, w.top = rules, rel
}

// within adds the ignore file of the folder dir, whose rules are relative to at.
func (ig *ignores) within(dir *files.Folder, at string) *ignores {
	own := (*ignores)(nil).with(dir, "")
	if own == nil {
		return ig
	}
	return &ignores{above: ig, base: at, rules: own.rules}
}

// each calls visit for every entry, a folder before its contents; visit returns
// whether to descend into a folder, and whether to continue at all.
func (w *walk) each(ctx context.Context, visit func(entry) (into, on bool)) error {
	top := &folder{rel: ".", depth: 1, rules: w.rules, dir: w.dir.Hold(), read: make(chan struct{})}
	defer top.release()
	if w.ahead != nil {
		defer w.ahead.start(w)()
	}
	_, err := w.enter(ctx, top, visit)
	return err
}

// enter visits the contents of a folder.
func (w *walk) enter(ctx context.Context, f *folder, visit func(entry) (into, on bool)) (on bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if f.take() {
		w.fill(f)
		w.ahead.add(f)
	} else {
		<-f.read
		w.ahead.gone()
	}
	if f.err != nil {
		if f.rel == "." {
			return false, files.Cause(f.err)
		}
		w.closed = true
		return true, nil
	}
	for i := range f.list {
		it := &f.list[i]
		into, on := true, true
		switch {
		case it.left == leftKeys:
			w.keys++
		case it.left == leftBarred:
			w.barred++
		case it.visit:
			into, on = visit(it.entry)
		}
		if on && into && it.sub != nil {
			on, err = w.enter(ctx, it.sub, visit)
		}
		if !on || err != nil {
			return false, err
		}
	}
	f.release()
	return true, nil
}

// folder is a folder of a walk, which is read when the walk comes to it, or ahead of that.
type folder struct {
	rel   string
	depth int           // of its contents
	rules *ignores      // from above
	in    *files.Folder // its folder, open until the walk has left it
	name  string

	taken atomic.Bool   // somebody reads it
	read  chan struct{} // closed when another goroutine has set the fields below
	dir   *files.Folder // set from the beginning for the folder where a walk starts
	list  []item
	err   error
}

// item is an entry of a folder, and what a walk does with it.
type item struct {
	entry

	left  left
	visit bool
	sub   *folder // it, if it is a folder to descend into
}

// left is the reason why an entry is left out; 0: it is not.
type left int

const (
	leftIgnored left = iota + 1
	leftKeys
	leftBarred
)

// take reports whether the caller is the first one, who reads the folder.
func (f *folder) take() bool { return f.taken.CompareAndSwap(false, true) }

// release closes the folder and those below it.
func (f *folder) release() {
	if f.dir != nil {
		f.dir.Close()
	}
	for _, it := range f.list {
		if it.sub != nil {
			it.sub.release()
		}
	}
	f.dir, f.list = nil, nil
}

// fill reads a folder.
func (w *walk) fill(f *folder) {
	if f.dir == nil {
		if f.dir, f.err = f.in.Folder(f.name); f.err != nil {
			return
		}
	}
	list, err := f.dir.Read(w.most)
	if err != nil {
		f.err = err
		return
	}
	rules := w.rulesOf(f.dir, f.rel, list, f.rules)
	f.list = make([]item, 0, len(list))
	paths := w.paths(f.rel)
	for _, d := range list {
		real, rel := paths.of(d.Name)
		it := item{entry: entry{rel: rel, name: d.Name, kind: d.Kind, depth: f.depth, in: f.dir}, visit: true}
		into := d.Kind.IsDir()
		if it.left = w.hides(&it.entry, real, paths.last, rules); it.left == 0 && w.pick != nil {
			var enters bool
			it.visit, enters = w.pick(&it.entry)
			into = into && enters
		}
		switch {
		case it.left == leftIgnored:
			continue
		case it.left != 0:
		case into:
			it.sub = &folder{rel: rel, depth: f.depth + 1, rules: rules, in: f.dir, name: d.Name, read: make(chan struct{})}
		case !it.visit:
			continue
		}
		f.list = append(f.list, it)
	}
}

// paths makes the paths of entries of one folder.
type paths struct {
	real, rel string // what comes before a name
	from      int    // where the relative path begins in the other one; 0: it is another text
	last      string // the folder's own name
}

func (w *walk) paths(rel string) paths {
	at := filepath.Join(w.real, filepath.FromSlash(rel))
	p := paths{real: strings.TrimSuffix(at, string(filepath.Separator)) + string(filepath.Separator), last: filepath.Base(at)}
	if rel != "." {
		p.rel = rel + "/"
	}
	if filepath.Separator == '/' {
		p.from = len(p.real) - len(p.rel)
	}
	return p
}

// of returns the path of a name, and its path from the start of the walk.
func (p *paths) of(name string) (real, rel string) {
	real = p.real + name
	if p.from > 0 {
		return real, real[p.from:]
	}
	return real, p.rel + name
}

// hides returns the reason why an entry is left out. Any goroutine may call it.
func (w *walk) hides(e *entry, real, folder string, rules *ignores) left {
	switch {
	case vcs(e.name) || rules != nil && rules.match(path.Join(w.top, e.rel), e.kind.IsDir()):
		return leftIgnored
	case !w.among && files.KeepsKeysIn(folder, e.name):
		return leftKeys
	case w.bar(real):
		return leftBarred
	}
	return 0
}

// missed describes what the walk left out, except for ignored files.
func (w *walk) missed() string {
	return joined(note(w.closed, "some folders could not be read"), barredNote(w.barred), keysNote(w.keys))
}

// barredNote returns a note on the number of entries left out because they must not be read.
func barredNote(n int) string {
	return note(n > 0, fmt.Sprintf("%d left out that rules forbid to read", n))
}

// bar returns a function that reports whether the session must not read a real path.
func (s *toolset) bar() (func(real string) bool, error) {
	forbids, err := s.forbids()
	return func(real string) bool { return forbids(core.Access{Op: core.OpRead, Path: real}) }, err
}

// forbids returns a function that reports whether a rule forbids the session an
// access.
func (s *toolset) forbids() (func(core.Access) bool, error) {
	if s.opts.Forbids == nil {
		return func(core.Access) bool { return false }, nil
	}
	return s.opts.Forbids(s.host)
}

// rulesOf adds the rules of a folder's own ignore file to those from above it.
func (w *walk) rulesOf(dir *files.Folder, rel string, list []files.Entry, rules *ignores) *ignores {
	if rel != "." && slices.ContainsFunc(list, func(e files.Entry) bool { return e.Name == ".gitignore" }) {
		return rules.with(dir, path.Join(w.top, rel))
	}
	return rules
}
