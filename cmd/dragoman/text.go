package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable makes text that somebody else wrote safe for a terminal: control
// characters, which could move the cursor, rename the window or hide what a
// command does, are shown as one sign; so are those that turn the direction of
// writing round.
func printable(s string) string {
	bad := func(r rune) bool {
		switch {
		case r == '\n' || r == '\t':
			return false
		case r == utf8.RuneError, unicode.IsControl(r):
			return true
		}
		return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if bad(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// oneLine is printable text on one line of at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(printable(s)), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n-1])) + "…"
}

// firstLines cuts a text behind n lines and says how many there were more.
func firstLines(s string, n int) (head string, more int) {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) <= n {
		return strings.Join(lines, "\n"), 0
	}
	return strings.Join(lines[:n], "\n"), len(lines) - n
}

// indented puts a mark in front of each line.
func indented(s, mark string) string {
	return mark + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+mark)
}
