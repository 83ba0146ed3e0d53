package tools

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"dragoman/core"
	"dragoman/core/files"
	"dragoman/core/glob"
	"dragoman/core/ide"
)

// maxFound is the maximum number of paths that glob returns.
const maxFound = 500

var globSpec = core.Spec{
	Server: core.Native,
	Name:   "glob",
	Title:  "Find files",
	Description: "Finds files by a pattern of their path below a folder: * and ? match within a name, ** any number of folders, [a-z] one " +
		"character, {a,b} either. *.go looks in the folder alone, **/*.go also below it. What .gitignore ignores is left out, symbolic links " +
		"are not followed. Returns at most 500 paths, sorted.",
	Schema: []byte(`{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "description": "The pattern, with / between names, relative to path."},
    "path": {"type": "string", "description": "The folder to look in. Default: the session's folder."}
  },
  "required": ["pattern"],
  "additionalProperties": false
}`),
	Kind:       core.KindSearch,
	ReadOnly:   true,
	Idempotent: true,
}

func (s *toolset) prepareGlob(_ context.Context, a *args) (*step, error) {
	pattern, path := a.text("pattern"), a.optText("path", ".")
	if err := a.done(); err != nil {
		return nil, err
	}
	pattern, err := checkGlob("pattern", pattern)
	if err != nil {
		return nil, err
	}
	p, err := s.folder(path)
	if err != nil {
		return nil, err
	}
	return &step{
		Preview: core.Preview{
			Title:     "Find " + code(pattern) + in(p),
			Locations: []core.Location{{Path: p.Name}},
			Access:    []core.Access{p.Access(core.OpRead)},
		},
		run: func(ctx context.Context, _ core.Invocation) (core.Result, error) { return s.glob(ctx, p, pattern) },
	}, nil
}

// in returns the folder of a search, for a title.
func in(p files.Place) string {
	if p.Show == "." {
		return ""
	}
	return " in " + label(p.Show)
}

// checkGlob makes sure that a pattern is valid and relative.
func checkGlob(name, pattern string) (string, error) {
	pattern = strings.TrimPrefix(pattern, "./")
	switch {
	case pattern == "":
		return "", fmt.Errorf("argument %q is empty", name)
	case strings.ContainsRune(pattern, 0):
		return "", fmt.Errorf("argument %q contains a NUL character", name)
	case strings.HasPrefix(pattern, "/") || filepath.IsAbs(pattern):
		return "", fmt.Errorf("argument %q must be relative: put the folder into path", name)
	}
	if err := glob.CheckPath(pattern); err != nil {
		return "", fmt.Errorf("argument %q is not a valid pattern: %w: %.300q", name, err, pattern)
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if part == ".." {
			return "", fmt.Errorf("argument %q must not contain ..: put the folder into path", name)
		}
	}
	return pattern, nil
}

func (s *toolset) glob(ctx context.Context, p files.Place, pattern string) (core.Result, error) {
	if found, left, ok, err := s.globbed(ctx, p, pattern); err != nil {
		return core.Result{}, err
	} else if ok {
		return globResult(found, len(found), p, pattern, left...), nil
	}
	w, done, err := s.walkFrom(p)
	if err != nil {
		return core.Result{}, err
	}
	defer done()
	var found []string
	total := 0
	wanted, err := glob.Path(pattern)
	if err != nil {
		return core.Result{}, err
	}
	goInto := below(pattern)
	w.readAhead(func(e *entry) (visit, into bool) {
		if e.kind.IsDir() {
			return false, goInto(e)
		}
		return wanted.Matches(e.rel), false
	})
	err = w.each(ctx, func(e entry) (into, on bool) {
		if total++; total <= maxFound {
			found = append(found, join(p.Show, e.rel))
		}
		return false, true
	})
	if err != nil {
		return core.Result{}, p.Explain(err)
	}
	return globResult(found, total, p, pattern, w.missed()), nil
}

// globResult shows the first paths of found, total in all. left has notes on the
// omitted ones.
func globResult(found []string, total int, p files.Place, pattern string, left ...string) core.Result {
	if total == 0 {
		return text("no files match "+visible(pattern)+visibleIn(p), notes(left...))
	}
	var out strings.Builder
	for _, name := range found[:min(len(found), maxFound)] {
		out.WriteString(visible(name) + "\n")
	}
	more := note(total > maxFound, fmt.Sprintf("%d more paths match: narrow the pattern", total-maxFound))
	return text(out.String(), notes(more, joined(left...)))
}

// below returns a function that reports whether a folder can contain matches of a
// pattern.
func below(pattern string) func(*entry) bool {
	if strings.ContainsAny(pattern, `{\`) { // a slash may be within these
		return func(*entry) bool { return true }
	}
	deepest := strings.Count(pattern, "/")
	if strings.Contains(pattern, "**") {
		deepest = math.MaxInt
	}
	base, _ := doublestar.SplitPattern(pattern)
	if base == "." {
		base = ""
	} else {
		base += "/"
	}
	return func(e *entry) bool {
		rel := e.rel + "/"
		return e.depth <= deepest && (strings.HasPrefix(rel, base) || strings.HasPrefix(base, rel))
	}
}

// join returns the path of an entry in a folder, in the form of p.show.
func join(show, rel string) string {
	if show == "." {
		return rel
	}
	return strings.TrimSuffix(show, "/") + "/" + rel
}

func visibleIn(p files.Place) string {
	if p.Show == "." {
		return ""
	}
	return " in " + visible(p.Show)
}

// globbed asks the editor for the files in a folder that match a pattern; ok is false
// if it has no answer. Patterns are relative to the session's folder there; paths in
// the answer that are elsewhere are left out. So are files that must not be read, and
// files where programs keep keys; left has notes with their numbers.
func (s *toolset) globbed(
	ctx context.Context,
	p files.Place,
	pattern string,
) (found, left []string, ok bool, err error) {
	bar, err := s.bar()
	if err != nil || p.Root == nil || filepath.IsAbs(p.Show) {
		return nil, nil, false, err
	}
	reply, _, err := s.files.Request(ctx, p, func(c ide.Caps) bool { return c.Glob },
		ide.GlobFiles{Session: s.host.Meta().ID, Pattern: join(escapeGlob(p.Show), pattern)})
	paths, ok := reply.(ide.FilePaths)
	barred, keys, among := 0, 0, files.KeepsKeys(p.Real)
	for _, path := range paths.Paths {
		q, err := s.files.Locate(path)
		if err != nil || q.Root == nil {
			continue
		}
		_, in := files.Within(p.Real, q.Real)
		switch {
		case in && !among && files.KeepsKeys(q.Real):
			keys++
		case bar(q.Real):
			barred++
		case in:
			found = append(found, q.Show)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), []string{barredNote(barred), keysNote(keys)}, ok, err
}

// escapeGlob returns a pattern that matches only this path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`).Replace(path)
}
