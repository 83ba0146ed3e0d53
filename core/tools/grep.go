package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"dragoman/core"
	"dragoman/core/files"
	"dragoman/core/glob"
	"dragoman/core/linesearch"
)

// maxSearched is the size of the largest file that grep searches.
const maxSearched = 16 << 20

var grepSpec = core.Spec{
	Server: core.Native,
	Name:   "grep",
	Title:  "Search in files",
	Description: "Searches the lines of files below a folder, or of one file, by a regular expression (RE2 syntax; no back references or " +
		"look-around). Returns path:line:text, with context lines as path-line-text, sorted by path. What .gitignore ignores, binary files, " +
		"files above 16 MB and symbolic links are left out; unsaved text in the editor is not seen.",
	Schema: []byte(`{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "description": "The regular expression, matched with each line alone."},
    "path": {"type": "string", "description": "The folder or file to search. Default: the session's folder."},
    "include": {"type": "string", "description": "A pattern that the file's name must match, like *.go or *.{ts,tsx}; with a / in it, its path below path."},
    "ignore_case": {"type": "boolean", "description": "Whether case does not matter. Default false."},
    "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines to show before and after each match. Default 0."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "How many matching lines to return. Default 200."}
  },
  "required": ["pattern"],
  "additionalProperties": false
}`),
	Kind:       core.KindSearch,
	ReadOnly:   true,
	Idempotent: true,
}

// search has the arguments of a grep.
type search struct {
	pattern string
	lines   *linesearch.Matcher
	include string
	wanted  *glob.Pattern // include; nil: all
	inside  bool          // the search is in the workspace
	context int
	limit   int
}

func (s *toolset) prepareGrep(_ context.Context, a *args) (*step, error) {
	pattern, path, include := a.text("pattern"), a.optText("path", "."), a.optText("include", "")
	fold := a.boolean("ignore_case", false)
	q := search{
		pattern: pattern,
		include: include,
		context: a.integer("context", 0, 0, 20),
		limit:   a.integer("limit", 200, 1, 2000),
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	var err error
	if q.lines, err = linesearch.New(pattern, fold); err != nil {
		return nil, fmt.Errorf("argument %q %w", "pattern", err)
	}
	title := "Search " + code(pattern)
	if include != "" {
		if q.include, err = checkGlob("include", include); err != nil {
			return nil, err
		}
		if q.wanted, err = glob.Path(q.include); err != nil {
			return nil, err
		}
		title += " in " + code(include)
	}
	p, err := s.locate(path, searchable)
	if err != nil {
		return nil, err
	}
	access := p.Access(core.OpRead)
	access.Linked = p.Linked()
	q.inside = p.Root != nil
	return &step{
		Preview: core.Preview{
			Title:     title + in(p),
			Locations: p.Locations(0),
			Access:    []core.Access{access},
		},
		run: func(ctx context.Context, _ core.Invocation) (core.Result, error) { return s.grep(ctx, p, q) },
	}, nil
}

// searchable returns an error for anything but a folder or a file.
func searchable(info fs.FileInfo) error {
	if info.IsDir() {
		return nil
	}
	return files.CheckRegular(info)
}

func (s *toolset) grep(ctx context.Context, p files.Place, q search) (core.Result, error) {
	bar, err := s.bar()
	if err == nil && bar(p.Real) {
		err = errBarred
	}
	if err != nil {
		return core.Result{}, p.Explain(err)
	}
	h, err := p.Reach()
	if err != nil {
		return core.Result{}, p.Explain(err)
	}
	defer h.Close()
	info, err := h.Stat()
	if err != nil {
		return core.Result{}, p.Explain(err)
	}
	out := report{limit: q.limit, context: q.context > 0}
	var more string
	if info.IsDir() {
		more, err = s.grepFolder(ctx, p, q, &out)
	} else {
		err = grepFile(h, p, q, &out)
	}
	if err != nil {
		return core.Result{}, err
	}
	if out.matches == 0 {
		return text("no matches for "+visible(q.pattern)+visibleIn(p), notes(more)), nil
	}
	return text(out.text.String(), notes(
		note(
			out.full,
			fmt.Sprintf("stopped after %d matching lines: narrow the search for the rest", out.matches),
		),
		more,
	)), nil
}

// errBarred is the error for a file that a rule forbids to read.
var errBarred = errors.New("a rule forbids to read it")

func grepFile(h files.Handle, p files.Place, q search, out *report) error {
	f, info, err := h.Source()
	if err != nil {
		return p.Explain(err)
	}
	defer f.Close()
	if info.Size() > maxSearched {
		return p.Explain(fmt.Errorf("it is larger than %d MiB: use shell_command", maxSearched>>20))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSearched))
	if err != nil {
		return p.Explain(err)
	}
	if files.Binary(data) {
		return p.Explain(errors.New("it is binary"))
	}
	out.add(visible(p.Show), q.find(data))
	return nil
}

// finding is the result of a worker for one file.
type finding struct {
	name  string
	base  string        // its name in the folder in
	in    *files.Folder // held until the worker has read it
	hits  []hit
	large bool
	other bool // it has other names (hard links), and is left out
}

// batch is some files that follow each other in the order of the walk.
type batch struct {
	seq  int
	list []finding
}

// maxBatch is the number of files in a batch.
const maxBatch = 32

// grepFolder searches below a folder with several workers. It reports their findings
// in the order of the walk, and stops everything when there are enough of them.
func (s *toolset) grepFolder(
	ctx context.Context, p files.Place, q search, out *report,
) (more string, err error) {
	w, done, err := s.walkFrom(p)
	if err != nil {
		return "", err
	}
	defer done()
	caller := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	todo, finds := make(chan batch), make(chan batch)
	var walkErr error // set before todo is closed
	var walker, searchers sync.WaitGroup
	walker.Go(func() {
		defer close(todo)
		walkErr = q.files(ctx, w, todo)
	})
	for range workers() {
		searchers.Go(func() { q.work(ctx, p.Show, todo, finds) })
	}
	walker.Go(func() { searchers.Wait(); close(finds) })

	large := out.collect(finds, stop)
	walker.Wait()
	if caller.Err() != nil {
		return "", context.Cause(caller)
	}
	if walkErr != nil && !out.full {
		return "", p.Explain(walkErr)
	}
	return joined(
		note(large > 0, fmt.Sprintf("%d files above %d MB were left out", large, maxSearched>>20)),
		note(
			out.linked > 0,
			fmt.Sprintf("%d left out that match and have other names (hard links): to look into one, name it", out.linked),
		),
		w.missed()), nil
}

// files sends the files to search.
func (q search) files(ctx context.Context, w *walk, todo chan<- batch) error {
	var b batch
	send := func() (on bool) {
		select {
		case todo <- b:
			b = batch{seq: b.seq + 1}
			return true
		case <-ctx.Done():
			b.release()
			return false
		}
	}
	w.readAhead(q.searches)
	err := w.each(ctx, func(e entry) (into, on bool) {
		b.list = append(b.list, finding{name: e.rel, base: e.name, in: e.in.Hold()})
		return false, len(b.list) < maxBatch || send()
	})
	if err != nil {
		b.release()
		return err
	}
	if len(b.list) > 0 {
		send()
	}
	return nil
}

// searches reports whether a file is searched. All folders are entered.
func (q search) searches(e *entry) (visit, into bool) {
	if !e.kind.IsRegular() {
		return false, true
	}
	if q.wanted == nil {
		return true, false
	}
	name := e.name
	if strings.Contains(q.include, "/") {
		name = e.rel
	}
	return q.wanted.Matches(name), false
}

// release gives the folders of files back that are not searched.
func (b *batch) release() {
	for _, f := range b.list {
		f.in.Close()
	}
	b.list = nil
}

// work searches files until there are no more.
func (q search) work(ctx context.Context, show string, todo <-chan batch, finds chan<- batch) {
	var buf []byte
	for b := range todo {
		for i := range b.list {
			if f := &b.list[i]; ctx.Err() == nil {
				q.file(f, show, &buf)
			}
			b.list[i].in.Close()
		}
		select {
		case finds <- b:
		case <-ctx.Done():
		}
	}
}

// file searches one file. What cannot be read or is not text counts as empty.
func (q search) file(f *finding, show string, buf *[]byte) {
	text, err := f.in.Text(f.base, maxSearched, buf)
	if err != nil {
		return
	}
	f.large = text.Large
	if f.hits = q.find(text.Data); len(f.hits) > 0 && text.Linked && q.inside {
		f.hits, f.other = nil, true
	}
	if len(f.hits) > 0 {
		f.name = visible(join(show, f.name))
	}
}

// report writes findings in the order of the walk.
type report struct {
	limit   int
	context bool

	text    strings.Builder
	matches int
	linked  int // matching files that were left out because they have other names
	full    bool
}

// collect receives findings until there are no more, and calls stop once the report
// is full. It returns the number of files that were too large.
func (r *report) collect(finds <-chan batch, stop func()) (large int) {
	ahead := map[int]batch{} // those that came before their turn
	next := 0
	for b := range finds {
		ahead[b.seq] = b
		for {
			b, ok := ahead[next]
			if !ok {
				break
			}
			delete(ahead, next)
			next++
			for _, f := range b.list {
				large += r.take(f)
			}
		}
		if r.full {
			stop()
		}
	}
	return large
}

// take adds the findings of a file, and returns 1 if it was too large.
func (r *report) take(f finding) (large int) {
	if f.large {
		large = 1
	}
	if f.other {
		r.linked++
	}
	if !r.full {
		r.add(f.name, f.hits)
	}
	return large
}

func (r *report) add(name string, hits []hit) {
	for i, h := range hits {
		if r.matches >= r.limit && (h.match || i == 0) || r.text.Len() > maxBytes {
			r.full = true
			return
		}
		if r.context && r.text.Len() > 0 && (i == 0 || h.no != hits[i-1].no+1) {
			r.text.WriteString("--\n")
		}
		sep := "-"
		if h.match {
			sep = ":"
			r.matches++
		}
		fmt.Fprintf(&r.text, "%s%s%d%s%s\n", name, sep, h.no, sep, h.text)
	}
}
