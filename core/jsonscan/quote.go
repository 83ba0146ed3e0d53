package jsonscan

import (
	"cmp"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// largeString is the size in bytes above which the space for a string is allocated in
// advance.
const largeString = 64 << 10

// AppendString appends s as a JSON string. It escapes what JSON demands and the line
// separators of JavaScript, nothing for HTML, and puts U+FFFD for bytes that are not UTF-8.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	if len(s) > largeString {
		dst = slices.Grow(dst, len(s)+escapes(s)+len(`""`))
	}
	dst = append(dst, '"')
	for {
		n := ascii(s)
		dst = append(dst, s[:n]...)
		if s = s[n:]; len(s) == 0 {
			return append(dst, '"')
		}
		r, size := rune(s[0]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(string(s[:min(len(s), utf8.UTFMax)]))
		}
		dst = appendEscaped(dst, r)
		s = s[size:]
	}
}

// appendEscaped appends a character as it is written in a string.
func appendEscaped(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\n':
		return append(dst, '\\', 'n')
	case r == '\r':
		return append(dst, '\\', 'r')
	case r == '\t':
		return append(dst, '\\', 't')
	case r < ' ' || r == '\u2028' || r == '\u2029':
		return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// Fit returns how many bytes of s, in whole characters, take at most room bytes in a JSON
// string; at least one character.
func Fit(s string, room int) int {
	if len(s)*len(`\u0000`) <= room {
		return len(s)
	}
	for at := 0; ; {
		n := ascii(s[at:])
		if at += n; n > room {
			return max(at-n+room, 1)
		}
		if room -= n; at == len(s) {
			return at
		}
		r, size := utf8.DecodeRuneInString(s[at:])
		var one [len(`\u0000`)]byte
		if room -= len(appendEscaped(one[:0], r)); room < 0 {
			return cmp.Or(at, size)
		}
		at += size
	}
}

// escapes returns the number of bytes that AppendString adds to a text in UTF-8.
func escapes[T string | []byte](s T) (n int) {
	for i := ascii(s); i < len(s); i += 1 + ascii(s[i+1:]) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			n++
		case c < ' ':
			n += len(`u0000`)
		}
	}
	return n
}

// ascii returns how many bytes at the beginning of a text are ASCII characters that mean themselves
// in a string.
func ascii[T string | []byte](s T) (n int) {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for ; len(s)-n >= 8; n += 8 {
		w := word(s[n : n+8])
		quote, slash := w^each*'"', w^each*'\\'
		// The lowest bit that is set marks the first byte that is below ' ', a quote, a backslash or not ASCII.
		if marks := ((w - each*' ') | (quote-each)&^quote | (slash-each)&^slash | w) & high; marks != 0 {
			return n + bits.TrailingZeros64(marks)/8
		}
	}
	for n < len(s) && s[n] >= ' ' && s[n] != '"' && s[n] != '\\' && s[n] < utf8.RuneSelf {
		n++
	}
	return n
}

// word returns eight bytes as a number, the first one lowest. The compiler makes one load of it.
func word[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
