package configs

import (
	"slices"
	"strings"

	"dragoman/core/glob"
)

// patterns are the languages of settings that are patterns, by the word in their tag. Each
// returns the fault in a text, or "".
var patterns = map[string]func(string) string{
	"path": func(s string) string {
		if err := glob.CheckPath(s); err != nil {
			return "is not a pattern of paths, for " + err.Error() + ": " + quote(s)
		}
		if slices.Contains(strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == '\\' }), "..") {
			return `must not hold "..": ` + quote(s)
		}
		return ""
	},
	"text": badText,
	"tool": func(s string) string {
		s, _, _ = strings.Cut(s, "(") // other programs write this after a tool's name
		return badText(s)
	},
}

func badText(s string) string {
	if _, err := glob.ParseText(s); err != nil {
		return "is not a pattern: " + err.Error() + ": " + quote(s)
	}
	return ""
}
