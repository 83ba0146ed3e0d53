// Package title makes titles of sessions.
package title

import "strings"

// Of returns the first line of a text that is not blank, at most 60 characters.
func Of(text string) string {
	const most = 60
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.TrimSpace(line)
	short := []rune(line[:min(len(line), 4*most+4)]) // more than most characters, if there are more
	if len(short) > most {
		return strings.TrimSpace(string(short[:most-1])) + "…"
	}
	return line
}
