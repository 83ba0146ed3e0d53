package display

import (
	"strconv"
	"strings"
)

// Plain returns a text without what would do something to a terminal: control characters,
// except tabs, and those that turn the direction of text.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return -1
		}
		return r
	}, s)
}

// Seen returns a text without the characters that nobody sees, so that what a person approves
// is what a model reads. Lines and tabs stay.
func Seen(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r >= 0x200b && r <= 0x200f, r == 0x2060, r == 0xfeff, r >= 0xe0000 && r <= 0xe007f:
			return -1
		case Plain(string(r)) == "":
			return -1
		}
		return r
	}, s)
}

// Word returns a word as it can be told from others: in quotes where it holds anything
// but plain characters, with those spelled out that nobody sees.
func Word(s string) string {
	odd := func(r rune) bool {
		return r <= ' ' || r == '"' || r == '\\' || r == '\'' || !strconv.IsGraphic(r) || Seen(string(r)) == ""
	}
	if s != "" && !strings.ContainsFunc(s, odd) {
		return s
	}
	return strconv.QuoteToASCII(s)
}
