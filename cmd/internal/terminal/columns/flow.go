package columns

import "strings"

// Flow writes text with its lines broken at blanks. A word is written when its end is known.
type Flow struct {
	Out func(string)
	// Columns returns the width of the terminal. It is asked at the beginning of each line.
	Columns func() int

	indent string // what a broken line continues after
	width  int    // of the current line; 0: it has not begun
	column int
	gap    string // the blanks in front of the word
	word   strings.Builder
	taken  int // columns of the word
}

// Indent sets what lines continue after when they are broken.
func (f *Flow) Indent(with string) { f.indent = with }

// Text writes text on the current line. code is a colour of the terminal, such as 1 for bold;
// empty: none.
func (f *Flow) Text(code, s string) {
	painted := false
	paint := func(on bool) {
		if code != "" && on != painted {
			painted = on
			if on {
				f.word.WriteString("\x1b[" + code + "m")
			} else {
				f.word.WriteString("\x1b[0m")
			}
		}
	}
	for s != "" {
		if s[0] == ' ' || s[0] == '\t' {
			paint(false)
			f.commit()
			f.gap += strings.ReplaceAll(s[:1], "\t", "    ")
			s = s[1:]
			continue
		}
		if n := Colour(s); n > 0 {
			f.word.WriteString(s[:n])
			s = s[n:]
			continue
		}
		cluster, width := Cluster(s)
		if width == 2 || f.taken+width > f.room() { // a line may be broken here
			paint(false)
			f.commit()
		}
		paint(true)
		f.word.WriteString(cluster)
		f.taken += width
		if width == 2 {
			paint(false)
			f.commit()
		}
		s = s[len(cluster):]
	}
	paint(false)
}

// Newline ends the line.
func (f *Flow) Newline() {
	f.commit()
	f.Out("\n")
	f.column, f.width, f.gap, f.indent = 0, 0, "", ""
}

// End writes the word that is held back. The line goes on after it.
func (f *Flow) End() { f.commit() }

// begun asks for the width at the beginning of a line.
func (f *Flow) begun() {
	if f.width == 0 {
		f.width = max(f.Columns(), 10)
	}
}

// room returns the columns of a continued line.
func (f *Flow) room() int {
	f.begun()
	return max(f.width-Width(f.indent), 4)
}

func (f *Flow) commit() {
	if f.word.Len() == 0 {
		return
	}
	f.begun()
	if f.column > 0 && f.column+len(f.gap)+f.taken > f.width {
		f.Out("\n" + f.indent)
		f.width = max(f.Columns(), 10)
		f.column, f.gap = Width(f.indent), ""
	}
	f.Out(f.gap + f.word.String())
	f.column += len(f.gap) + f.taken
	f.gap, f.taken = "", 0
	f.word.Reset()
}

// Wrap breaks the lines of a text at blanks. The beginning of a line that is a blank stays.
func Wrap(s string, width int) string {
	var b strings.Builder
	f := Flow{Out: func(s string) { b.WriteString(s) }, Columns: func() int { return width }}
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			f.Newline()
		}
		f.Text("", line)
	}
	f.End()
	return b.String()
}
