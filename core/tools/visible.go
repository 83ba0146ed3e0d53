package tools

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// titleMax is how many characters of a text a title shows.
const titleMax = 160

// visible returns s so that a person who reads it sees what is there: control
// characters, what turns the direction of text, what has no width, invalid
// bytes and long runs of blanks are named between ⟨ and ⟩, a new line is ⏎. The
// signs used for that are named as well where they stand in s itself, so two
// different texts never look the same.
func visible(s string) string { return reveal(s, false) }

// visibleLines is visible for a text of several lines: they stay lines, and tabs
// stay tabs.
func visibleLines(s string) string { return reveal(s, true) }

func reveal(s string, lines bool) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "⟨x%02X⟩", s[0])
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString("⏎")
		case r == ' ':
			if n = len(s) - len(strings.TrimLeft(s, " ")); n > 16 {
				fmt.Fprintf(&b, "⟨%d blanks⟩", n)
			} else {
				b.WriteString(s[:n])
			}
		case hidden(r) || r == '⟨' || r == '⟩' || r == '⏎':
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// plain reports whether s is short runs of printable ASCII only.
func plain(s string) bool {
	blanks := 0
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' {
			return false
		}
		if c != ' ' {
			blanks = 0
		} else if blanks++; blanks > 16 {
			return false
		}
	}
	return true
}

// hidden reports whether a character has no look of its own.
func hidden(r rune) bool {
	if r >= ' ' && r <= '~' {
		return false
	}
	return !unicode.IsPrint(r) || r == '\u2800' ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Bidi_Control)
}

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
		if r < utf8.RuneSelf && !strings.ContainsRune("._-/+@=,:\\", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) || hidden(r) {
			return code(name)
		}
	}
	return visible(name)
}

// clip cuts s to n characters and says how many follow.
func clip(s string, n int) (short string, left int) {
	if len(s) <= n {
		return s, 0
	}
	i, count := 0, 0
	for i = range s {
		if count == n {
			return s[:i], utf8.RuneCountInString(s[i:])
		}
		count++
	}
	return s, 0
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
	return r >= utf8.RuneSelf && r != '\u00a0' && r != '\ufe0f' && hidden(r) || r < ' ' && r != '\n' && r != '\t' && r != '\r' && r != '\f'
}
