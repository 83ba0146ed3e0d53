package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
)

// State is the input for the texts of built-in commands.
type State struct {
	Session core.State
	Agent   string              // that the session uses
	Model   inference.ModelInfo // that the session asks next; of an external agent it is not known
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
			b.WriteString("- " + name + ": " + about + display.Number(n) + " tokens\n")
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
		b.WriteString("- Price: " + about + display.Dollars(*u.Cost) + "\n")
	}
	if len(s.Session.Models) > 1 {
		b.WriteString("\nBy model:\n\n")
		for _, m := range s.Session.Models {
			fmt.Fprintf(&b, "- %s: %s tokens sent, %s received", m.Model, display.Number(m.Usage.In), display.Number(m.Usage.Out))
			if m.Usage.Cost != nil {
				b.WriteString(", " + display.Dollars(*m.Usage.Cost))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// showContext shows how full the window is, and with what. The parts are estimates.
func showContext(g Guide, s State) string {
	model := s.Model.ID
	window := cmp.Or(s.Model.Window, s.Session.Window)
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
			b.WriteString(" The window is " + display.Number(window) + " tokens.")
		}
		b.WriteString("\n" + instructionsText(g, s.Agent, model))
		return b.String()
	case window == 0:
		b.WriteString(display.Number(used) + " tokens are used. How many the model takes is not known.")
	default:
		b.WriteString(bar(used, window, s.Session.CompactAt) + fmt.Sprintf(" %d %%\n\n", used*100/window))
		b.WriteString(display.Number(used) + " of " + display.Number(window) + " tokens are used.")
	}
	b.WriteString("\n")
	b.WriteString(sharesText(s.Session.Shares, used, window))
	if at := s.Session.CompactAt; at > 0 && window > 0 {
		fmt.Fprintf(&b, "\nThe conversation is summarized automatically at %d %%, %s tokens (│).\n", at, display.Number(window*at/100))
	}
	return b.String()
}

// bar draws the window in 20 cells, with a mark before the cell where the conversation is
// summarized automatically.
func bar(used, window, compactAt int) string {
	const cells = 20
	full := min(cells, used*cells/window)
	row := []rune(strings.Repeat("█", full) + strings.Repeat("░", cells-full))
	if compactAt > 0 && compactAt < 100 {
		row = slices.Insert(row, compactAt*cells/100, '│')
	}
	return string(row)
}

// sharesText lists the parts of the window. The free part is known if the window is.
func sharesText(shares []core.Share, used, window int) string {
	var b strings.Builder
	line := func(name, about string, tokens int) {
		b.WriteString("- " + name + ": " + about + display.Number(tokens) + " tokens")
		if window > 0 {
			fmt.Fprintf(&b, " (%.1f %%)", float64(tokens)*100/float64(window))
		}
		b.WriteString("\n")
	}
	for _, share := range shares {
		line(inference.PartTitle(share.Part), "about ", share.Tokens)
	}
	if window > 0 {
		line("Free", "", max(0, window-used))
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// instructionsText estimates the instructions in every request.
func instructionsText(g Guide, agent, model string) string {
	var b strings.Builder
	for part, text := range g.Sections(agent, model) {
		if text != "" {
			b.WriteString("- " + inference.PartTitle(part) + ": about " + display.Number(inference.EstimateTokens(len(text))) + " tokens\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nIn every request:\n\n" + b.String()
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
