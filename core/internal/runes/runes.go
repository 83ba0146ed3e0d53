// Package runes cuts texts between characters.
package runes

import "unicode/utf8"

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
