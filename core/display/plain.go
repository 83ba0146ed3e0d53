package display

import (
	"strconv"
	"strings"
)

// Plain is Seen on one line: line breaks are left out, too.
func Plain(s string) string { return without(s, "\t") }

// Seen returns a text without its invisible characters, so that a person approves the same
// text that a model reads. Line ends and tabs stay, and so does a variation selector after an
// emoji.
func Seen(s string) string { return without(s, "\t\n") }

// without removes the hidden characters of a text, except those in kept.
func without(s, kept string) string {
	var before rune
	return strings.Map(func(r rune) rune {
		last := before
		before = r
		if Hides(r) && !strings.ContainsRune(kept, r) && !(r == emojiStyle && joins(last, r)) {
			return -1
		}
		return r
	}, s)
}

// Word returns a word in a form that cannot be confused with another: in quotes if it has
// anything but plain characters, with invisible ones spelled out.
func Word(s string) string {
	odd := func(r rune) bool {
		return r == ' ' || r == '"' || r == '\\' || r == '\'' || Unseen(r)
	}
	if s != "" && !strings.ContainsFunc(s, odd) {
		return s
	}
	return strconv.QuoteToASCII(s)
}
