package guide

import (
	"strings"

	"dragoman/core/display"
)

// ShowRules lists the rules and the instructions for a person, in Markdown. agent and
// model are the current ones.
func (g *Guide) ShowRules(agent, model string) string {
	var b strings.Builder
	b.WriteString("**Rules**\n\n")
	if len(g.rules) == 0 {
		b.WriteString(
			"There are none. Rules are Markdown files in `.dragoman/rules` or `.eca/rules`, in the workspace or in your configuration folders.\n",
		)
	}
	for _, r := range g.rules {
		b.WriteString("- " + display.Code(r.File) + ": " + r.when())
		if !r.applies(agent, model) {
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
		b.WriteString("- " + display.Code(p.File))
		if p.By != "" {
			b.WriteString(", included by " + display.Code(p.By))
		}
		b.WriteString("\n")
	}
	g.showWarnings(&b)
	return b.String()
}

// when describes when a rule applies.
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

// ShowSkills lists the skills for a person, in Markdown.
func (g *Guide) ShowSkills() string {
	var b strings.Builder
	b.WriteString("**Skills**\n\n")
	if len(g.skills) == 0 {
		b.WriteString(
			"There are none. A skill is a folder with a SKILL.md, in `.dragoman/skills`, `.eca/skills`, `.agents/skills` or `.claude/skills`.\n",
		)
	}
	for _, s := range g.skills {
		b.WriteString("- **" + s.Name + "**: " + s.Description)
		if s.Unlisted {
			b.WriteString(" (only you can call it)")
		}
		b.WriteString("\n  " + display.Code(s.File) + "\n")
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
		b.WriteString("- " + display.Code(w.File) + ": " + w.Text + "\n")
	}
}

func codes(list []string) string {
	var all []string
	for _, s := range list {
		all = append(all, display.Code(display.Visible(s)))
	}
	return strings.Join(all, ", ")
}
