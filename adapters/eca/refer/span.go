package refer

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/workspace"
)

// span is the part of a file or folder that is referred to: ranges of lines, 1-based and
// inclusive; none: all of it.
type span struct {
	path   string
	ranges [][2]int
}

// spans are the files and folders of a prompt, each once, in the order of their first mention.
type spans []span

// add adds lines of a file; zero: all of it.
func (s *spans) add(path string, lines [2]int) {
	if path == "" {
		return
	}
	i := slices.IndexFunc(*s, func(p span) bool { return p.path == path })
	switch {
	case i < 0 && lines == [2]int{}:
		*s = append(*s, span{path: path})
	case i < 0:
		*s = append(*s, span{path, [][2]int{lines}})
	case lines == [2]int{}:
		(*s)[i].ranges = nil
	case (*s)[i].ranges != nil:
		(*s)[i].ranges = merged(append((*s)[i].ranges, lines))
	}
}

// join adds another span.
func (s *spans) join(p span) {
	if p.ranges == nil {
		s.add(p.path, [2]int{})
	}
	for _, r := range p.ranges {
		s.add(p.path, r)
	}
}

// covers reports whether the lines of a file are among the spans.
func (s spans) covers(path string, lines [2]int) bool {
	return slices.ContainsFunc(s, func(p span) bool { return p.path == path && p.covers(lines) })
}

func (s span) covers(lines [2]int) bool {
	return s.ranges == nil || lines != [2]int{} && slices.ContainsFunc(s.ranges, func(r [2]int) bool {
		return r[0] <= lines[0] && lines[1] <= r[1]
	})
}

// covered reports whether everything of a span is among the spans.
func (s spans) covered(p span) bool {
	if p.ranges == nil {
		return s.covers(p.path, [2]int{})
	}
	return !slices.ContainsFunc(p.ranges, func(r [2]int) bool { return !s.covers(p.path, r) })
}

// merged sorts ranges and joins those that overlap or touch.
func merged(ranges [][2]int) (list [][2]int) {
	slices.SortFunc(ranges, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	for _, r := range ranges {
		if n := len(list); n > 0 && r[0] <= list[n-1][1]+1 {
			list[n-1][1] = max(list[n-1][1], r[1])
			continue
		}
		list = append(list, r)
	}
	return list
}

// file returns the content of a span as one block.
func (d *Desk) file(ctx context.Context, s span) core.Block {
	if len(s.ranges) < 2 {
		lines := [2]int{}
		if len(s.ranges) == 1 {
			lines = s.ranges[0]
		}
		return d.read(ctx, workspace.Reference{Path: s.path, Lines: lines}, fileLink(s.path, lines))
	}
	var text strings.Builder
	for _, lines := range s.ranges {
		b, ok := d.read(ctx, workspace.Reference{Path: s.path, Lines: lines}, fileLink(s.path, lines)).(core.Resource)
		if !ok || strings.HasPrefix(b.URI, "text:") { // a picture, a link, or nothing that may be read
			return d.file(ctx, span{path: s.path})
		}
		fmt.Fprintf(&text, "[lines %d to %d]\n%s\n", lines[0], lines[1], strings.TrimSuffix(b.Text, "\n"))
	}
	return core.Resource{URI: URIOf(s.path, [2]int{}), MIME: "text/plain", Text: text.String()}
}

// clamped returns a range of lines: 1-based, its end inclusive.
func clamped(r *eca.LinesRange) [2]int {
	if r == nil {
		return [2]int{}
	}
	from := max(r.Start, 1)
	return [2]int{from, max(from, r.End)}
}

func fileLink(path string, lines [2]int) core.Block {
	l := core.Link{URI: URIOf(path, lines), Name: filepath.Base(path), Description: "the file " + path}
	if lines[0] > 0 {
		l.Description = fmt.Sprintf("lines %d to %d of %s", lines[0], lines[1], path)
	}
	return l
}
