package doctor

import (
	"context"
	"strings"

	"dragoman/configs"
	"dragoman/core/display"
	"dragoman/core/guide"
)

// Session describes the session in which a report was requested.
type Session struct {
	Editor *configs.Config // an editor's settings; nil: none
	Fault  string          // the reason why the newest configuration is not in use; "": it is
	Guide  *guide.Guide    // files for the agent; nil: the workspace's folders cannot be read
	Agents []string        // problems of the agents that files define
}

// Text returns the report as Markdown, including problems in the files for the agent.
func (d *Doctor) Text(ctx context.Context, s Session) string {
	r := d.examine(ctx, s.Editor)
	r.sections = append(r.sections, examineGuide(s))
	if s.Fault != "" {
		r.sections = append(
			r.sections,
			section{
				"This process",
				[]finding{
					{
						wrong,
						"an earlier configuration is still in use, because the newest one has a mistake:\n" + s.Fault,
						"",
					},
				},
			},
		)
	}
	var b strings.Builder
	for _, s := range r.sections {
		b.WriteString("**" + s.title + "**\n\n")
		for _, f := range s.findings {
			b.WriteString(
				"- " + string(f.mark) + " " + strings.ReplaceAll(display.Printable(f.text), "\n", "\n  ") + "\n",
			)
			if f.hint != "" {
				b.WriteString("  → " + display.Printable(f.hint) + "\n")
			}
		}
		b.WriteString("\n")
	}
	return b.String() + r.verdict() + "\n"
}

// examineGuide checks the files with instructions for the agent.
func examineGuide(s Session) section {
	is := section{title: "Files for the agent"}
	have := s.Guide
	if have == nil {
		is.add(look, "the workspace's folders cannot be read")
		return is
	}
	is.add(
		plain,
		"instructions: %d, rules: %d, skills: %d, agents: %d",
		len(have.Instructions()),
		len(have.Rules()),
		len(have.Skills()),
		len(have.Agents()),
	)
	for _, w := range have.Warnings() {
		is.add(look, "%s", w)
	}
	for _, w := range s.Agents {
		is.add(look, "%s", w)
	}
	return is
}
