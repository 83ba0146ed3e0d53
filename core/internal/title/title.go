// Package title makes titles of sessions.
package title

import "strings"

// Of returns the first line of a text that is not blank, at most 60 characters: the first one outside of
// fenced code, if there is one.
func Of(text string) string {
	line := first(text)
	const most = 60
	short := []rune(line[:min(len(line), 4*most+4)]) // more than most characters, if there are more
	if len(short) > most {
		return strings.TrimSpace(string(short[:most-1])) + "…"
	}
	return line
}

// first returns the first line outside of fenced code, else the first one inside; both without blanks.
func first(text string) (inside string) {
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch mark := fenceOf(line); {
		case fence == "" && mark != "":
			fence = mark
		case fence != "" && strings.HasPrefix(mark, fence) && mark == line:
			fence = ""
		case line == "":
		case fence == "":
			return line
		case inside == "":
			inside = line
		}
	}
	return inside
}

// fenceOf returns the fence that a line begins with; empty: it begins with none.
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		if rest := strings.TrimLeft(line, mark); len(line)-len(rest) >= 3 {
			return line[:len(line)-len(rest)]
		}
	}
	return ""
}
