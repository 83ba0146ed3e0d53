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

// label formats a file's name for a title that may be shown as Markdown: bare if it is harmless
// there, else as a code span, and always in one line.
func label(name string) string {
	if display.Emphasis(name) {
		return code(name)
	}
	return plainLabel(name)
}

// plainLabel is label for the title of a command or of a change to a file, which clients show as
// plain text.
func plainLabel(name string) string {
	for _, r := range name {
		if r < utf8.RuneSelf && !strings.ContainsRune("._-/+@=,:\\", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) ||
			display.Unseen(r) {
			return code(name)
		}
	}
	return visible(name)
}
