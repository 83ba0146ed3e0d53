package doctor

import (
	"fmt"
	"io"
	"strings"

	"dragoman/cmd/internal/terminal"
	"dragoman/core/display"
)

// mark is the grade of a finding.
type mark string

const (
	fine  mark = "✓"
	look  mark = "!" // worth checking; nothing is broken
	wrong mark = "✗"
	plain mark = "·"
)

// painted returns the mark in its colour.
func (m mark) painted(p terminal.Palette) string {
	switch m {
	case fine:
		return p.Good(string(m))
	case look:
		return p.Warm(string(m))
	case wrong:
		return p.Bad(string(m))
	case plain:
		return p.Faint(string(m))
	}
	return string(m)
}

// finding is one line of the report; hint is advice.
type finding struct {
	mark mark
	text string
	hint string
}

// section is the part of the report about one subject.
type section struct {
	title    string
	findings []finding
}

func (s *section) add(m mark, format string, args ...any) *finding {
	s.findings = append(s.findings, finding{mark: m, text: fmt.Sprintf(format, args...)})
	return &s.findings[len(s.findings)-1]
}

// report is the list of all findings.
type report struct{ sections []section }

func (r *report) wrong() int {
	n := 0
	for _, s := range r.sections {
		for _, f := range s.findings {
			if f.mark == wrong {
				n++
			}
		}
	}
	return n
}

func (r *report) print(out io.Writer, c terminal.Palette) {
	for _, s := range r.sections {
		fmt.Fprintf(out, "%s\n", c.Strong(s.title))
		for _, f := range s.findings {
			fmt.Fprintf(
				out,
				"  %s %s\n",
				f.mark.painted(c),
				strings.ReplaceAll(display.Printable(f.text), "\n", "\n    "),
			)
			if f.hint != "" {
				fmt.Fprintf(out, "    %s\n", c.Faint("→ "+display.Printable(f.hint)))
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, r.verdict())
}

func (r *report) verdict() string {
	switch n := r.wrong(); n {
	case 0:
		return "Nothing is wrong."
	case 1:
		return "One thing is wrong."
	default:
		return fmt.Sprintf("%d things are wrong.", n)
	}
}
