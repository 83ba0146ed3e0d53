package commands_test

import (
	"slices"
	"testing"

	"dragoman/core"
	"dragoman/core/commands"
	"dragoman/core/guide"
)

// Every built-in command shows something, expands to a prompt, or acts.
func TestBuiltIns(t *testing.T) {
	var list []guide.BuiltIn
	for _, b := range commands.Table() {
		list = append(list, guide.BuiltIn(b))
	}
	g, err := guide.Load(t.Context(), guide.Options{BuiltIn: list})
	if err != nil {
		t.Fatal(err)
	}
	acts := []string{"login", "agent", "model", "compact", "rename", "fork", "resume", "rename", "export", "doctor", "allow"} // only in a session
	names := map[string]bool{}
	for _, c := range g.Commands() {
		names[c.Name] = true
		_, shown := commands.Show(g, c.Name, commands.State{})
		_, expanded := g.Expand(c.Name, "x")
		prompts := expanded == nil
		if c.Kind != core.CommandBuiltin || c.Description == "" || prompts != c.Prompts() || prompts && shown || (prompts || shown) == slices.Contains(acts, c.Name) {
			t.Errorf("%+v: shown %v, expanded %v", c, shown, expanded)
		}
	}
	for _, name := range []string{"init", "login", "agent", "model", "costs", "context", "compact", "fork", "resume", "export", "rules", "skills", "doctor", "config"} {
		if !names[name] {
			t.Errorf("/%s is missing", name)
		}
	}
}
