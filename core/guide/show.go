package guide

import (
	"fmt"
	"strconv"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// State is what the texts of built-in commands are made of.
type State struct {
	Session core.State
	Agent   string         // that the session uses
	Model   core.ModelInfo // that the session uses
	// Config is the configuration in use, as text without secrets, and
	// ConfigFiles are the files that it was read from.
	Config      string
	ConfigFiles []string
}

// Show makes the text, in Markdown, that a built-in command with Shows tells the
// user. It depends on the guide and the state only. The error is ErrNoCommand, or
// says that the command shows nothing.
func (g *Guide) Show(name string, s State) (string, error) {
	c, ok := g.Command(name)
	if !ok {
		return "", fmt.Errorf("/%s: %w", oneLine(name, 100), ErrNoCommand)
	}
	switch c.Name {
	case "costs":
		return showCosts(s), nil
	case "context":
		return g.showContext(s), nil
	case "rules":
		return g.showRules(s), nil
	case "skills":
		return g.showSkills(), nil
	case "config":
		return showConfig(s), nil
	}
	return "", fmt.Errorf("/%s shows nothing", c.Name)
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

// dollars shows small amounts too: two digits behind the point, or as many more
// as it takes to see two that are not 0, at most six.
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

// showContext says how full the window is. How much of that the guide's own
// texts are is a guess: four bytes a token.
func (g *Guide) showContext(s State) string {
	model := s.Session.Settings.Model
	if s.Model.ID != "" {
		model = s.Model.ID
	}
	window := s.Session.Window
	if window == 0 {
		window = s.Model.Window
	}
	var b strings.Builder
	b.WriteString("**Context**")
	if model != "" {
		b.WriteString(" of " + code(display.Visible(model)))
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
		b.WriteString(strings.Repeat("█", full) + strings.Repeat("░", 20-full) + fmt.Sprintf(" %d %%\n\n", percent))
		b.WriteString(number(used) + " of " + number(window) + " tokens are used, " + number(max(0, window-used)) + " are free.")
	}
	b.WriteString("\n")
	heading := "\nOf every request, about:\n"
	for _, part := range g.sizes(s.Agent, model) {
		if part.bytes > 0 {
			b.WriteString(heading + "- " + part.name + ": " + number(core.EstimateTokens(part.bytes)) + " tokens\n")
			heading = ""
		}
	}
	return b.String()
}

type size struct {
	name  string
	bytes int
}

// sizes measures the parts of what System returns.
func (g *Guide) sizes(agent, model string) []size {
	return []size{
		{"AGENTS.md and what belongs to it", len(g.systemInstructions())},
		{"rules", len(g.systemRules(agent, model))},
		{"the list of skills", len(g.systemSkills())},
	}
}

func (g *Guide) showRules(s State) string {
	var b strings.Builder
	b.WriteString("**Rules**\n\n")
	if len(g.rules) == 0 {
		b.WriteString("There are none. Rules are Markdown files in `.dragoman/rules` or `.eca/rules`, in the workspace or in your configuration folders.\n")
	}
	for _, r := range g.rules {
		b.WriteString("- " + code(r.File) + ": " + r.when())
		if !r.Applies(s.Agent, s.Model.ID) {
			b.WriteString(" (not now)")
		}
		if r.Description != "" {
			b.WriteString("\n  " + r.Description)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n**Instructions**\n\n")
	if len(g.parts) == 0 {
		b.WriteString("There are none. /init writes an AGENTS.md.\n")
	}
	for _, p := range g.parts {
		b.WriteString("- " + code(p.File))
		if p.By != "" {
			b.WriteString(", included by " + code(p.By))
		}
		b.WriteString("\n")
	}
	g.showWarnings(&b)
	return b.String()
}

// when says in words when a rule applies.
func (r Rule) when() string {
	s := "always"
	switch {
	case !r.Always && len(r.Paths) > 0:
		s = "fetched for " + codes(r.Paths)
		switch {
		case r.BeforeRead && r.BeforeChange:
			s += ", before they are read or changed"
		case r.BeforeRead:
			s += ", before they are read"
		case r.BeforeChange:
			s += ", before they are changed"
		}
	case !r.Always:
		s = "fetched when it is needed"
	}
	if len(r.Agents) > 0 {
		s += "; agents " + codes(r.Agents)
	}
	if len(r.Models) > 0 {
		s += "; models " + codes(r.Models)
	}
	return s
}

func (g *Guide) showSkills() string {
	var b strings.Builder
	b.WriteString("**Skills**\n\n")
	if len(g.skills) == 0 {
		b.WriteString("There are none. A skill is a folder with a SKILL.md, in `.dragoman/skills`, `.eca/skills`, `.agents/skills` or `.claude/skills`.\n")
	}
	for _, s := range g.skills {
		b.WriteString("- **" + s.Name + "**: " + s.Description)
		if s.Unlisted {
			b.WriteString(" (only you can call it)")
		}
		b.WriteString("\n  " + code(s.File) + "\n")
	}
	g.showWarnings(&b)
	return b.String()
}

func (g *Guide) showWarnings(b *strings.Builder) {
	if len(g.warnings) == 0 {
		return
	}
	b.WriteString("\n**Warnings**\n\n")
	for _, w := range g.warnings {
		b.WriteString("- " + code(w.File) + ": " + w.Text + "\n")
	}
}

func showConfig(s State) string {
	var b strings.Builder
	b.WriteString("**Configuration in use**\n\n")
	if len(s.ConfigFiles) == 0 {
		b.WriteString("No configuration file was read.\n")
	}
	for _, f := range s.ConfigFiles {
		b.WriteString("- " + code(display.Visible(f)) + "\n")
	}
	fence := strings.Repeat("`", max(3, longestRun(s.Config)+1))
	b.WriteString("\n" + fence + "yaml\n" + strings.TrimSuffix(s.Config, "\n") + "\n" + fence + "\n")
	return b.String()
}

// code sets a text without hidden characters as a code span that nothing in it
// can end.
func code(s string) string {
	fence := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

func codes(list []string) string {
	var all []string
	for _, s := range list {
		all = append(all, code(display.Visible(s)))
	}
	return strings.Join(all, ", ")
}

// longestRun counts the backticks of the longest run.
func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
		} else if run++; run > longest {
			longest = run
		}
	}
	return longest
}
