package display

import (
	"strconv"
	"strings"
)

// Plain is Seen on one line: line breaks are left out, too.
func Plain(s string) string { return without(s, "\t") }

// Seen returns a text without the characters that nobody sees, so that what a person approves
// is what a model reads. Lines and tabs stay, and the sign that asks for the picture of an
// emoji, behind one.
func Seen(s string) string { return without(s, "\t\n") }

// without leaves out what hides in a text, but for what is kept.
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

// Word returns a word as it can be told from others: in quotes where it holds anything
// but plain characters, with those spelled out that nobody sees.
func Word(s string) string {
	odd := func(r rune) bool {
		return r == ' ' || r == '"' || r == '\\' || r == '\'' || Unseen(r)
	}
	if s != "" && !strings.ContainsFunc(s, odd) {
		return s
	}
	return strconv.QuoteToASCII(s)
}
