package tools

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/core/display"
)

// titleMax is the number of characters of a text that a title shows.
const titleMax = 160

// visible is display.Visible; every text in a title or a preview passes through it.
func visible(s string) string { return display.Visible(s) }

// visibleLines is visible for a text of several lines.
func visibleLines(s string) string { return display.VisibleLines(s) }

// code formats s as a code span that nothing in it can end.
func code(s string) string { return display.Code(visible(s)) }

// codeInTitle formats the beginning of s that fits into a title as code, with the
// length of the rest.
func codeInTitle(s string) string {
	short, left := display.Clip(s, titleMax)
	if left == 0 {
		return code(short)
	}
	return fmt.Sprintf("%s … and %d more characters", code(short), left)
}

// codeBlock formats s as a block that nothing in it can end.
func codeBlock(s, lang string) string {
	return strings.TrimSuffix(display.Fenced(lang, visibleLines(s)), "\n")
}

// label formats a file's name for a title: bare if it is harmless, else as a code
// span, and always in one line.
func label(name string) string {
	for _, r := range name {
		if r < utf8.RuneSelf && !strings.ContainsRune("._-/+@=,:\\", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) ||
			display.Unseen(r) {
			return code(name)
		}
	}
	return visible(name)
}

// hiddenIn lists the lines where now has hidden characters that was did not have, for
// a warning below a diff; at most three.
func hiddenIn(was, now string) []string {
	had := map[rune]int{}
	for _, r := range was {
		if suspicious(r) {
			had[r]++
		}
	}
	var list []string
	line := 1
	for _, r := range now {
		if r == '\n' {
			line++
			continue
		}
		if !suspicious(r) {
			continue
		}
		if had[r]--; had[r] < 0 && len(list) < 3 {
			list = append(list, fmt.Sprintf("U+%04X in line %d", r, line))
		}
	}
	return list
}

// suspicious reports whether a character is hidden and unusual in source files.
func suspicious(r rune) bool {
	return r >= utf8.RuneSelf && r != '\u00a0' && r != '\ufe0f' && display.Unseen(r) ||
		r < ' ' && r != '\n' && r != '\t' && r != '\r' && r != '\f'
}
