// Package paths translates paths between this machine and the one that an agent runs on.
package paths

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Mapping translates paths between this machine and the one that the agent runs on, such as a
// container. The longest prefix counts, in whole names.
type Mapping struct{ out, in []prefix }

type prefix struct{ from, to string }

// New makes a mapping from prefixes here to prefixes there.
func New(paths map[string]string) Mapping {
	var m Mapping
	for _, here := range slices.Sorted(maps.Keys(paths)) {
		m.out = append(m.out, prefix{trimmed(here), trimmed(paths[here])})
		m.in = append(m.in, prefix{trimmed(paths[here]), trimmed(here)})
	}
	longest := func(a, b prefix) int { return cmp.Compare(len(b.from), len(a.from)) }
	slices.SortStableFunc(m.out, longest)
	slices.SortStableFunc(m.in, longest)
	return m
}

func trimmed(path string) string {
	if short := strings.TrimRight(path, "/"); short != "" {
		return short
	}
	return "/"
}

// There returns the agent's path for one of ours.
func (m Mapping) There(path string) string { return translated(m.out, path) }

// Here returns our path for one of the agent's.
func (m Mapping) Here(path string) string { return translated(m.in, path) }

// Comes reports whether one of the agent's paths is a place here. Of an agent that runs elsewhere, a
// path that is not mapped means nothing on this machine.
func (m Mapping) Comes(path string) bool { return covers(m.in, path) }

// Goes reports whether one of our paths is a place where the agent runs.
func (m Mapping) Goes(path string) bool { return covers(m.out, path) }

// covers reports whether a path is at or below a prefix, without a way back up. No prefixes cover all.
func covers(list []prefix, path string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(p prefix) bool {
		rest, ok := p.cut(path)
		return ok && !slices.Contains(strings.FieldsFunc(rest, func(r rune) bool { return r == '/' || r == '\\' }), "..")
	})
}

// cut returns the part of a path that follows the prefix.
func (p prefix) cut(path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, p.from)
	return rest, ok && (rest == "" || rest[0] == '/' || p.from == "/")
}

// URIThere returns the agent's address of one of our files. Other addresses stay as they are.
func (m Mapping) URIThere(uri string) string { return readdressed(m.out, uri) }

// URIHere returns our address of one of the agent's files.
func (m Mapping) URIHere(uri string) string { return readdressed(m.in, uri) }

func readdressed(list []prefix, uri string) string {
	u, err := url.Parse(uri)
	if len(list) == 0 || err != nil || u.Scheme != "file" || u.Opaque != "" || u.Host != "" && u.Host != "localhost" {
		return uri
	}
	path := translated(list, u.Path)
	if path == u.Path {
		return uri // as it was written
	}
	u.Path, u.RawPath = path, ""
	return u.String()
}

func translated(list []prefix, path string) string {
	for _, p := range list {
		if rest, ok := p.cut(path); ok {
			return trimmed(strings.TrimRight(p.to, "/") + "/" + strings.TrimLeft(rest, "/"))
		}
	}
	return path
}

// Has returns a function that reports whether an agent with these paths can have a folder of this
// machine.
func Has(paths map[string]string) func(dir string) bool { return New(paths).Goes }
