package commands

import (
	"context"
	"fmt"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
)

// chooseModel lists the models, or sets the session's.
func (c *Commands) chooseModel(ctx context.Context, t *core.Turn, want string) (string, error) {
	if agent, ok := external(t); ok {
		return c.chooseAgentModel(ctx, t, agent, want)
	}
	made, err := c.Load()
	if err != nil {
		return "", err
	}
	set := t.State().Settings
	if want == "" {
		return modelsText(t.Profile(), set), nil
	}
	models := inference.ModelsOf(t.Profile())
	id, unsure, wrong := c.findModel(made, models, want)
	if wrong != "" {
		return wrong + "\n", nil
	}
	if err := made.CheckKey(id); err != nil {
		return "The model was not changed: " + err.Error() + "\n", nil
	}
	set.Model = id
	model, err := models.Model(ctx, id)
	if err != nil {
		return "The model was not changed: " + err.Error() + "\n", nil
	}
	set.Effort = model.Info().Effort(set.Effort)
	if err := t.Set(ctx, set); err != nil {
		return "", err
	}
	text := "From now on this session uses `" + id + "`."
	if unsure {
		text += " It is not among the models that are known here; whether there is one, its provider will say."
	}
	return text + "\n", nil
}

// findModel finds the model that a person has named: by its id, or by the part of it
// after the provider. unsure means that the model is unknown here.
func (c *Commands) findModel(p Profile, models inference.Models, want string) (id string, unsure bool, wrong string) {
	var ids, named []string
	for _, i := range models.List {
		ids = append(ids, i.ID)
		if _, short, _ := strings.Cut(i.ID, "/"); strings.EqualFold(i.ID, want) {
			return i.ID, false, ""
		} else if strings.EqualFold(short, want) {
			named = append(named, i.ID)
		}
	}
	if len(named) == 1 {
		return named[0], false, ""
	}
	if len(named) > 1 {
		return "", false, "Several providers have it: " + strings.Join(named, ", ") + "."
	}
	there := fmt.Sprintf("There is no model `%s`", display.Line(want, 100))
	if s := c.Suggest(want, ids); s != "" {
		return "", false, there + "; did you mean `" + s + "`?"
	}
	for _, id := range ids { // the mistyped name only
		if _, short, _ := strings.Cut(id, "/"); c.Suggest(want, []string{short}) != "" {
			return "", false, there + "; did you mean `" + id + "`?"
		}
	}
	if err := p.CheckModel(want); err != nil {
		return "", false, there + ": " + err.Error() + "\n\n/model lists those that are known."
	}
	return want, true, ""
}

// modelsText lists the models.
func modelsText(p *core.Profile, set core.Settings) string {
	models, now := inference.ModelsOf(p), inference.Next(p, set)
	var b strings.Builder
	b.WriteString("**Models**\n\n")
	listed := false
	for _, i := range models.List {
		b.WriteString("- `" + i.ID + "`")
		if i.ID == now {
			listed = true
			b.WriteString(" (this session's)")
		}
		if i.ID == models.Default {
			b.WriteString(" (the default)")
		}
		b.WriteString("\n")
	}
	if !listed {
		b.WriteString("- `" + display.Line(now, 100) + "` (this session's)\n")
	}
	b.WriteString("\n/model PROVIDER/MODEL chooses one; others of a provider that has a key can be named as well.\n")
	return b.String()
}
