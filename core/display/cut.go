package display

import "unicode/utf8"

// Cut returns the first n bytes of a text, or a few less, so that no character is cut.
func Cut[T ~string | ~[]byte](s T, n int) T {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for back := 1; n > 0 && back < utf8.UTFMax && !utf8.RuneStart(s[n]); back++ {
		n--
	}
	return s[:n]
}

// CutEnd returns the last n bytes of a text, or a few less, so that no character is cut.
func CutEnd[T ~string | ~[]byte](s T, n int) T {
	if len(s) <= n {
		return s
	}
	i := len(s) - max(n, 0)
	for back := 1; i < len(s) && back < utf8.UTFMax && !utf8.RuneStart(s[i]); back++ {
		i++
	}
	return s[i:]
}

// Ends returns the beginning and the end of a text that is longer than n bytes, together at
// most n, and how many bytes are left out between them.
func Ends[T ~string | ~[]byte](s T, head, tail int) (first, last T, left int) {
	first, last = Cut(s, head), CutEnd(s, tail)
	return first, last, len(s) - len(first) - len(last)
}
