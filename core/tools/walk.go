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
	bar    func(rel string) bool
	barred int  // number of entries left out
	keys   int  // number of entries where programs keep keys
	among  bool // it started among keys, and visits them
	most   int  // maximum number of entries of one folder; 0: all
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
		bar: func(rel string) bool { return bar(filepath.Join(p.Real, filepath.FromSlash(rel))) },
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
	_, err := w.list(ctx, w.dir, ".", 1, w.rules, visit)
	return err
}

// list visits the contents of the folder dir, whose path is rel.
func (w *walk) list(
	ctx context.Context, dir *files.Folder, rel string, depth int, rules *ignores, visit func(entry) (into, on bool),
) (on bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	list, err := dir.Read(w.most)
	if err != nil {
		if rel == "." {
			return false, files.Cause(err)
		}
		w.closed = true
		return true, nil
	}
	rules = w.rulesOf(dir, rel, list, rules)
	for _, d := range list {
		e := entry{rel: path.Join(rel, d.Name()), name: d.Name(), kind: d.Type(), depth: depth, in: dir}
		if !w.shows(e, rules) {
			continue
		}
		into, on := visit(e)
		if on && into && d.IsDir() {
			on, err = w.descend(ctx, e, rules, visit)
		}
		if !on || err != nil {
			return false, err
		}
	}
	return true, nil
}

// descend visits the contents of a folder.
func (w *walk) descend(
	ctx context.Context,
	e entry,
	rules *ignores,
	visit func(entry) (into, on bool),
) (on bool, err error) {
	dir, err := e.in.Folder(e.name)
	if err != nil {
		w.closed = true
		return true, nil
	}
	defer dir.Close()
	return w.list(ctx, dir, e.rel, e.depth+1, rules, visit)
}

// shows reports whether an entry is visible.
func (w *walk) shows(e entry, rules *ignores) bool {
	if vcs(e.name) || rules.match(path.Join(w.top, e.rel), e.kind.IsDir()) {
		return false
	}
	if !w.among && files.KeepsKeys(filepath.Join(w.real, filepath.FromSlash(e.rel))) {
		w.keys++
		return false
	}
	if w.bar(e.rel) {
		w.barred++
		return false
	}
	return true
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
func (w *walk) rulesOf(dir *files.Folder, rel string, list []fs.DirEntry, rules *ignores) *ignores {
	if rel != "." && slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == ".gitignore" }) {
		return rules.with(dir, path.Join(w.top, rel))
	}
	return rules
}
