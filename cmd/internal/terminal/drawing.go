package terminal

import (
	"slices"
	"strconv"
	"strings"

	"dragoman/cmd/internal/terminal/columns"
)

// drawing is the line that is being typed, as it is on the screen.
type drawing struct {
	label   string
	pieces  []piece
	at      int
	columns int // of the terminal
	row     int // of the cursor, counted from the first of the line
}

// place is a position on the screen, counted from the beginning of the line.
type place struct{ row, column int }

// rows lays a line out. It returns the text with its lines broken, the end of it, and the
// position in front of a piece.
func rows(label string, pieces []piece, at, width int) (text string, end, cursor place) {
	var b strings.Builder
	var p place
	write := func(s string) {
		for s != "" {
			cluster, n := columns.Cluster(s)
			if cluster == "\n" || p.column+n > width {
				b.WriteString("\n")
				p = place{row: p.row + 1}
			}
			if cluster != "\n" {
				b.WriteString(cluster)
				p.column += n
			}
			s = s[len(cluster):]
		}
	}
	write(label)
	for i, piece := range pieces {
		if i == at {
			cursor = p
		}
		write(piece.shown)
	}
	if p.column == width { // the cursor cannot be behind the last column
		b.WriteString("\n")
		p = place{row: p.row + 1}
	}
	if at >= len(pieces) {
		cursor = p
	} else if cursor.column == width {
		cursor = place{row: cursor.row + 1}
	}
	return b.String(), p, cursor
}

// draw shows the typed part of a line behind its label.
func (c *chat) draw(label string, line keyLine) {
	if !c.echoes() || c.hidden {
		return
	}
	d := &c.drawn
	now := drawing{label: label, pieces: line.pieces, at: min(line.at, len(line.pieces)), columns: c.in.term.columns()}
	if !c.live {
		c.drawPlain(now)
		return
	}
	if d.label == label && d.at == now.at && d.columns == now.columns && slices.Equal(d.pieces, now.pieces) {
		return
	}
	text, end, cursor := rows(label, now.pieces, now.at, now.columns)
	now.row = cursor.row
	same := len(d.pieces)
	if d.label == label && d.columns == now.columns && d.at == same && now.at == len(now.pieces) && same <= now.at &&
		slices.Equal(d.pieces, now.pieces[:same]) && d.row == end.row {
		c.screen.write(shownText(now.pieces[same:]))
	} else {
		up := d.row
		if d.columns != now.columns { // the terminal has laid it out anew
			_, _, was := rows(d.label, d.pieces, d.at, now.columns)
			up = was.row
		}
		_, begins, _ := rows(label, nil, 0, now.columns)
		if begins.row == 0 {
			text = c.screen.Strong(label) + strings.TrimPrefix(text, label)
		}
		c.screen.write("\r" + cursorUp(up) + "\x1b[J" + text + cursorUp(end.row-cursor.row) + "\r" + cursorRight(cursor.column))
	}
	now.pieces = slices.Clone(now.pieces)
	*d = now
}

func cursorUp(n int) string {
	if n <= 0 {
		return ""
	}
	return "\x1b[" + strconv.Itoa(n) + "A"
}

func cursorRight(n int) string {
	if n <= 0 {
		return ""
	}
	return "\x1b[" + strconv.Itoa(n) + "C"
}

// drawPlain shows a line on a terminal that cannot move its cursor up. If it cannot erase the
// old text it writes the line again below.
func (c *chat) drawPlain(now drawing) {
	same := 0
	for same < min(len(now.pieces), len(c.drawn.pieces)) && now.pieces[same] == c.drawn.pieces[same] {
		same++
	}
	width := columns.Width(now.label) + columns.Width(shownText(c.drawn.pieces))
	gone := shownText(c.drawn.pieces[same:])
	if columns.Width(gone) == len(gone) && !strings.Contains(gone, "\n") && width < now.columns {
		c.screen.write(strings.Repeat("\b \b", len(gone)))
	} else if gone != "" {
		c.screen.write("\n" + now.label)
		same = 0
	}
	c.screen.write(shownText(now.pieces[same:]))
	now.pieces = slices.Clone(now.pieces)
	c.drawn = now
}
