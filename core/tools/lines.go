package tools

import (
	"bytes"
	"strings"

	"dragoman/core/display"
	"dragoman/core/linesearch"
)

// maxLine is the number of bytes of a long line that grep shows.
const maxLine = 400

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
	matches := q.lines.Lines(data, q.limit+1)
	for i, m := range matches {
		last := 0
		if len(hits) > 0 {
			last = hits[len(hits)-1].no
		}
		hits = append(hits, before(data, m, min(q.context, m.No-1-last))...)
		hits = append(hits, hit{m.No, q.cut(data[m.Start:m.End]), true})
		room := q.context
		if i+1 < len(matches) {
			room = min(room, matches[i+1].No-m.No-1)
		}
		hits = append(hits, after(data, m, room)...)
	}
	return hits
}

// before returns the n lines before a line, fewer at the beginning.
func before(data []byte, m linesearch.Line, n int) []hit {
	list := make([]hit, max(n, 0))
	end := m.Start - 1
	for i := len(list) - 1; i >= 0; i-- {
		start := bytes.LastIndexByte(data[:end], '\n') + 1
		list[i] = hit{no: m.No - (len(list) - i), text: cutLine(data[start:end], 0)}
		end = start - 1
	}
	return list
}

// after returns up to n lines after a line.
func after(data []byte, m linesearch.Line, n int) []hit {
	var list []hit
	for at := m.End + 1; n > 0 && at < len(data); n-- {
		end := at + lineLen(data[at:])
		list = append(list, hit{no: m.No + len(list) + 1, text: cutLine(data[at:end], 0)})
		at = end + 1
	}
	return list
}

// cut shortens a matching line to the part around the match.
func (q search) cut(line []byte) string {
	if len(line) <= maxLine {
		return cutLine(line, 0)
	}
	return cutLine(line, max(0, q.lines.First(line)-maxLine/4))
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
