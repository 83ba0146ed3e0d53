package tools

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/core"
	"dragoman/core/files"
	"dragoman/core/web"
	"dragoman/core/workspace"
)

const (
	maxLooked  = 50_000          // entries that Find looks at
	maxListed  = 5_000           // of one folder
	maxResults = 1_000           // that Find returns, whatever was asked for
	findTime   = 2 * time.Second // then what was found by then has to do
)

// FilesOptions configures Files. The zero value is usable.
type FilesOptions struct {
	// Policy says what a reference must not read: what it denies to read_file and
	// web_fetch. That it would ask for something does not matter, since the user is
	// who refers to it. nil: no rule forbids anything.
	Policy core.Policy
}

// Files is the workspace as prompts refer to it. It keeps nothing between calls
// and may be used by any goroutine.
type Files struct {
	opts FilesOptions
	net  web.Fetcher
}

var _ workspace.Files = (*Files)(nil)

// NewFiles returns Files. It does nothing else.
func NewFiles(opts FilesOptions) *Files { return &Files{opts: opts} }

// borrowed is a host for the length of one call. Places need no more of it.
type borrowed struct {
	core.ToolHost

	meta   core.Meta
	editor core.Editor
}

func (b borrowed) Meta() core.Meta     { return b.meta }
func (b borrowed) Editor() core.Editor { return b.editor }
func (b borrowed) Spills() core.Spills { return nil }

// desk is a toolset for one call; close gives its roots back.
func desk(m core.Meta, e core.Editor) *toolset {
	host := borrowed{meta: m, editor: e}
	return &toolset{host: host, files: files.New(host), steps: map[stepKey]*step{}}
}

// Undo implements workspace.Files. Files are reached through the session's roots, as
// by its tools, and through the editor where it has them; what lies outside of the
// roots is left alone. There is one outcome for each file, in the order in which
// the files were changed last; a file that was moved is where it was before.
func (f *Files) Undo(ctx context.Context, m core.Meta, e core.Editor, changes []core.Diff) []core.RevertedFile {
	w := files.New(borrowed{meta: m, editor: e})
	defer w.Close() //nolint:errcheck // what was written is on the disk
	return w.Undo(ctx, changes)
}

func (f *Files) deskOf(roots []string) *toolset {
	m := core.Meta{Roots: roots}
	if len(roots) > 0 {
		m.Cwd = roots[0]
	}
	s := desk(m, nil)
	s.opts.Forbids = func(core.ToolHost) (func(core.Access) bool, error) {
		roots := s.files.Roots()
		return func(a core.Access) bool { // to read a file: nothing else is asked of it
			a.Outside = !slices.ContainsFunc(
				roots,
				func(r *files.Root) bool { _, in := files.Within(r.Real, a.Path); return in },
			)
			return f.forbids(readSpec, m, a) != nil
		}, nil
	}
	return s
}

// Find implements workspace.Files. It looks at no more than 50,000 entries and for no
// longer than two seconds, nearer ones first; what it has found by then it
// returns.
// What a rule forbids to read is not found.
func (f *Files) Find(ctx context.Context, roots []string, query string, most int) []workspace.FileName {
	if most = min(most, maxResults); most <= 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, findTime)
	defer stop()
	s := f.deskOf(roots)
	defer s.Close()
	if dir, name, ok := listing(s.host.Meta().Cwd, query); ok {
		p, err := s.files.At(dir)
		if err != nil {
			return nil
		}
		return s.list(p, dir, name, most)
	}
	r := ranking{query: strings.ToLower(filepath.ToSlash(query)), most: most}
	tops := s.outermost()
	for i, top := range tops {
		s.findIn(ctx, top, &r, maxLooked*(i+1)/len(tops))
	}
	return r.best()
}

// List implements workspace.Files.
func (f *Files) List(_ context.Context, roots []string, folder, begin string, most int) []workspace.FileName {
	if most = min(most, maxResults); most <= 0 || !filepath.IsAbs(folder) {
		return nil
	}
	s := f.deskOf(roots)
	defer s.Close()
	p, err := s.files.At(folder)
	if err != nil || p.Root == nil {
		return nil
	}
	return s.list(p, folder, begin, most)
}

// list lists what in the folder at p begins with a name, without what a rule forbids
// to read.
func (s *toolset) list(p files.Place, dir, name string, most int) []workspace.FileName {
	bar, err := s.bar()
	if err != nil {
		return nil
	}
	return p.List(dir, name, most, bar)
}

// listing recognises a query that begins with a folder: the folder, and the
// beginning of a name in it.
func listing(cwd, query string) (dir, name string, ok bool) {
	q := filepath.ToSlash(query)
	switch {
	case q == "~" || strings.HasPrefix(q, "~/"):
		home, err := os.UserHomeDir()
		if err != nil {
			return "", "", false
		}
		if q == "~" {
			q = "~/"
		}
		q = filepath.ToSlash(home) + q[1:]
	case q == "." || q == "..":
		q = path.Join(filepath.ToSlash(cwd), q) + "/"
	case strings.HasPrefix(q, "./"), strings.HasPrefix(q, "../"):
		q = strings.TrimSuffix(filepath.ToSlash(cwd), "/") + "/" + q
	case strings.HasPrefix(q, "/"), filepath.IsAbs(query):
	default:
		return "", "", false
	}
	if cwd == "" && strings.HasPrefix(query, ".") || strings.ContainsRune(q, 0) || len(q) > 16<<10 {
		return "", "", false
	}
	if strings.HasSuffix(q, "/..") {
		q += "/"
	}
	i := strings.LastIndexByte(q, '/')
	dir, name = filepath.Clean(filepath.FromSlash(q[:i+1])), q[i+1:]
	return dir, name, filepath.IsAbs(dir)
}

// outermost lists the roots that lie in no other one.
func (s *toolset) outermost() (list []*files.Root) {
	all := s.files.Roots()
	for i, r := range all {
		if !slices.ContainsFunc(all, func(o *files.Root) bool {
			_, in := files.Within(o.Real, r.Real)
			return in && o.Real != r.Real
		}) && !slices.ContainsFunc(all[:i], func(o *files.Root) bool { return o.Real == r.Real }) {
			list = append(list, r)
		}
	}
	return list
}

// findIn ranks what is below a root, until so many entries were looked at in all.
func (s *toolset) findIn(ctx context.Context, top *files.Root, r *ranking, until int) {
	w, done, err := s.walkFrom(files.Place{Name: top.Given, Real: top.Real, Show: top.Given, Root: top})
	if err != nil {
		return
	}
	defer done()
	w.most = maxListed
	// Rules are asked about what fits alone: what is below a folder that must not be
	// read must not be read either, so nothing is missed.
	barred := w.bar
	w.bar = func(string) bool { return false }
	w.wide(ctx, func(e entry) (into, on bool) {
		r.looked++
		if kind := files.Target(e.kind, func() (fs.FileInfo, error) { return w.dir.Stat(e.rel) }); kind.IsDir() ||
			kind.IsRegular() {
			r.add(e, workspace.FileName{Path: filepath.Join(top.Given, filepath.FromSlash(e.rel)), Folder: kind.IsDir()}, barred)
		}
		return true, r.looked < until && !r.full()
	})
}

// ranking keeps the best of what was found.
type ranking struct {
	query  string // in lower case, with slashes
	most   int
	looked int
	list   []ranked
}

type ranked struct {
	workspace.FileName
	class int // how well it fits; 0 is best
	depth int
	size  int // of the path from the root
}

// add takes an entry if it fits, and is not barred.
func (r *ranking) add(e entry, f workspace.FileName, barred func(rel string) bool) {
	class := fit(r.query, strings.ToLower(e.name), strings.ToLower(e.rel))
	if class < 0 || barred(e.rel) {
		return
	}
	r.list = append(r.list, ranked{f, class, e.depth, len(e.rel)})
	if len(r.list) >= 8*r.most+1000 {
		r.sort()
		r.list = r.list[:r.most]
	}
}

// full reports whether nothing better can come: everything fits an empty query,
// and the nearest came first.
func (r *ranking) full() bool { return r.query == "" && len(r.list) >= r.most }

func (r *ranking) sort() {
	slices.SortFunc(r.list, func(a, b ranked) int {
		if c := cmp.Compare(a.class, b.class); c != 0 {
			return c
		}
		if r.query == "" {
			return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.Path, b.Path))
		}
		return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.Path, b.Path))
	})
}

func (r *ranking) best() []workspace.FileName {
	r.sort()
	var list []workspace.FileName
	for _, f := range r.list[:min(len(r.list), r.most)] {
		list = append(list, f.FileName)
	}
	return list
}

// fit says how well a query fits an entry: 0 its name, 1 the beginning of it, 2 a
// part of it, 3 a part of its path, 4 letters of its path in their order; -1 not
// at all. All are in lower case.
func fit(query, name, rel string) int {
	switch {
	case query == "":
		return 0
	case name == query || rel == query:
		return 0
	case strings.HasPrefix(name, query):
		return 1
	case strings.Contains(name, query):
		return 2
	case strings.Contains(rel, query):
		return 3
	}
	for _, c := range query {
		if c == ' ' {
			continue
		}
		i := strings.IndexRune(rel, c)
		if i < 0 {
			return -1
		}
		rel = rel[i+len(string(c)):]
	}
	return 4
}
