package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns s as a person can see all of it: control characters, characters without a
// width or that turn the direction of text, invalid bytes and long runs of blanks are named
// between ⟨ and ⟩, and a new line is ⏎. These signs are named as well if they are in s, so
// two different texts never look the same.
func Visible(s string) string { return reveal(s, false) }

// VisibleLines is Visible for a text of several lines: they stay lines, and tabs
// stay tabs.
func VisibleLines(s string) string { return reveal(s, true) }

func reveal(s string, lines bool) string {
	if printableASCII(s) {
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
		case Unseen(r) || r == '⟨' || r == '⟩' || r == '⏎':
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// printableASCII reports whether s is short runs of printable ASCII only.
func printableASCII(s string) bool {
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

// Unseen reports whether a character cannot be seen: it prints nothing, or only changes
// how others look. Blanks other than that of ASCII count, since they look like it, and so do
// characters that a screen may have no sign for.
func Unseen(r rune) bool {
	if r >= ' ' && r <= '~' {
		return false
	}
	return !unicode.IsPrint(r) || Hides(r)
}

// Hides is Unseen for prose, which may contain the blanks of other scripts, private characters
// and characters that are newer than this program: it reports only characters that have no
// width, control a screen or change how others look.
func Hides(r rune) bool {
	if r >= ' ' && r <= '~' {
		return false
	}
	return unicode.IsControl(r) || r == '\u2800' || // the empty Braille pattern
		unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector, unicode.Bidi_Control)
}

// joins reports whether a character that hides belongs to the one that it follows, as in
// emoji and in scripts that join their letters.
func joins(before, r rune) bool {
	switch r {
	case emojiStyle:
		return before >= utf8.RuneSelf && !Hides(before)
	case '\u200c', '\u200d':
		return before >= utf8.RuneSelf && (before == emojiStyle || !Hides(before))
	}
	return false
}

// emojiStyle asks for the picture of the sign that it follows.
const emojiStyle = '\ufe0f'
