package policy

import (
	"path"
	"path/filepath"
	"strings"

	"dragoman/core/glob"
)

// real follows the links of an absolute path. What cannot be followed stays.
func (p place) real(at string) string {
	if p.resolve != nil && len(at) <= maxPath && filepath.IsAbs(at) {
		if real, err := p.resolve(at); err == nil {
			return filepath.ToSlash(real)
		}
	}
	return path.Clean(at)
}

// follow adds what the links of a path lead to. joined is the path before it was cleaned.
func (o *locator) follow(p, joined string, wild bool) {
	if !wild {
		if real := o.real(joined); real != p {
			o.mention(real, false)
		}
		return
	}
	words, ok := glob.Alternatives(joined, maxFollowed)
	if !ok {
		o.line.veiled = true
		return
	}
	if path.Clean(joined) != joined {
		cleaned, _ := glob.Alternatives(p, maxFollowed)
		words = append(words, cleaned...)
	}
	for _, w := range words {
		if !glob.Wild(w) {
			o.mention(o.real(w), false)
		} else if folder, rest, ok := plainFolder(w); ok {
			real := o.real(folder)
			if real != path.Clean(folder) {
				o.mention(path.Join(real, rest), true)
			}
			o.followAll(real, rest)
		}
	}
}

// followAll adds what the links in a folder lead to that a pattern matches, with what is behind its
// first name.
func (o *locator) followAll(folder, pattern string) {
	key := folder + "//" + pattern
	if o.links == nil || o.seen[key] {
		return
	}
	o.seen[key] = true
	names, looked := o.linksIn[folder]
	if !looked {
		names = o.links(folder)
		o.linksIn[folder] = names
	}
	first, rest, deeper := strings.Cut(pattern, "/")
	for _, name := range names {
		exact, err := glob.Path(glob.Quote(name))
		if err != nil {
			continue
		}
		ok, steps := glob.Meet(glob.Word(first, true), exact)
		if o.line.steps += steps; ok && !o.line.tired() {
			o.found = true
			o.mention(path.Join(o.real(folder+"/"+name), rest), deeper && glob.Wild(rest))
			o.found = false
		}
	}
}

// plainFolder splits a pattern before its first name with a wildcard.
func plainFolder(p string) (folder, rest string, ok bool) {
	i := strings.LastIndexByte(p[:strings.IndexAny(p, "*?[{")], '/')
	return p[:max(i, 0)], p[i+1:], i > 0
}
