package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dragoman/core/display"
)

// Position is a place in a file. Line and Column count from 1, in characters;
// both are 0 when the whole file is meant, or a layer that is no file.
type Position struct {
	File         string
	Line, Column int
}

// String returns file:line:column, or as much of it as is known.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Problem is one thing that is wrong, or worth knowing, about a setting.
type Problem struct {
	Position
	Key     string // path of the setting; empty when the file as a whole is meant
	Message string // never holds a secret
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

// Error is what is wrong with a configuration: all of it, in the order of the
// file, at least one problem.
type Error struct{ Problems []Problem }

// Error returns one problem a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// asError returns nil for no problems, else an *Error with the problems sorted.
func asError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	sortProblems(problems)
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(
			problems[:maxProblems:maxProblems],
			Problem{Position: Position{File: problems[0].File}, Message: fmt.Sprintf("and %d more problems", more)},
		)
	}
	return &Error{Problems: problems}
}

// maxProblems bounds what is reported of one file.
const maxProblems = 50

func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Key, b.Key), // mappings are checked in no order
			cmp.Compare(a.Message, b.Message),
		)
	})
}

// Where reports where a file wrote a key, for example "log.level". It reports
// false for a default and for what did not come from a file.
func (c *Config) Where(key string) (Position, bool) {
	p, ok := c.where[key]
	return p, ok && p.Line > 0
}

// near returns where key was written, else where the closest key above it was.
func (c *Config) near(key string) Position {
	for key != "" {
		if p, ok := c.where[key]; ok {
			return p
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return Position{File: c.Source}
}

// join appends a name to a key. A name of other characters than a setting's
// own is quoted.
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

// quote makes a text from a file fit for a message: one line, bounded.
func quote(s string) string { return strconv.Quote(cut(s)) }
