package columns

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	joiner     = '\u200d'
	emojiStyle = '\ufe0f'
)

// Cluster returns the first cluster of a text that is not empty, and its width in columns.
func Cluster(s string) (cluster string, width int) {
	first, n := utf8.DecodeRuneInString(s)
	width = runeWidth(first)
	if isFlag(first) {
		if second, m := utf8.DecodeRuneInString(s[n:]); isFlag(second) {
			n, width = n+m, 2
		}
	}
	for n < len(s) {
		r, m := utf8.DecodeRuneInString(s[n:])
		switch {
		case r == emojiStyle && first > 0xff:
			width = 2
		case r == joiner && isPicture(first):
			if next, k := utf8.DecodeRuneInString(s[n+m:]); isPicture(next) {
				m += k
			}
		case isTone(r) && isPicture(first), runeWidth(r) == 0 && r >= utf8.RuneSelf:
		default:
			return s[:n], width
		}
		n += m
	}
	return s, width
}

// Last returns the last cluster of a text if more characters may become a part of it.
func Last(s string) string {
	end := len(s)
	for i := 0; end > 0 && i < maxCluster; i++ {
		r, n := utf8.DecodeLastRuneInString(s[:end])
		if r < 0x300 {
			break
		}
		end -= n
	}
	last := ""
	for rest := s[end:]; rest != ""; rest = rest[len(last):] {
		last, _ = Cluster(rest)
	}
	return last
}

// maxCluster is more characters than a cluster has.
const maxCluster = 64

// Extends reports whether a character belongs to the cluster that ends in front of it.
func Extends(cluster string, r rune) bool {
	if cluster == "" || cluster == "\n" || cluster == "\t" {
		return false
	}
	whole := cluster + string(r)
	got, _ := Cluster(whole)
	return len(got) == len(whole)
}

// Width returns the columns that a text on one line takes.
func Width(s string) (n int) {
	for s != "" {
		if code := Colour(s); code > 0 {
			s = s[code:]
			continue
		}
		cluster, width := Cluster(s)
		n += width
		s = s[len(cluster):]
	}
	return n
}

// Colour returns the length of the sequence that changes colours at the beginning of a text; 0:
// there is none.
func Colour(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < len(s); i++ {
		if s[i] == 'm' {
			return i + 1
		} else if s[i] != ';' && (s[i] < '0' || s[i] > '9') {
			break
		}
	}
	return 0
}

func runeWidth(r rune) int {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return 0
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), r >= 0x1160 && r <= 0x11ff: // vowels of Hangul
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

func isFlag(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

func isTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// isPicture reports whether a character can be a part of an emoji.
func isPicture(r rune) bool { return r > 0xff && unicode.Is(unicode.So, r) || isTone(r) }

// wide has the characters that take two columns: those whose East Asian Width is W or F in
// Unicode 14.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1},
		{0x231a, 0x231b, 1},
		{0x2329, 0x232a, 1},
		{0x23e9, 0x23ec, 1},
		{0x23f0, 0x23f0, 1},
		{0x23f3, 0x23f3, 1},
		{0x25fd, 0x25fe, 1},
		{0x2614, 0x2615, 1},
		{0x2648, 0x2653, 1},
		{0x267f, 0x267f, 1},
		{0x2693, 0x2693, 1},
		{0x26a1, 0x26a1, 1},
		{0x26aa, 0x26ab, 1},
		{0x26bd, 0x26be, 1},
		{0x26c4, 0x26c5, 1},
		{0x26ce, 0x26ce, 1},
		{0x26d4, 0x26d4, 1},
		{0x26ea, 0x26ea, 1},
		{0x26f2, 0x26f3, 1},
		{0x26f5, 0x26f5, 1},
		{0x26fa, 0x26fa, 1},
		{0x26fd, 0x26fd, 1},
		{0x2705, 0x2705, 1},
		{0x270a, 0x270b, 1},
		{0x2728, 0x2728, 1},
		{0x274c, 0x274c, 1},
		{0x274e, 0x274e, 1},
		{0x2753, 0x2755, 1},
		{0x2757, 0x2757, 1},
		{0x2795, 0x2797, 1},
		{0x27b0, 0x27b0, 1},
		{0x27bf, 0x27bf, 1},
		{0x2b1b, 0x2b1c, 1},
		{0x2b50, 0x2b50, 1},
		{0x2b55, 0x2b55, 1},
		{0x2e80, 0x303e, 1},
		{0x3041, 0x3247, 1},
		{0x3250, 0x4dbf, 1},
		{0x4e00, 0xa4c6, 1},
		{0xa960, 0xa97c, 1},
		{0xac00, 0xd7a3, 1},
		{0xf900, 0xfad9, 1},
		{0xfe10, 0xfe19, 1},
		{0xfe30, 0xfe6b, 1},
		{0xff01, 0xff60, 1},
		{0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18cd5, 1},
		{0x18d00, 0x18d08, 1},
		{0x1aff0, 0x1b122, 1},
		{0x1b150, 0x1b2fb, 1},
		{0x1f004, 0x1f004, 1},
		{0x1f0cf, 0x1f0cf, 1},
		{0x1f18e, 0x1f18e, 1},
		{0x1f191, 0x1f19a, 1},
		{0x1f200, 0x1f265, 1},
		{0x1f300, 0x1f320, 1},
		{0x1f32d, 0x1f335, 1},
		{0x1f337, 0x1f37c, 1},
		{0x1f37e, 0x1f393, 1},
		{0x1f3a0, 0x1f3ca, 1},
		{0x1f3cf, 0x1f3d3, 1},
		{0x1f3e0, 0x1f3f0, 1},
		{0x1f3f4, 0x1f3f4, 1},
		{0x1f3f8, 0x1f43e, 1},
		{0x1f440, 0x1f440, 1},
		{0x1f442, 0x1f4fc, 1},
		{0x1f4ff, 0x1f53d, 1},
		{0x1f54b, 0x1f54e, 1},
		{0x1f550, 0x1f567, 1},
		{0x1f57a, 0x1f57a, 1},
		{0x1f595, 0x1f596, 1},
		{0x1f5a4, 0x1f5a4, 1},
		{0x1f5fb, 0x1f64f, 1},
		{0x1f680, 0x1f6c5, 1},
		{0x1f6cc, 0x1f6cc, 1},
		{0x1f6d0, 0x1f6d2, 1},
		{0x1f6d5, 0x1f6df, 1},
		{0x1f6eb, 0x1f6ec, 1},
		{0x1f6f4, 0x1f6fc, 1},
		{0x1f7e0, 0x1f7f0, 1},
		{0x1f90c, 0x1f93a, 1},
		{0x1f93c, 0x1f945, 1},
		{0x1f947, 0x1f9ff, 1},
		{0x1fa70, 0x1faf6, 1},
		{0x20000, 0x3fffd, 1},
	},
}
