package display

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Code sets a text without hidden characters as a code span of Markdown that nothing in it
// can end.
func Code(s string) string {
	fence := strings.Repeat("`", backticks(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// Fenced sets a text as a block of code of Markdown that nothing in it can end. language may
// be empty.
func Fenced(language, s string) string {
	fence := strings.Repeat("`", max(3, backticks(s)+1))
	return fence + language + "\n" + strings.TrimSuffix(s, "\n") + "\n" + fence + "\n"
}

// backticks counts the backticks of the longest run.
func backticks(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
		} else if run++; run > longest {
			longest = run
		}
	}
	return longest
}

// Emphasis reports whether Markdown may take a character of a text for a sign: a backslash, or
// an underscore that is not alone between letters or digits.
func Emphasis(s string) bool {
	if strings.Contains(s, "\\") {
		return true
	}
	outside := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for i, r := range s {
		if r != '_' {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+1:])
		if outside(before) || outside(after) {
			return true
		}
	}
	return false
}
