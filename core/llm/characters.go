package llm

import (
	"math/bits"
	"unicode/utf8"
)

// characters returns the number of characters of a text in UTF-8. It counts eight bytes at a time, because
// all that a model says and is told passes here.
func characters[T ~string | ~[]byte](s T) (n int) {
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
