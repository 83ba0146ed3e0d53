// Package markdown shows Markdown on a terminal while it is being written.
//
// # What holds
//
//   - Text is shown as soon as its meaning is known: words of a paragraph at once, headings, lines
//     of code and rows of a table when they are complete, a table when it has ended.
//   - Marks that do not belong together are shown as they are. Nothing but marks is left out.
//   - Lines are broken at blanks. A table that is wider than the terminal becomes a list of its
//     cells. Code is never broken or changed.
//
// # Why
//
// A model writes a small part of Markdown, line by line. Parsers of the whole language (goldmark)
// need the end of the text, so each word would mean another parse of everything, and lines that
// are on the screen already could change.
package markdown

import (
	"strings"

	"dragoman/cmd/internal/terminal/columns"
)

// Colours of a terminal.
const (
	bold   = "1"
	faint  = "2"
	italic = "3"
	under  = "4"
	struck = "9"
	cyan   = "36"
)

// maxHeld limits the part of a line that is held back until its meaning is known, in bytes.
const maxHeld = 4 << 10

// Renderer shows one text. Its text must be safe for a terminal.
type Renderer struct {
	flow  columns.Flow
	line  string   // the part of the current line that is not shown
	begun bool     // a part of it is
	fence string   // the marks around the open block of code
	table []string // the rows of the open table
	last  byte     // shown last on the line
}

// New returns a renderer that writes to out, on a terminal of a width.
func New(out func(string), width func() int) *Renderer {
	return &Renderer{flow: columns.Flow{Out: out, Columns: width}}
}

// Write takes the next part of the text.
func (r *Renderer) Write(text string) {
	r.line += text
	for r.step(false) {
	}
}

// End shows what was held back.
func (r *Renderer) End() {
	for r.line != "" && r.step(true) {
	}
	r.endTable()
	r.flow.End()
}

// step shows the next part of the text; false: more must come first.
func (r *Renderer) step(last bool) bool {
	line, _, whole := strings.Cut(r.line, "\n")
	final := whole || last
	if !r.begun {
		if !final && len(line) < maxHeld && (r.fence != "" || undecided(line)) {
			return false
		}
		if final && r.block(line) {
			r.line = r.line[min(len(line)+1, len(r.line)):]
			if whole {
				return true
			}
			return r.line != ""
		}
		r.endTable()
		r.begun = true
		r.line = r.line[r.prefix(line):]
		return true
	}
	n := r.inline("", line, final)
	r.line = r.line[n:]
	if !whole || n < len(line) {
		return false
	}
	r.line = r.line[1:]
	r.newline()
	return true
}

func (r *Renderer) newline() {
	r.flow.Newline()
	r.begun, r.last = false, 0
}

// undecided reports whether the kind of a line is unknown before more of it has come.
func undecided(line string) bool {
	s := strings.TrimLeft(line, " \t")
	if s == "" || s[0] == '|' {
		return true
	}
	switch s[0] {
	case '#':
		return heading(s) > 0 || strings.Trim(s, "#") == ""
	case '>':
		return len(s) < 2 || undecided(strings.TrimPrefix(s[1:], " "))
	case '`', '~':
		return strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~") || len(s) < 3 && strings.Trim(s, s[:1]) == ""
	case '-', '*', '_', '+':
		return strings.Trim(s, s[:1]+" ") == ""
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	return digits > 0 && digits < 10 && len(s) <= digits+1
}

// heading returns the number of marks of a heading; 0: it is none.
func heading(s string) int {
	n := len(s) - len(strings.TrimLeft(s, "#"))
	if n > 6 || n < len(s) && s[n] != ' ' {
		return 0
	}
	return n
}

// block shows a line that is a block of its own; false: it is text.
func (r *Renderer) block(line string) bool {
	s := strings.TrimSpace(line)
	if r.fence != "" {
		if strings.HasPrefix(s, r.fence) && strings.Trim(s, r.fence[:1]) == "" {
			r.fence = ""
		} else {
			r.flow.Out("  " + painted(cyan, line) + "\n")
		}
		return true
	}
	if strings.HasPrefix(s, "|") && len(s) > 1 {
		r.table = append(r.table, s)
		return true
	}
	r.endTable()
	switch {
	case s == "":
		r.newline()
	case strings.HasPrefix(s, "```") && !strings.Contains(s[3:], "`"), strings.HasPrefix(s, "~~~"):
		language := strings.TrimLeft(s, s[:1])
		r.fence = s[:len(s)-len(language)]
		if language = strings.TrimSpace(language); language != "" {
			r.flow.Out("  " + painted(faint, language) + "\n")
		}
	case heading(s) > 0:
		r.inline(bold, strings.TrimSpace(strings.TrimRight(s[heading(s):], "#")), true)
		r.newline()
	case isRule(s):
		r.flow.Out(painted(faint, strings.Repeat("─", max(min(r.flow.Columns(), 40), 3))) + "\n")
	default:
		return false
	}
	return true
}

func isRule(s string) bool {
	marks := strings.ReplaceAll(s, " ", "")
	return len(marks) >= 3 && strings.Contains("-*_", marks[:1]) && strings.Trim(marks, marks[:1]) == ""
}

// prefix shows the marks of quotes and lists at the beginning of a line, and returns their size.
func (r *Renderer) prefix(line string) int {
	rest, indent := line, ""
	for strings.HasPrefix(strings.TrimLeft(rest, " "), ">") {
		rest = strings.TrimPrefix(strings.TrimLeft(rest, " ")[1:], " ")
		r.flow.Text(faint, "│")
		r.flow.Text("", " ")
		indent += painted(faint, "│") + " "
	}
	s := strings.TrimLeft(rest, " \t")
	blanks := strings.ReplaceAll(rest[:len(rest)-len(s)], "\t", "    ")
	mark := ""
	if len(s) > 1 && strings.Contains("-*+", s[:1]) && s[1] == ' ' {
		mark, rest = "• ", s[2:]
	} else if n := len(s) - len(strings.TrimLeft(s, "0123456789")); n > 0 && n < 10 && len(s) > n+1 &&
		(s[n] == '.' || s[n] == ')') && s[n+1] == ' ' {
		mark, rest = s[:n+2], s[n+2:]
	} else {
		rest = s
	}
	r.flow.Text("", blanks+mark)
	r.flow.Indent(indent + blanks + strings.Repeat(" ", columns.Width(mark)))
	return len(line) - len(rest)
}

func painted(code, s string) string {
	if s == "" {
		return ""
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
