package guide

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"dragoman/core/display"
)

var errNotText = errors.New("it is not UTF-8 text")

// textOf converts a file's bytes to text: UTF-8, lines that end in one newline, no
// byte order mark.
func textOf(data []byte) (string, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", errNotText
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n"), nil
}

// legible replaces characters that a model reads and a person does not see by their
// names, between ⟨ and ⟩: control characters, changes of the text's direction, tags,
// and characters without width, except where scripts and emoji need them. found
// reports whether there were any.
func legible(s string) (text string, found bool) {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f }) {
		return s, false
	}
	var b strings.Builder
	b.Grow(len(s))
	var before rune
	for _, r := range s {
		if lurks(before, r) {
			found = true
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
		before = r
	}
	if !found {
		return s, false
	}
	return b.String(), true
}

// lurks reports whether a character is hidden, given the one before it.
func lurks(before, r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r == '\u00ad' || r == '\u200e' || r == '\u200f' || r == '\u061c': // soft hyphen, marks of direction
		return false
	case r == '\u200c' || r == '\u200d' || r >= '\ufe00' && r <= '\ufe0f': // one joins or varies; many are a code
		return joins(before)
	}
	return display.Hides(r)
}

// joins reports whether the character before a joiner or variant is one itself, so
// that the second one hides. An emoji's variant may be joined to the next emoji, so
// that pair counts as one.
func joins(before rune) bool {
	return before == '\u200c' || before == '\u200d' || before >= '\ufe00' && before < '\ufe0f'
}

// tagLike matches anything that could pass for the tags that System adds around a
// text.
var tagLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)<(\s*/?\s*(?:instructions|rule)\b)`) })

// framed encloses a text in tags that nothing in it can end. attributes are names and
// values in turn; the values have no hidden characters.
func framed(tag, text string, attributes ...string) string {
	var b strings.Builder
	b.WriteString("<" + tag)
	for i := 0; i+1 < len(attributes); i += 2 {
		b.WriteString(" " + attributes[i] + `="` + escapes.Replace(attributes[i+1]) + `"`)
	}
	b.WriteString(">\n")
	b.WriteString(strings.TrimSpace(tagLike().ReplaceAllString(text, "&lt;$1")))
	b.WriteString("\n</" + tag + ">\n")
	return b.String()
}

var escapes = strings.NewReplacer(`"`, "&quot;", "<", "&lt;", ">", "&gt;")

// oneLine fits a text into a list: one line, no hidden characters, at most n bytes,
// cut between characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	s = display.Visible(s)
	if len(s) <= n {
		return s
	}
	return strings.TrimSpace(display.Cut(s, n-len("…"))) + "…"
}

// badName returns the problem of the name of a command, skill or agent, or "". People
// type these names after a slash, and models pass them to tools.
func badName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "the name is empty"
	case len(name) > maxName:
		return fmt.Sprintf("the name is longer than %d bytes", maxName)
	case strings.ContainsAny(name, `/\`):
		return "the name holds a path separator"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "the name holds a control character"
	case name == "." || name == "..":
		return "the name is that of a folder"
	}
	return ""
}

// nameOf makes a name easy to type: no blanks, no hidden characters.
func nameOf(s string) string { return display.Visible(strings.Join(strings.Fields(s), "-")) }
