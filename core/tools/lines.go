package tools

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"dragoman/core/display"
)

// maxLine is the number of bytes of a long line that grep shows.
const maxLine = 400

// matcher finds the lines that match a regular expression, each line by itself. If
// the expression cannot match across a line end, it runs over the whole text, which
// is several times as fast.
type matcher struct {
	pattern string
	re      *regexp.Regexp
	across  bool // it can match a line end
	ends    bool // it can match the beginning or the end of the text
	// must is ASCII text that every match contains, in lower case if fold is set.
	// Looking for it first spares most files the regular expression.
	must []byte
	fold bool
}

func newMatcher(pattern string, fold bool) (*matcher, error) {
	if len(pattern) > 10_000 {
		return nil, fmt.Errorf("argument %q is too long", "pattern")
	}
	flags := "(?m)"
	if fold {
		flags = "(?mi)"
	}
	re, err := regexp.Compile(flags + pattern)
	if err != nil {
		return nil, fmt.Errorf("argument %q is not a valid regular expression: %v", "pattern", err)
	}
	tree, _ := syntax.Parse(flags+pattern, syntax.Perl) // already checked above
	m := &matcher{pattern: pattern, re: re}
	m.look(tree)
	must, fold := required(tree.Simplify())
	m.must, m.fold = []byte(must), fold
	return m, nil
}

// required finds the longest literal that every match contains.
func required(re *syntax.Regexp) (lit string, fold bool) {
	switch re.Op {
	case syntax.OpLiteral:
		fold = re.Flags&syntax.FoldCase != 0
		for _, r := range re.Rune {
			if r >= utf8.RuneSelf {
				return "", false
			}
		}
		if lit = string(re.Rune); fold {
			lit = strings.ToLower(lit)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if l, f := required(sub); len(l) > len(lit) {
				lit, fold = l, f
			}
		}
	}
	return lit, fold
}

// possible reports whether data can contain a match.
func (m *matcher) possible(data []byte) bool {
	if len(m.must) == 0 {
		return true
	}
	if !m.fold {
		return bytes.Contains(data, m.must)
	}
	// Piece by piece, in lower case, with an overlap. Characters other than ASCII may
	// fold to ASCII ones (the Kelvin sign to k): then the regular expression has to
	// decide.
	var low [4096]byte
	for {
		n := min(len(data), len(low))
		for i, c := range data[:n] {
			if c >= utf8.RuneSelf {
				return true
			}
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			low[i] = c
		}
		if bytes.Contains(low[:n], m.must) {
			return true
		}
		if n < len(low) || len(m.must) >= len(low) {
			return len(m.must) >= len(low)
		}
		data = data[n-len(m.must)+1:]
	}
}

// look finds out what the expression can match.
func (m *matcher) look(re *syntax.Regexp) {
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

// stretch is a line within a text.
type stretch struct{ no, start, end int }

// all returns the first matching lines, at most limit of them.
func (m *matcher) all(data []byte, limit int) []stretch {
	if !m.possible(data) {
		return nil
	}
	if m.across && !m.ends && !m.re.Match(data) {
		return nil // every match in a single line is also a match here
	}
	var list []stretch
	no, at := 1, 0 // the number and offset of the current line
	for at < len(data) && len(list) < limit {
		if m.across {
			end := at + lineLen(data[at:])
			if m.re.Match(data[at:end]) {
				list = append(list, stretch{no, at, end})
			}
			no, at = no+1, end+1
			continue
		}
		loc := m.re.FindIndex(data[at:])
		if loc == nil || at+loc[0] == len(data) && data[len(data)-1] == '\n' {
			break
		}
		hit := at + loc[0]
		no += bytes.Count(data[at:hit], []byte{'\n'})
		start := bytes.LastIndexByte(data[:hit], '\n') + 1
		end := hit + lineLen(data[hit:])
		list = append(list, stretch{no, start, end})
		no, at = no+1, end+1
	}
	return list
}

// lineLen returns the length of the first line of data.
func lineLen(data []byte) int {
	if n := bytes.IndexByte(data, '\n'); n >= 0 {
		return n
	}
	return len(data)
}

// hit is a line of grep's output.
type hit struct {
	no    int
	text  string
	match bool
}

// find returns the matching lines of a file with their context.
func (q search) find(data []byte) []hit {
	if bytes.Contains(data, []byte("\r\n")) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	var hits []hit
	matches := q.lines.all(data, q.limit+1)
	for i, m := range matches {
		last := 0
		if len(hits) > 0 {
			last = hits[len(hits)-1].no
		}
		hits = append(hits, before(data, m, min(q.context, m.no-1-last))...)
		hits = append(hits, hit{m.no, q.lines.cut(data[m.start:m.end]), true})
		room := q.context
		if i+1 < len(matches) {
			room = min(room, matches[i+1].no-m.no-1)
		}
		hits = append(hits, after(data, m, room)...)
	}
	return hits
}

// before returns the n lines before a line, fewer at the beginning.
func before(data []byte, m stretch, n int) []hit {
	list := make([]hit, max(n, 0))
	end := m.start - 1
	for i := len(list) - 1; i >= 0; i-- {
		start := bytes.LastIndexByte(data[:end], '\n') + 1
		list[i] = hit{no: m.no - (len(list) - i), text: cutLine(data[start:end], 0)}
		end = start - 1
	}
	return list
}

// after returns up to n lines after a line.
func after(data []byte, m stretch, n int) []hit {
	var list []hit
	for at := m.end + 1; n > 0 && at < len(data); n-- {
		end := at + lineLen(data[at:])
		list = append(list, hit{no: m.no + len(list) + 1, text: cutLine(data[at:end], 0)})
		at = end + 1
	}
	return list
}

// cut shortens a matching line to the part around the match.
func (m *matcher) cut(line []byte) string {
	if len(line) <= maxLine {
		return cutLine(line, 0)
	}
	from := 0
	if loc := m.re.FindIndex(line); loc != nil {
		from = max(0, loc[0]-maxLine/4)
	}
	return cutLine(line, from)
}

// cutLine returns a line as text, from an offset, at most maxLine long.
func cutLine(line []byte, from int) string {
	head, tail := "", ""
	if from > 0 {
		head = "…"
		line = display.CutEnd(line, len(line)-from)
	}
	if len(line) > maxLine {
		tail = "…"
		line = display.Cut(line, maxLine)
	}
	return head + strings.ToValidUTF8(string(line), "\ufffd") + tail
}
