package commands

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
)

// State is the input for the texts of built-in commands.
type State struct {
	Session core.State
	Agent   string              // that the session uses
	Model   inference.ModelInfo // that the session uses
	// Config is the configuration in use, as text without secrets, and ConfigFiles are
	// its files.
	Config      string
	ConfigFiles []string
}

// Show makes the text, in Markdown, of a built-in command that shows something. It
// depends only on the guide and the state. ok is false if the command shows nothing.
func Show(g Guide, name string, s State) (text string, ok bool) {
	switch name {
	case "costs":
		return showCosts(s), true
	case "context":
		return showContext(g, s), true
	case "rules":
		return g.ShowRules(s.Agent, s.Model.ID), true
	case "skills":
		return g.ShowSkills(), true
	case "config":
		return showConfig(s), true
	}
	return "", false
}

func showCosts(s State) string {
	u := s.Session.Usage
	var b strings.Builder
	b.WriteString("**Costs of this session**\n\n")
	if u == (core.Usage{}) {
		return b.String() + "No model was asked yet.\n"
	}
	about := ""
	if u.Estimated {
		about = "about "
	}
	line := func(name string, n int) {
		if n > 0 {
			b.WriteString("- " + name + ": " + about + number(n) + " tokens\n")
		}
	}
	line("Sent", u.In)
	line("Of these read from the provider's cache", u.CacheRead)
	line("Of these written to the provider's cache", u.CacheWrite)
	line("Received", u.Out)
	line("Of these reasoning", u.Reasoning)
	if u.Cost == nil {
		b.WriteString("- Price: not known\n")
	} else {
		b.WriteString("- Price: " + about + dollars(*u.Cost) + "\n")
	}
	if len(s.Session.Models) > 1 {
		b.WriteString("\nBy model:\n\n")
		for _, m := range s.Session.Models {
			fmt.Fprintf(&b, "- %s: %s tokens sent, %s received", m.Model, number(m.Usage.In), number(m.Usage.Out))
			if m.Usage.Cost != nil {
				b.WriteString(", " + dollars(*m.Usage.Cost))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// dollars formats small amounts too: two digits after the point, or as many more as
// are needed to show two that are not 0, at most six.
func dollars(x float64) string {
	digits := 2
	for limit := 0.1; digits < 6 && x > 0 && x < limit; limit /= 10 {
		digits++
	}
	return "$" + strconv.FormatFloat(x, 'f', digits, 64)
}

func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// showContext shows how full the window is. The share of the guide's own texts is an
// estimate: four bytes per token.
func showContext(g Guide, s State) string {
	model := s.Session.Settings.Model
	if s.Model.ID != "" {
		model = s.Model.ID
	}
	window := cmp.Or(s.Session.Window, s.Model.Window)
	var b strings.Builder
	b.WriteString("**Context**")
	if model != "" {
		b.WriteString(" of " + display.Code(display.Visible(model)))
	}
	b.WriteString("\n\n")
	used := s.Session.Context
	switch {
	case used == 0:
		b.WriteString("No model was asked yet.")
		if window > 0 {
			b.WriteString(" The window is " + number(window) + " tokens.")
		}
	case window == 0:
		b.WriteString(number(used) + " tokens are used. How many the model takes is not known.")
	default:
		percent := used * 100 / window
		full := min(20, used*20/window)
		b.WriteString(strings.Repeat("█", full) + strings.Repeat("░", 20-full) +
			fmt.Sprintf(" %d %%\n\n", percent))
		b.WriteString(
			number(used) + " of " + number(window) + " tokens are used, " + number(max(0, window-used)) + " are free.",
		)
	}
	b.WriteString("\n")
	heading := "\nOf every request, about:\n"
	for part, bytes := range g.Sizes(s.Agent, model) {
		if bytes > 0 {
			b.WriteString(heading + "- " + part + ": " + number(inference.EstimateTokens(bytes)) + " tokens\n")
			heading = ""
		}
	}
	return b.String()
}

func showConfig(s State) string {
	var b strings.Builder
	b.WriteString("**Configuration in use**\n\n")
	if len(s.ConfigFiles) == 0 {
		b.WriteString("No configuration file was read.\n")
	}
	for _, f := range s.ConfigFiles {
		b.WriteString("- " + display.Code(display.Visible(f)) + "\n")
	}
	b.WriteString("\n" + display.Fenced("yaml", s.Config))
	return b.String()
}
