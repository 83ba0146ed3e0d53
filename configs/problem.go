package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dragoman/core/display"
)

// Position is a place in a file. Line and Column count from 1, in characters; both are 0 for the
// whole file, or for a layer that is not a file.
type Position struct {
	File         string
	Line, Column int
}

// String returns file:line:column, or its known part.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Problem is a mistake in a setting, or a warning about one.
type Problem struct {
	Position
	Key     string // path of the setting; empty for the whole file
	Message string // never contains a secret
}

// String returns "file:line:column: key: message".
func (p Problem) String() string {
	var b strings.Builder
	for _, part := range []string{p.Position.String(), p.Key} {
		if part != "" {
			b.WriteString(part)
			b.WriteString(": ")
		}
	}
	b.WriteString(p.Message)
	return b.String()
}

// Error lists all mistakes in a configuration, in the order of the file; there is at least one.
type Error struct{ Problems []Problem }

// Error returns one problem a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// asError returns nil for no problems, otherwise an *Error with the problems sorted.
func asError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	sortProblems(problems)
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(
			problems[:maxProblems:maxProblems],
			Problem{
				Position: Position{File: problems[0].File},
				Message:  fmt.Sprintf("and %d more problems", more),
			},
		)
	}
	return &Error{Problems: problems}
}

// maxProblems limits the reported problems of one file.
const maxProblems = 50

func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Key, b.Key), // mappings are checked in random order
			cmp.Compare(a.Message, b.Message),
		)
	})
}

// Where returns the position of a key in a file, for example "log.level". It returns false for a
// default and for a setting that is not from a file.
func (c *Config) Where(key string) (Position, bool) {
	p, ok := c.where[key]
	return p, ok && p.Line > 0
}

// near returns the position of a key, or of the closest written key above it.
func (c *Config) near(key string) Position {
	for key != "" {
		if p, ok := c.where[key]; ok {
			return p
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return Position{File: c.Source}
}

// join appends a name to a key. A name with other characters than a setting's own is quoted.
func join(key, name string) string {
	for _, r := range name {
		if !isWord(r) && r != '-' && r != '$' {
			return key + "[" + strconv.Quote(cut(name)) + "]"
		}
	}
	if key == "" {
		return name
	}
	return key + "." + name
}

func isWord(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
}

// cut shortens a text from a file for a message.
func cut(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	return display.Cut(s, limit) + "…"
}

// quote prepares a text from a file for a message: one line of limited length.
func quote(s string) string { return strconv.Quote(cut(s)) }
