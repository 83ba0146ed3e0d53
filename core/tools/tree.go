package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/files"
)

const (
	maxTree   = 1000 // entries that directory_tree shows
	maxFolder = 200  // of one folder
)

// errFile is the error for a file in the place of a folder.
var errFile = errors.New("it is a file, not a folder: use read_file")

var treeSpec = core.Spec{
	Server: core.Native,
	Name:   "directory_tree",
	Title:  "List a folder",
	Description: "Lists a folder and what is in it, sorted by name, folders with a / at the end, symbolic links with their target and not " +
		"followed. What .gitignore ignores is left out. Shows at most 1000 entries, 200 of one folder.",
	Schema: []byte(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The folder. Default: the session's folder."},
    "depth": {"type": "integer", "minimum": 1, "maximum": 20, "description": "How many levels to show. Default 3."}
  },
  "additionalProperties": false
}`),
	Kind:       core.KindRead,
	ReadOnly:   true,
	Idempotent: true,
}

func (s *toolset) prepareTree(_ context.Context, a *args) (*step, error) {
	path := a.optText("path", ".")
	depth := a.integer("depth", 3, 1, 20)
	if err := a.done(); err != nil {
		return nil, err
	}
	p, err := s.folder(path)
	if err != nil {
		return nil, err
	}
	return &step{
		Preview: core.Preview{
			Title:     "List " + label(p.Show),
			Locations: []core.Location{{Path: p.Name}},
			Access:    []core.Access{p.Access(core.OpRead)},
		},
		run: func(ctx context.Context, _ core.Invocation) (core.Result, error) { return s.tree(ctx, p, depth) },
	}, nil
}

// folder locates a folder. Inside of the roots it fails early if that is not a
// folder.
func (s *toolset) folder(path string) (files.Place, error) {
	return s.locate(path, func(info fs.FileInfo) error {
		if !info.IsDir() {
			return errFile
		}
		return nil
	})
}

// locate locates the place of a call. Inside of the roots it fails early if fits
// returns an error.
func (s *toolset) locate(path string, fits func(fs.FileInfo) error) (files.Place, error) {
	p, err := s.files.Source(path)
	if err != nil || p.Outside(core.OpRead) {
		return p, err
	}
	h, err := p.Reach()
	if err != nil {
		return p, p.Explain(err)
	}
	defer h.Close()
	info, err := h.Stat()
	if err == nil {
		err = fits(info)
	}
	return p, p.Explain(err)
}

func (s *toolset) tree(ctx context.Context, p files.Place, depth int) (core.Result, error) {
	w, done, err := s.walkFrom(p)
	if err != nil {
		return core.Result{}, err
	}
	defer done()
	t := tree{depth: depth}
	fmt.Fprintf(&t.out, "%s/\n", strings.TrimSuffix(visible(p.Show), "/"))
	err = w.each(ctx, func(e entry) (into, on bool) { return t.visit(w, e) })
	if err != nil {
		return core.Result{}, p.Explain(err)
	}
	t.flush(0)
	return text(t.out.String(), notes(
		note(t.deeper, fmt.Sprintf("levels below %d are not shown", depth)),
		note(t.total > maxTree, fmt.Sprintf("cut after %d entries: list a folder of it", maxTree)),
		w.missed(),
	)), nil
}

// tree writes entries, indented by their depth.
type tree struct {
	depth  int
	out    strings.Builder
	total  int
	deeper bool
	counts []int // entries seen, by depth - 1, in the folders above the current entry
}

func (t *tree) visit(w *walk, e entry) (into, on bool) {
	t.flush(e.depth)
	if len(t.counts) < e.depth {
		t.counts = append(t.counts, 0)
	}
	if t.counts[e.depth-1]++; t.counts[e.depth-1] > maxFolder {
		return false, true
	}
	if t.total++; t.total > maxTree {
		return false, false
	}
	name := visible(e.name)
	switch {
	case e.kind.IsDir():
		name += "/"
	case e.kind&fs.ModeSymlink != 0:
		target, _ := e.in.Readlink(e.name)
		name += " -> " + visible(target)
	case e.kind != 0:
		name += " (not a file)"
	}
	fmt.Fprintf(&t.out, "%s%s\n", strings.Repeat("  ", e.depth), name)
	if e.kind.IsDir() && e.depth == t.depth {
		t.deeper = true
		return false, true
	}
	return true, true
}

// flush ends the folders below a depth, and writes the number of omitted entries at
// their ends.
func (t *tree) flush(depth int) {
	for len(t.counts) > depth {
		last := len(t.counts) - 1
		if n := t.counts[last] - maxFolder; n > 0 && t.total <= maxTree {
			fmt.Fprintf(&t.out, "%s… %d more\n", strings.Repeat("  ", last+1), n)
		}
		t.counts = t.counts[:last]
	}
}

// note returns text if it applies, else "".
func note(applies bool, text string) string {
	if !applies {
		return ""
	}
	return text
}

// notes formats remarks that follow a result; "" if there are none.
func notes(list ...string) string { return bracketed(joined(list...)) }

// joined joins the remarks that are not empty.
func joined(list ...string) string {
	some := slices.DeleteFunc(slices.Clone(list), func(n string) bool { return n == "" })
	return strings.Join(some, "; ")
}
