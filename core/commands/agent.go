package commands

import (
	"context"
	"fmt"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// chooseAgent lists the agents, or sets the session's. The turn itself keeps its agent.
func (c *Commands) chooseAgent(ctx context.Context, t *core.Turn, want string) (string, error) {
	prof, set := t.Profile(), t.State().Settings
	now, _ := prof.Agent(set.Agent)
	if want == "" {
		return agentsText(prof.Agents, now.Name), nil
	}
	var names []string
	for _, a := range prof.Agents {
		names = append(names, a.Name)
		if !strings.EqualFold(a.Name, want) {
			continue
		}
		if a.Name == now.Name {
			return "Agent `" + a.Name + "` answers in this session already.\n", nil
		}
		if set.Agent = a.Name; a.Name == prof.Agents[0].Name && !a.External {
			set.Agent = "" // the default, even if its name changes
		}
		if err := t.Set(ctx, set); err != nil {
			return "", err
		}
		return changedText(a, now), nil
	}
	text := fmt.Sprintf("There is no agent `%s`", display.Line(want, 100))
	if s := c.Suggest(want, names); s != "" {
		return text + "; did you mean `" + s + "`?\n", nil
	}
	return text + "; /agent lists them.\n", nil
}

// changedText says what a change of the agent means.
func changedText(to, from core.Agent) string {
	text := "From your next message on agent `" + to.Name + "` answers in this session."
	switch {
	case to.External:
		text += " It is told what was said, and so is its provider."
	case from.External:
		text += " The provider of its model gets what was said."
	}
	return text + "\n"
}

// agentsText lists the agents.
func agentsText(list []core.Agent, now string) string {
	var b strings.Builder
	b.WriteString("**Agents**\n\n")
	for i, a := range list {
		b.WriteString("- `" + a.Name + "`")
		if a.Name == now {
			b.WriteString(" (this session's)")
		}
		if i == 0 {
			b.WriteString(" (the default)")
		}
		if a.Description != "" {
			b.WriteString(": " + display.Line(a.Description, 200))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n/agent NAME chooses one; it is told what was said so far.\n")
	return b.String()
}
