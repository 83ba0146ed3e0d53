package content

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// maxShown limits each part of a call in the text of a question, in bytes.
const maxShown = 4 << 10

// Approval returns the question whether a call may run: what it does, in whatever words it has, and
// why somebody is asked. Clients may hide the call itself while they ask.
func Approval(a core.Ask, now core.Call) string {
	parts := []string{cmp.Or(display.Line(now.Title, 300), display.Line(now.Tool, 300), "The agent wants to act.")}
	if c := Changes(now.Content); c != nil {
		parts = append(parts, display.Visible(c.Path), fenced(c.Diff))
	} else if line, _ := commandLine(now); line != "" {
		parts = append(parts, fenced(line))
	} else if args := strings.TrimSpace(string(now.Args)); args != "" && args != "{}" {
		parts = append(parts, fenced(args))
	}
	var places []string
	for _, l := range now.Locations {
		if !slices.Contains(parts, display.Visible(l.Path)) {
			places = append(places, display.Visible(l.Path))
		}
	}
	if len(places) > 0 {
		parts = append(parts, "It concerns "+strings.Join(places, ", ")+".")
	}
	if why := strings.TrimSpace(a.Text); why != "" {
		parts = append(parts, "Asked because: "+display.VisibleLines(why))
	}
	return strings.Join(parts, "\n")
}

// fenced returns text that others wrote as a block, with its invisible characters spelled out. What
// is too long loses its middle, and says so.
func fenced(text string) string {
	shown := text
	if len(text) > maxShown {
		head, tail := display.Cut(text, maxShown*3/4), display.CutEnd(text, maxShown/4)
		shown = fmt.Sprintf("%s\n… (%d bytes are left out here)\n%s", head, len(text)-len(head)-len(tail), tail)
	}
	return "```\n" + strings.ReplaceAll(display.VisibleLines(shown), "```", "'''") + "\n```"
}

// Answers returns the labels of an approval's options, each once: of two options that look the same
// nobody could choose one.
func Answers(a core.Ask) []string {
	var list []string
	for _, o := range a.Options {
		label := cmp.Or(display.Line(o.Label, 200), display.Line(o.ID, 200), "(no name)")
		base := label
		for n := 2; slices.Contains(list, label); n++ {
			label = fmt.Sprintf("%s (%d)", base, n)
		}
		list = append(list, label)
	}
	return list
}
