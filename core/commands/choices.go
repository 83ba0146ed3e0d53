package commands

import (
	"context"
	"fmt"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// external returns the session's agent if that is one behind the gateway.
func external(t *core.Turn) (name string, ok bool) {
	a, found := t.Profile().Agent(t.State().Settings.Agent)
	return a.Name, found && a.External
}

// chooseAgentModel lists the models of an agent behind the gateway, or sets the session's. The agent
// is told with the next prompt.
func (c *Commands) chooseAgentModel(ctx context.Context, t *core.Turn, agent, want string) (string, error) {
	st := t.State()
	var choice *core.Choice
	if st.Offered.Agent == agent {
		for i := range st.Offered.Choices {
			if st.Offered.Choices[i].Category == "model" {
				choice = &st.Offered.Choices[i]
			}
		}
	}
	if choice == nil {
		return "Agent " + agent + " offers no models to choose from here. They may be known after its first answer.\n", nil
	}
	if want == "" {
		return agentModelsText(agent, choice), nil
	}
	var ids []string
	for _, v := range choice.Values {
		ids = append(ids, v.ID)
		if strings.EqualFold(v.ID, want) || strings.EqualFold(v.Name, want) {
			set := st.Settings
			set.Choices = set.Choices.With(choice.ID, v.ID)
			return "From now on agent " + agent + " uses `" + v.ID + "` in this session.\n", t.Set(ctx, set)
		}
	}
	there := fmt.Sprintf("Agent %s has no model `%s`", agent, display.Line(want, 100))
	if s := c.Suggest(want, ids); s != "" {
		there += "; did you mean `" + s + "`?"
	}
	return there + "\n\n/model lists those that it has.\n", nil
}

// agentModelsText lists the models of an agent behind the gateway.
func agentModelsText(agent string, choice *core.Choice) string {
	var b strings.Builder
	b.WriteString("**Models of agent " + agent + "**\n\n")
	for _, v := range choice.Values {
		b.WriteString("- `" + display.Line(v.ID, 100) + "`")
		if v.Name != "" && v.Name != v.ID {
			b.WriteString(": " + display.Line(v.Name, 100))
		}
		if v.ID == choice.Value {
			b.WriteString(" (this session's)")
		}
		b.WriteString("\n")
	}
	return b.String() + "\n/model NAME chooses one.\n"
}
