package diff

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"dragoman/core/display"
)

// hiddenIn lists the lines where now has hidden characters that was did not have, for
// a warning below a diff; at most three.
func hiddenIn(was, now string) []string {
	had := map[rune]int{}
	eachHidden(was, func(r rune, _ int) { had[r]++ })
	var list []string
	eachHidden(now, func(r rune, line int) {
		if had[r]--; had[r] < 0 && len(list) < 3 {
			list = append(list, fmt.Sprintf("U+%04X in line %d", r, line))
		}
	})
	return list
}

// eachHidden calls f with each suspicious character and its line. The joiners inside of emoji are
// not among them.
func eachHidden(s string, f func(r rune, line int)) {
	line, last := 1, rune(0)
	for i, r := range s {
		switch {
		case r == '\n':
			line++
		case r == '\u200d' && isPicture(last) && isPicture(firstRune(s[i+len("\u200d"):])):
		case suspicious(r):
			f(r, line)
		}
		last = r
	}
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// isPicture reports whether a character can be a part of an emoji.
func isPicture(r rune) bool {
	return r >= 0x2190 && unicode.Is(unicode.So, r) || r == '\ufe0f' || r >= 0x1f3fb && r <= 0x1f3ff
}

// suspicious reports whether a character is hidden and unusual in source files.
func suspicious(r rune) bool {
	return r >= utf8.RuneSelf && r != '\u00a0' && r != '\ufe0f' && display.Unseen(r) ||
		r < ' ' && r != '\n' && r != '\t' && r != '\r' && r != '\f'
}
