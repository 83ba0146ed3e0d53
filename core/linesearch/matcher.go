package linesearch

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	maxPattern = 10_000  // bytes of a pattern
	chunk      = 4 << 10 // bytes of whole lines that the expression runs over at once
)

// Matcher finds the lines that match a regular expression, each line by itself.
type Matcher struct {
	re     *regexp.Regexp
	across bool    // it can match a line end
	ends   bool    // it can match the beginning or the end of the text
	needs  literal // text that every match contains
}

// New compiles a pattern of RE2's syntax. With fold, case does not matter.
func New(pattern string, fold bool) (*Matcher, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("is longer than %d bytes", maxPattern)
	}
	flags := "(?m)"
	if fold {
		flags = "(?mi)"
	}
	re, err := regexp.Compile(flags + pattern)
	if err != nil {
		return nil, fmt.Errorf("is not a valid regular expression: %w", err)
	}
	tree, _ := syntax.Parse(flags+pattern, syntax.Perl) // already checked above
	m := &Matcher{re: re}
	m.look(tree)
	m.needs = required(tree.Simplify()).ready()
	return m, nil
}

// look finds out what the expression can match.
func (m *Matcher) look(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar:
		m.across = true
	case syntax.OpBeginText, syntax.OpEndText:
		m.across, m.ends = true, true
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			m.across = m.across || r == '\n'
		}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			m.across = m.across || re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1]
		}
	}
	for _, sub := range re.Sub {
		m.look(sub)
	}
}

// First returns where the first match in a line begins; -1: nowhere.
func (m *Matcher) First(line []byte) int {
	loc := m.re.FindIndex(line)
	if loc == nil {
		return -1
	}
	return loc[0]
}

// Line is a line within a text.
type Line struct{ No, Start, End int }

// Lines returns the first matching lines, at most limit of them. Lines end with "\n".
func (m *Matcher) Lines(data []byte, limit int) []Line {
	s := lines{data: data, limit: limit}
	switch {
	case m.needs.usable(data):
		m.around(&s)
	case m.ends:
		m.each(&s, len(data))
	default:
		m.chunks(&s)
	}
	return s.list
}

// around looks at the lines with text that a match contains.
func (m *Matcher) around(s *lines) {
	find := m.needs.in(s.data)
	for !s.full() {
		at := find.next(s.at)
		if at < 0 {
			return
		}
		start := bytes.LastIndexByte(s.data[:at], '\n') + 1
		end := at + length(s.data[at:])
		if m.needs.exact || m.re.Match(s.data[start:end]) {
			s.add(start, end)
		}
		s.at = end + 1
	}
}

// each looks at the lines before an offset one by one.
func (m *Matcher) each(s *lines, until int) {
	for s.at < until && !s.full() {
		end := s.at + length(s.data[s.at:])
		if m.re.Match(s.data[s.at:end]) {
			s.add(s.at, end)
		}
		s.at = end + 1
	}
}

// chunks looks at several lines at once. What matches a single line also matches among others.
func (m *Matcher) chunks(s *lines) {
	for !s.full() {
		last := min(s.at+chunk, len(s.data)-1)
		end := last + length(s.data[last:])
		loc := m.re.FindIndex(s.data[s.at:end])
		switch {
		case loc == nil:
			s.at = end + 1
		case m.across:
			m.each(s, end+1)
		default:
			hit := s.at + loc[0]
			start := bytes.LastIndexByte(s.data[:hit], '\n') + 1
			end := hit + length(s.data[hit:])
			s.add(start, end)
			s.at = end + 1
		}
	}
}

// length returns the length of the first line of data.
func length(data []byte) int {
	if n := bytes.IndexByte(data, '\n'); n >= 0 {
		return n
	}
	return len(data)
}

// lines collects lines of a text.
type lines struct {
	data    []byte
	limit   int
	list    []Line
	at      int // the beginning of a line; those before it are done
	counted int // the beginning of the line no+1
	no      int
}

// full reports whether there is nothing more to find.
func (s *lines) full() bool { return s.at >= len(s.data) || len(s.list) >= s.limit }

func (s *lines) add(start, end int) {
	s.no += bytes.Count(s.data[s.counted:start], []byte{'\n'})
	s.counted = start
	s.list = append(s.list, Line{s.no + 1, start, end})
}
