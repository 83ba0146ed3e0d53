// Package runes cuts texts between characters, and counts them.
package runes

import (
	"math/bits"
	"unicode/utf8"
)

// Count returns the number of characters of a text in UTF-8, eight bytes at a time.
func Count(s string) (n int) {
	const low = 0x0101010101010101
	n = len(s)
	for ; len(s) >= 8; s = s[8:] {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		n -= bits.OnesCount64(w >> 7 &^ (w >> 6) & low) // of bytes 10xxxxxx, which begin no character
	}
	for i := range len(s) {
		if !utf8.RuneStart(s[i]) {
			n--
		}
	}
	return n
}

// Cut returns the longest prefix of whole runes that is at most n bytes.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
