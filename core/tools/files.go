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
	maxLooked  = 50_000          // entries that Find visits
	maxListed  = 5_000           // of one folder
	maxResults = 1_000           // of Find, even if more were requested
	findTime   = 2 * time.Second // after which Find returns its results so far
)

// FilesOptions configures Files. The zero value is usable.
type FilesOptions struct {
	// Policy decides which references must not be read: those that it denies to
	// read_file and web_fetch. A rule that asks does not matter, because the user
	// makes the reference. nil: no rule forbids anything.
	Policy core.Policy
}

// Files is the workspace for references in prompts. It keeps nothing between calls
// and may be used by any goroutine.
type Files struct {
	opts FilesOptions
	net  web.Fetcher
}

var _ workspace.Files = (*Files)(nil)

// NewFiles returns Files, without touching the disk.
func NewFiles(opts FilesOptions) *Files { return &Files{opts: opts} }

// callHost is a host for the duration of one call, with only the methods that places
// need.
type callHost struct {
	core.ToolHost

	meta   core.Meta
	editor core.Editor
}

func (b callHost) Meta() core.Meta           { return b.meta }
func (b callHost) Editor(string) core.Editor { return b.editor }
func (b callHost) Spills() core.Spills       { return nil }

// desk returns a toolset for one call; close returns its roots.
func desk(m core.Meta, e core.Editor) *toolset {
	host := callHost{meta: m, editor: e}
	return &toolset{host: host, opts: &Options{}, files: files.New(host), steps: map[stepKey]*step{}}
}

// Undo implements workspace.Files. Files are reached like by the session's tools: through
// its roots, and through the editor if it has them; files outside of the roots are
// left alone. There is one outcome for each file, in the order of their last changes;
// a file that was moved is back at its old path.
func (f *Files) Undo(ctx context.Context, m core.Meta, e core.Editor, changes []core.Diff) []core.RevertedFile {
	w := files.New(callHost{meta: m, editor: e})
	defer w.Close() //nolint:errcheck // the writes have reached the disk
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
		return func(a core.Access) bool { // for reading a file, which needs nothing else of the host
			a.Outside = !slices.ContainsFunc(
				roots,
				func(r *files.Root) bool { _, in := files.Within(r.Real, a.Path); return in },
			)
			return f.forbids(readSpec, m, a) != nil
		}, nil
	}
	return s
}

// Find implements workspace.Files. It visits at most 50,000 entries in at most two
// seconds, nearer ones first, and then returns its results so far. It leaves out
// files that a rule forbids to read.
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

// list lists the entries of the folder at p whose names begin with name, without
// those that a rule forbids to read.
func (s *toolset) list(p files.Place, dir, name string, most int) []workspace.FileName {
	bar, err := s.bar()
	if err != nil {
		return nil
	}
	return p.List(dir, name, most, bar)
}

// listing recognises a query that begins with a folder, and returns the folder and
// the beginning of a name in it.
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

// outermost lists the roots that are in no other root.
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

// findIn ranks the entries below a root, until the number of visited entries reaches
// until.
func (s *toolset) findIn(ctx context.Context, top *files.Root, r *ranking, until int) {
	w, done, err := s.walkFrom(files.Place{Name: top.Given, Real: top.Real, Show: top.Given, Root: top})
	if err != nil {
		return
	}
	defer done()
	w.most, r.top = maxListed, top.Real
	// Rules are asked only about matching entries: below a folder that must not be
	// read nothing may be read either, so nothing is missed.
	barred := w.bar
	w.bar = func(string) bool { return false }
	w.wide(ctx, func(e entry) (into, on bool) {
		r.looked++
		if kind := files.Target(e.kind, func() (fs.FileInfo, error) { return w.dir.Stat(e.rel) }); kind.IsDir() ||
			kind.IsRegular() {
			r.add(e, workspace.FileName{
				Path:   filepath.Join(top.Given, filepath.FromSlash(e.rel)),
				Folder: kind.IsDir(),
			}, barred)
		}
		return true, r.looked < until && !r.full()
	})
}

// ranking keeps the best matches.
type ranking struct {
	query  string // in lower case, with slashes
	most   int
	top    string // the real path of the root that is ranked
	looked int
	list   []candidate
}

type candidate struct {
	workspace.FileName
	class int // how well it matches; 0 is best
	depth int
	size  int // of the path from the root
}

// add takes an entry if it matches, and is not barred.
func (r *ranking) add(e entry, f workspace.FileName, barred func(real string) bool) {
	class := fit(r.query, strings.ToLower(e.name), strings.ToLower(e.rel))
	if class < 0 || barred(filepath.Join(r.top, filepath.FromSlash(e.rel))) {
		return
	}
	r.list = append(r.list, candidate{f, class, e.depth, len(e.rel)})
	if len(r.list) >= 8*r.most+1000 {
		r.sort()
		r.list = r.list[:r.most]
	}
}

// full reports whether no better entry can come: everything matches an empty query,
// and the nearest came first.
func (r *ranking) full() bool { return r.query == "" && len(r.list) >= r.most }

func (r *ranking) sort() {
	slices.SortFunc(r.list, func(a, b candidate) int {
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

// fit returns how well an entry matches a query: 0 the name is equal, 1 it begins
// with the query, 2 it contains it, 3 the path contains it, 4 the path has its
// letters in the same order; -1 no match. All are in lower case.
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
