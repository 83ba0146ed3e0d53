package tools

import (
	"context"
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
	maxNamed   = 8 << 20         // bytes that a finder keeps
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

// Files is the workspace for references in prompts. It keeps nothing between calls, and
// may be used by any goroutine; only what Keep returns keeps something.
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
	texts  *core.Texts
}

func (b callHost) Meta() core.Meta           { return b.meta }
func (b callHost) Editor(string) core.Editor { return b.editor }
func (b callHost) Spills() core.Spills       { return nil }
func (b callHost) Texts() *core.Texts        { return b.texts }

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
	w := files.New(callHost{meta: m, editor: e, texts: &core.Texts{}})
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
	k := f.keep(roots)
	if k.limit = maxLooked; query == "" { // the nearest match
		k.limit = min(maxLooked, 4*max(most, 0)+100)
	}
	found := k.Find(ctx, query, most)
	if len(found) < most && k.limit < maxLooked {
		k.limit, k.at = maxLooked, time.Time{}
		found = k.Find(ctx, query, most)
	}
	return found
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
