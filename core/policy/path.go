package policy

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/core/display"
)

// foldPath brings the spellings together that some file system takes for the
// same file: case, full-width letters, invisible characters, dots and spaces at
// the end of a name, streams. The leading slash is dropped.
func foldPath(p string) string {
	if plainPath(p) {
		return strings.ToLower(p[1:])
	}
	p = filepath.ToSlash(filepath.Clean(p))
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i, part := range parts {
		s := fold(part)
		if name, _, ok := strings.Cut(s, ":"); ok && len(name) > 1 { // name:stream, but not a drive
			s = name
		}
		if t := strings.TrimRight(s, ". "); t != "" {
			s = t
		}
		parts[i] = s
	}
	return strings.Join(parts, "/")
}

// plainPath reports whether foldPath changes nothing of an absolute path but its leading slash and the
// case of ASCII letters, as of nearly all.
func plainPath(p string) bool {
	if len(p) < 2 || p[0] != '/' {
		return false
	}
	before := p[0]
	for i := 1; i < len(p); i++ {
		c := p[i]
		if c >= utf8.RuneSelf || c == ':' || c == '\\' || c == '/' && (before == '/' || before == '.' || before == ' ') {
			return false
		}
		before = c
	}
	return before != '/' && before != '.' && before != ' '
}

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0xff01 && r <= 0xff5e: // full-width forms of ASCII
			r -= 0xff01 - '!'
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// show quotes text with special characters, and shortens long text.
func show(s string) string {
	const most = 120
	long := len(s) > most
	if long {
		s = display.Cut(s, most)
	}
	if !shownAsIs(s) {
		s = strconv.QuoteToASCII(s)
	}
	if long {
		s += "…"
	}
	return s
}

// shownAsIs reports whether a person sees in s what there is: nothing
// invisible, nothing that moves the cursor or turns the direction of text.
func shownAsIs(s string) bool {
	return !strings.ContainsFunc(
		s,
		func(r rune) bool { return display.Unseen(r) || r == unicode.ReplacementChar },
	)
}
