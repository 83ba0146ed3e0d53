package demo

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"dragoman/cmd/internal/terminal"
	"dragoman/core/display"
)

// obj is a JSON object.
type obj = map[string]any

// client describes the demo as a client.
func (c *cast) client() obj { return obj{"name": "dragoman-demo", "version": c.version} }

// step is one step of the act, which is the same for all three protocols.
type step int

const (
	stepStart step = iota
	stepPrompt
	stepRead
	stepAsk
	stepDecide
	stepOutput
	stepText
	stepEnd
	steps
)

// cells hold the lines of one protocol, by step; the first line of a step names the message.
type cells struct {
	mu    sync.Mutex // guards the field below
	lines [steps][]string
}

// add adds a message and its texts to a step. A text of several lines is one argument; empty ones
// are left out.
func (c *cells) add(s step, message string, texts ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines[s] = append(c.lines[s], message)
	for _, t := range texts {
		if t != "" {
			c.lines[s] = append(c.lines[s], strings.Split(t, "\n")...)
		}
	}
}

// started shows the beginning of the connection, and the time since the start of the process. It
// is called after initialize has been answered.
func (c *cells) started(i *instance, messages, version string) {
	took := time.Since(i.began).Round(100 * time.Microsecond)
	c.add(stepStart, "→ "+messages, "dragoman "+version, fmt.Sprintf("answered in %v", took))
}

// quoted returns the first lines of a text of the agent or a tool, indented.
func quoted(s string) string {
	const most = 6
	var lines []string
	for line := range strings.SplitSeq(display.Printable(strings.TrimSpace(s)), "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "```"):
		case len(lines) == most:
			return strings.Join(append(lines, "│ …"), "\n")
		default:
			lines = append(lines, "│ "+line)
		}
	}
	return strings.Join(lines, "\n")
}

// scene holds the part of an act that an editor has seen.
type scene struct {
	cast *cast

	mu   sync.Mutex // guards the fields below
	text strings.Builder
	ran  bool // the command has run
}

// called shows a call that has ended. It needs the lock.
func (s *scene) called(message, title, output string) {
	step := stepRead
	if strings.Contains(title, commandLine) {
		step, s.ran = stepOutput, true
	}
	s.cast.cells.add(step, message, "✓ "+title, quoted(output))
}

// finish shows the answer, and returns an error if a part of the act is missing.
func (s *scene) finish(message string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cast.cells.add(stepText, message, quoted(s.text.String()))
	return checkPlayed(s.ran, s.text.String())
}

// checkPlayed returns an error if a part of a finished act is missing.
func checkPlayed(ran bool, text string) error {
	switch {
	case !ran:
		return errors.New("the command was not run")
	case !strings.Contains(text, strings.TrimSpace(strings.SplitAfter(notesText, "\n")[0])):
		return errors.New("the answer does not contain the file's text")
	}
	return nil
}

// The table is three columns, 98 characters wide.
const (
	columnWide = 31
	columnGap  = "  "
)

// sideBySide shows the acts in columns, step by step.
func sideBySide(acts []*act, c terminal.Palette) string {
	var b strings.Builder
	row := func(paint func(string) string, text func(*act) string) {
		var parts []string
		for _, a := range acts {
			parts = append(parts, paint(pad(text(a))))
		}
		b.WriteString("  " + strings.TrimRight(strings.Join(parts, columnGap), " ") + "\n")
	}
	asIs := func(s string) string { return s }
	row(c.Strong, func(a *act) string { return a.name + " · dragoman " + a.command })
	row(c.Faint, func(a *act) string { return a.played })
	row(c.Faint, func(*act) string { return strings.Repeat("─", columnWide) })
	for s := range steps {
		high := 0
		for _, a := range acts {
			high = max(high, len(a.cells.lines[s]))
		}
		for i := range high {
			row(asIs, func(a *act) string { return a.cells.line(s, i, c) })
		}
		if high > 0 && s+1 < steps {
			b.WriteString("\n")
		}
	}
	b.WriteString("\n")
	return b.String()
}

// line is one line of a cell, cut to the column and painted.
func (c *cells) line(s step, i int, p terminal.Palette) string {
	if i >= len(c.lines[s]) {
		return pad("")
	}
	text := c.lines[s][i]
	switch {
	case strings.HasPrefix(text, "→ "):
		return p.Cool(pad(text))
	case strings.HasPrefix(text, "← "):
		return p.Warm(pad(text))
	case strings.HasPrefix(text, "│ "):
		return p.Faint(pad("  " + text))
	}
	return pad("  " + text)
}

// pad makes a text as wide as a column.
func pad(s string) string {
	n := utf8.RuneCountInString(s)
	if n > columnWide {
		return string([]rune(s)[:columnWide-1]) + "…"
	}
	return s + strings.Repeat(" ", columnWide-n)
}
