package tools

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/core/display"
)

// titleMax is how many characters of a text a title shows.
const titleMax = 160

// visible is display.Visible, which every text in a title or a preview goes through.
func visible(s string) string { return display.Visible(s) }

// visibleLines is visible for a text of several lines.
func visibleLines(s string) string { return display.VisibleLines(s) }

// code sets s as a code span that nothing in it can end.
func code(s string) string {
	s = visible(s)
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// codeBlock sets s as a block that nothing in it can end.
func codeBlock(s, lang string) string {
	s = visibleLines(s)
	fence := strings.Repeat("`", max(3, longestRun(s, '`')+1))
	return fence + lang + "\n" + strings.TrimSuffix(s, "\n") + "\n" + fence
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
		} else if run++; run > longest {
			longest = run
		}
	}
	return longest
}

// label sets a file's name for a title: bare where it is harmless, else as a
// code span, and never longer than a line.
func label(name string) string {
	for _, r := range name {
		if r < utf8.RuneSelf && !strings.ContainsRune("._-/+@=,:\\", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) || display.Unseen(r) {
			return code(name)
		}
	}
	return visible(name)
}

// hiddenIn lists where now has hidden characters that was did not have, for a
// warning beside a diff; at most three.
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

// suspicious is hidden, without what source files normally hold.
func suspicious(r rune) bool {
	return r >= utf8.RuneSelf && r != '\u00a0' && r != '\ufe0f' && display.Unseen(r) || r < ' ' && r != '\n' && r != '\t' && r != '\r' && r != '\f'
}
