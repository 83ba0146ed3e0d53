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

// maxTail limits the lines of an unfinished text above the line that is being typed.
const maxTail = 3

// show puts the line that is being typed on the screen, behind its label and below the
// conversation; over a pipe it does nothing.
func (c *chat) show(label string, line keyLine) {
	switch {
	case !c.tty:
	case c.screen.lift != nil:
		c.draw(label, line)
	case c.live:
		c.below = c.screen.mid
		if c.below && tailRows(c.screen.tail, c.in.term.columns()) > maxTail {
			c.screen.start()
			c.below = false
		}
		if c.below {
			c.screen.put("\n")
		}
		c.begin(label)
		c.draw(label, line)
	default:
		c.screen.start()
		c.begin(label)
		c.draw(label, line)
	}
}

// begin writes a label.
func (c *chat) begin(label string) {
	c.screen.put(c.screen.Strong(label))
	c.screen.lift = c.lift
	c.drawn = drawing{label: label}
	if c.live {
		c.drawn.columns = c.in.term.columns()
		_, _, cursor := rows(label, nil, 0, c.drawn.columns)
		c.drawn.row = cursor.row
	}
}

// lift takes the line that is being typed off the screen, and returns to the end of what is above
// it. Where the cursor cannot be moved the line stays, and what comes begins below.
func (c *chat) lift() {
	if !c.live {
		c.screen.put("\n")
		return
	}
	width := c.in.term.columns()
	up, tail := c.drawn.row, ""
	if width != c.drawn.columns {
		_, _, was := rows(c.drawn.label, c.drawn.pieces, c.drawn.at, width)
		up = was.row
	}
	if c.below {
		tail = c.screen.tail
		up += tailRows(tail, width)
	}
	c.screen.put("\r" + cursorUp(up) + "\x1b[J" + tail)
}

// tailRows returns the number of rows that a text without ends of lines takes.
func tailRows(text string, width int) int { return max(columns.Width(text)-1, 0)/width + 1 }

// leaveLine ends the line that was typed, which stays on the screen as a part of the conversation.
func (c *chat) leaveLine(label string, line keyLine) {
	if !c.tty {
		return
	}
	if c.echoes() {
		if c.screen.in != "" || c.screen.mid {
			c.screen.clear()
			c.screen.start()
		}
		c.show(label, line)
		c.screen.put("\n")
	}
	c.screen.lost()
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
		c.screen.put(shownText(now.pieces[same:]))
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
		c.screen.put("\r" + cursorUp(up) + "\x1b[J" + text + cursorUp(end.row-cursor.row) + "\r" + cursorRight(cursor.column))
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
		c.screen.put(strings.Repeat("\b \b", len(gone)))
	} else if gone != "" {
		c.screen.put("\n" + now.label)
		same = 0
	}
	c.screen.put(shownText(now.pieces[same:]))
	now.pieces = slices.Clone(now.pieces)
	c.drawn = now
}
