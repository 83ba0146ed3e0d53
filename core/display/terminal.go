package display

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable makes text from others safe for a terminal. Control characters, which could move
// the cursor, rename the window or hide a command, are shown as one sign. So are characters
// that reverse the direction of writing, end a line invisibly, or have no width. Joiners stay
// after a character of a script or an emoji.
func Printable(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	before := rune(0)
	bad := func(r rune) bool {
		last := before
		before = r
		return r != '\n' && r != '\t' && (r == utf8.RuneError || Hides(r) && !joins(last, r))
	}
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	before = 0
	return strings.Map(func(r rune) rune {
		if bad(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// Escaped returns a line of a log for a terminal, with invisible characters as in JSON.
func Escaped(line []byte) []byte {
	if bytes.IndexFunc(line, func(r rune) bool { return r != '\n' && r != '\t' && Hides(r) }) < 0 {
		return line
	}
	var out []byte
	for _, r := range string(line) {
		switch {
		case r == '\n' || r == '\t' || !Hides(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// Line returns printable text on one line of at most n characters.
func Line(s string, n int) string {
	s = strings.Join(strings.Fields(Printable(s)), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	short, _ := Clip(s, n-1)
	return strings.TrimSpace(short) + "…"
}

// FirstLines cuts a text after n lines and returns the number of the others.
func FirstLines(s string, n int) (head string, more int) {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) <= n {
		return strings.Join(lines, "\n"), 0
	}
	return strings.Join(lines[:n], "\n"), len(lines) - n
}

// Indented puts a mark in front of each line.
func Indented(s, mark string) string {
	return mark + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+mark)
}

// Counted returns a number of things in words: "1 tool", "2 tools".
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
