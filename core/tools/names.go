package tools

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/core/files"
	"dragoman/core/workspace"
)

// fresh is for how long names are used without a look at the folders that they are in.
const fresh = time.Second

// finder implements workspace.Finder. It keeps the names below the roots, at most 50,000 entries
// and 8 MiB. A query that comes a second after the last look compares the stamps of all folders,
// and reads those again that have changed.
type finder struct {
	f     *Files
	roots []string
	limit int           // of entries
	turn  chan struct{} // holds one value while somebody looks at the folders

	mu   sync.Mutex // guards the fields below
	at   time.Time  // when the last look began; zero: it was not completed, or there was none
	tops []*names   // one for each outermost root; they never change
}

var _ workspace.Finder = (*finder)(nil)

// Keep implements workspace.Files.
func (f *Files) Keep(roots []string) workspace.Finder { return f.keep(roots) }

func (f *Files) keep(roots []string) *finder {
	return &finder{f: f, roots: slices.Clone(roots), limit: maxLooked, turn: make(chan struct{}, 1)}
}

// Find implements workspace.Finder. It takes at most two seconds.
func (k *finder) Find(ctx context.Context, query string, most int) []workspace.FileName {
	if most = min(most, maxResults); most <= 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, findTime)
	defer stop()
	s := k.f.deskOf(k.roots)
	defer s.Close()
	if dir, name, ok := listing(s.host.Meta().Cwd, query); ok {
		p, err := s.files.At(dir)
		if err != nil {
			return nil
		}
		return s.list(p, dir, name, most)
	}
	bar, err := s.bar()
	if err != nil {
		return nil
	}
	r := ranking{query: strings.ToLower(filepath.ToSlash(query)), most: most, bar: bar}
	tops := s.outermost()
	for _, n := range k.look(ctx, s, tops) {
		if i := slices.IndexFunc(tops, n.of); i >= 0 {
			r.rank(ctx, tops[i], n)
		}
	}
	return r.best()
}

// look returns the names below the roots as they were a second ago or later, as far as the limits
// and ctx allow.
func (k *finder) look(ctx context.Context, s *toolset, roots []*files.Root) []*names {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
	}
	k.mu.Lock()
	old, at := k.tops, k.at
	k.mu.Unlock()
	now := time.Now()
	if ctx.Err() != nil || now.Sub(at) < fresh {
		return old
	}
	tops := make([]*names, 0, len(roots))
	whole, entries, bytes := true, 0, 0
	for i, top := range roots {
		n := &names{given: top.Given, real: top.Real, begun: now, rels: map[string]*listed{}}
		n.entries.most, n.bytes.most = k.limit*(i+1)/len(roots)-entries, maxNamed*(i+1)/len(roots)-bytes
		before := &names{}
		if j := slices.IndexFunc(old, func(o *names) bool { return o.of(top) }); j >= 0 {
			before = old[j]
		}
		whole = n.read(ctx, s, top, before) && whole
		entries, bytes = entries+n.entries.now, bytes+n.bytes.now
		tops = append(tops, n)
	}
	if !whole {
		now = time.Time{}
	}
	k.mu.Lock()
	k.tops, k.at = tops, now
	k.mu.Unlock()
	return tops
}

// names are the entries below a root, nearer ones first: the contents of a folder come before
// those of its subfolders. They do not change when they are read.
type names struct {
	given, real string    // of the root
	begun       time.Time // of the look at them
	folders     []*listed
	rels        map[string]*listed // folders, by their paths
	rules       *ignores           // that apply in the root
	ignored     [2]files.Stamp     // of the files that have them
	entries     count
	bytes       count
}

// count counts up to a limit.
type count struct{ now, most int }

// listed is a folder whose entries were read. It never changes.
type listed struct {
	rel     string
	depth   int // of its entries
	above   *ignores
	rules   *ignores // of its subfolders
	stamp   files.Stamp
	ignored files.Stamp // of its own ignore file
	bytes   int
	cut     bool // there was no room for all entries
	list    []keptName
}

// keptName is an entry of a folder.
type keptName struct {
	rel, lower string // its path from the root, and the same in lower case
	size       int    // of its name, in lower
	kind       fs.FileMode
}

// of reports whether the names are those below a root.
func (n *names) of(top *files.Root) bool { return n.given == top.Given && n.real == top.Real }

// read looks at all folders as far as there is room, and reads those that have changed. It reports
// whether ctx has not stopped it.
func (n *names) read(ctx context.Context, s *toolset, top *files.Root, old *names) (whole bool) {
	w, done, err := s.walkFrom(files.Place{Name: top.Given, Real: top.Real, Show: top.Given, Root: top})
	if err != nil {
		return true
	}
	defer done()
	// Rules are asked only about entries that match: below a folder that must not be
	// read nothing may be read either, so nothing is missed.
	w.most, w.bar = maxListed, func(string) bool { return false }
	n.rules = w.rules
	for i, file := range []string{".gitignore", ".git/info/exclude"} {
		n.ignored[i] = w.dir.Stamp(file)
	}
	if n.ignored == old.ignored && n.ignored[0].Settled(old.begun) && n.ignored[1].Settled(old.begun) {
		n.rules = old.rules
	}
	near := opener{top: w.dir}
	defer near.close()
	for todo := []*listed{{rel: ".", depth: 1, above: n.rules}}; len(todo) > 0; todo = todo[1:] {
		if ctx.Err() != nil {
			return false
		}
		f := todo[0]
		f.stamp = w.dir.Stamp(f.rel)
		if f = n.again(w, old, f); f == nil {
			f = todo[0]
			if f.list = near.list(w, f); f.list == nil {
				continue
			}
		}
		if !n.take(f) {
			break
		}
		for i := range f.list {
			if e := &f.list[i]; e.kind.IsDir() {
				todo = append(todo, &listed{rel: e.rel, depth: f.depth + 1, above: f.rules})
			}
		}
	}
	return true
}

// again returns a folder as it was read before; nil: it may have changed.
func (n *names) again(w *walk, old *names, f *listed) *listed {
	o := old.rels[f.rel]
	if o == nil || o.cut || o.above != f.above || o.stamp != f.stamp || !o.stamp.Settled(old.begun) {
		return nil
	}
	if o.ignored != (files.Stamp{}) && (o.ignored != w.dir.Stamp(path.Join(f.rel, ".gitignore")) || !o.ignored.Settled(old.begun)) {
		return nil
	}
	return o
}

// take adds a folder as far as there is room, and reports whether there is room for more.
func (n *names) take(f *listed) bool {
	if room := n.entries.most - n.entries.now; len(f.list) > room {
		part := *f
		part.list, part.cut = f.list[:room], true
		f = &part
	}
	n.folders = append(n.folders, f)
	n.rels[f.rel] = f
	n.entries.now += len(f.list)
	n.bytes.now += f.bytes
	return n.entries.now < n.entries.most && n.bytes.now < n.bytes.most
}

// opener opens folders below top. It holds their parent open, because successive ones
// often have the same parent.
type opener struct {
	top *files.Folder
	at  string
	dir *files.Folder // the folder at; nil: none is open
}

// list reads a folder; nil: it cannot be read.
func (o *opener) list(w *walk, f *listed) []keptName {
	in, name := path.Split(f.rel)
	if in = path.Clean(in); o.dir == nil || o.at != in {
		o.close()
		dir, err := o.top.Under(in)
		if err != nil {
			return nil
		}
		o.at, o.dir = in, dir
	}
	dir, err := o.dir.Under(name)
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, err := dir.Read(w.most)
	if err != nil {
		return nil
	}
	f.rules = f.above
	if f.rel != "." && slices.ContainsFunc(entries, func(e files.Entry) bool { return e.Name == ".gitignore" }) {
		f.ignored = dir.Stamp(".gitignore")
		f.rules = w.rulesOf(dir, f.rel, entries, f.above)
	}
	list := make([]keptName, 0, len(entries))
	paths := w.paths(f.rel)
	for _, d := range entries {
		rel := paths.rel + d.Name
		if w.hides(&entry{rel: rel, name: d.Name, kind: d.Kind}, "", paths.last, f.rules) != 0 {
			continue
		}
		e := keptName{rel: rel, lower: strings.ToLower(rel), size: len(strings.ToLower(d.Name)), kind: d.Kind}
		if f.bytes += len(rel) + 64; e.lower != rel {
			f.bytes += len(e.lower)
		}
		list = append(list, e)
	}
	return list
}

func (o *opener) close() {
	if o.dir != nil {
		o.dir.Close()
		o.dir = nil
	}
}
