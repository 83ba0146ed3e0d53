package markdown

import (
	"strings"

	"dragoman/cmd/internal/terminal/columns"
)

// endTable shows the table that has ended.
func (r *Renderer) endTable() {
	lines := r.table
	r.table = nil
	if len(lines) == 0 {
		return
	}
	if len(lines) < 2 || strings.Trim(lines[1], "|:- ") != "" {
		for _, l := range lines {
			r.inline("", l, true)
			r.newline()
		}
		return
	}
	var rows [][]string
	var widths []int
	for i, l := range lines {
		if i == 1 {
			continue
		}
		row := cells(l)
		for j, cell := range row {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], columns.Width(span("", cell)))
		}
		rows = append(rows, row)
	}
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if total <= r.flow.Columns() {
		r.grid(rows, widths)
	} else {
		r.cards(rows)
	}
}

// cells splits a row of a table.
func cells(line string) (list []string) {
	line = strings.TrimPrefix(strings.TrimSuffix(line, "|"), "|")
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			i++
			b.WriteByte('|')
		case line[i] == '|':
			list = append(list, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(line[i])
		}
	}
	return append(list, strings.TrimSpace(b.String()))
}

// span returns the text of a cell on one line.
func span(code, cell string) string {
	var b strings.Builder
	r := New(func(s string) { b.WriteString(s) }, func() int { return 1 << 20 })
	r.inline(code, cell, true)
	r.flow.End()
	return b.String()
}

// grid shows a table in columns.
func (r *Renderer) grid(rows [][]string, widths []int) {
	for i, row := range rows {
		code := ""
		if i == 0 {
			code = bold
		}
		var b strings.Builder
		for j, w := range widths {
			text := ""
			if j < len(row) {
				text = span(code, row[j])
			}
			if j > 0 {
				b.WriteString(painted(faint, " │ "))
			}
			b.WriteString(text + strings.Repeat(" ", w-columns.Width(text)))
		}
		r.flow.Out(strings.TrimRight(b.String(), " ") + "\n")
		if i == 0 {
			var rules []string
			for _, w := range widths {
				rules = append(rules, strings.Repeat("─", w))
			}
			r.flow.Out(painted(faint, strings.Join(rules, "─┼─")) + "\n")
		}
	}
}

// cards shows the rows of a wide table one below the other, each cell on a line with the heading
// of its column.
func (r *Renderer) cards(rows [][]string) {
	for i, row := range rows[1:] {
		if i > 0 {
			r.newline()
		}
		for j, cell := range row {
			if j < len(rows[0]) && rows[0][j] != "" {
				r.inline(bold, rows[0][j]+":", true)
				r.text("", " ")
			}
			r.flow.Indent("  ")
			r.inline("", cell, true)
			r.newline()
		}
	}
}
