package tools

import (
	"cmp"
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core/files"
	"dragoman/core/workspace"
)

// ranking keeps the best matches.
type ranking struct {
	query string // in lower case, with slashes
	most  int
	bar   func(real string) bool

	list  []candidate
	worst *candidate // what is no better than it need not be looked at; nil: all must
}

type candidate struct {
	*keptName

	top   *files.Root
	class int // how well it matches; 0 is best
	depth int
	found *workspace.FileName // what it is; nil: nobody has looked, and no rule was asked
}

// rank looks at all names below a root.
func (r *ranking) rank(ctx context.Context, top *files.Root, n *names) {
	for _, f := range n.folders {
		if ctx.Err() != nil {
			return
		}
		for i := range f.list {
			e := &f.list[i]
			class := fit(r.query, e.lower[len(e.lower)-e.size:], e.lower)
			if class < 0 {
				continue
			}
			c := candidate{keptName: e, top: top, class: class, depth: f.depth}
			if r.worst != nil && r.compare(&c, r.worst) >= 0 {
				continue
			}
			if r.list = append(r.list, c); len(r.list) >= 8*r.most+1000 {
				r.trim()
			}
		}
	}
}

// trim leaves the best matches that may be read.
func (r *ranking) trim() {
	slices.SortFunc(r.list, func(a, b candidate) int { return r.compare(&a, &b) })
	kept := r.list[:0]
	for _, c := range r.list {
		if c.found != nil || r.look(&c) {
			if kept = append(kept, c); len(kept) == r.most {
				break
			}
		}
	}
	if r.list = kept; len(kept) == r.most {
		worst := kept[r.most-1]
		r.worst = &worst
	}
}

// look finds out what a candidate is, and reports whether it is a file or a folder that may be read.
func (r *ranking) look(c *candidate) bool {
	rel := filepath.FromSlash(c.rel)
	if r.bar(filepath.Join(c.top.Real, rel)) {
		return false
	}
	kind := files.Target(c.kind, func() (fs.FileInfo, error) {
		dir, err := c.top.Open()
		if err != nil {
			return nil, err
		}
		return dir.Stat(rel)
	})
	c.found = &workspace.FileName{Path: filepath.Join(c.top.Given, rel), Folder: kind.IsDir()}
	return kind.IsDir() || kind.IsRegular()
}

func (r *ranking) compare(a, b *candidate) int {
	if c := cmp.Compare(a.class, b.class); c != 0 {
		return c
	}
	c := cmp.Compare(len(a.rel), len(b.rel))
	if r.query == "" {
		c = cmp.Compare(a.depth, b.depth)
	}
	if c == 0 {
		c = strings.Compare(a.top.Given, b.top.Given)
	}
	if c == 0 {
		c = strings.Compare(a.rel, b.rel)
	}
	return c
}

func (r *ranking) best() []workspace.FileName {
	r.trim()
	var list []workspace.FileName
	for _, c := range r.list {
		list = append(list, *c.found)
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
