package guide

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"dragoman/core"
)

func TestShowContext(t *testing.T) {
	full := &Guide{
		parts:  []Part{{Source: Source{File: "/w/AGENTS.md"}, Text: strings.Repeat("x", 4000)}},
		rules:  []Rule{{Always: true, text: strings.Repeat("y", 400), Agents: []string{"plan"}}},
		skills: []Skill{{Name: "s", Description: "d"}},
	}
	large := core.ModelInfo{ID: "acme/large", Window: 200_000}
	for _, tt := range []struct {
		name string
		g    *Guide
		s    State
		want string
	}{
		{"nothing", &Guide{}, State{}, "**Context**\n\nNo model was asked yet.\n"},
		{"not asked", &Guide{}, State{Model: large}, "**Context** of `acme/large`\n\nNo model was asked yet. The window is 200,000 tokens.\n"},
		{"no window", &Guide{}, State{Session: core.State{Context: 1234, Settings: core.Settings{Model: "a/`b`"}}}, "**Context** of `` a/`b` ``\n\n1,234 tokens are used. How many the model takes is not known.\n"},
		{"half", &Guide{}, State{Model: large, Session: core.State{Context: 50_000, Window: 100_000}}, "**Context** of `acme/large`\n\n██████████░░░░░░░░░░ 50 %\n\n50,000 of 100,000 tokens are used, 50,000 are free.\n"},
		{"over", &Guide{}, State{Model: large, Session: core.State{Context: 300_000}}, "**Context** of `acme/large`\n\n████████████████████ 150 %\n\n300,000 of 200,000 tokens are used, 0 are free.\n"},
		{"parts", full, State{Agent: "code"}, "**Context**\n\nNo model was asked yet.\n\nOf every request, about:\n- AGENTS.md and what belongs to it: 1,0"},
	} {
		got, err := tt.g.withBuiltIns().Show("context", tt.s)
		if err != nil || got != tt.want && (tt.name != "parts" || !strings.HasPrefix(got, tt.want) || strings.Contains(got, "- rules") || !strings.Contains(got, "- the list of skills: ")) {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, got, tt.want)
		}
	}
	if got, _ := full.withBuiltIns().Show("context", State{Agent: "plan"}); !strings.Contains(got, "- rules: ") {
		t.Errorf("%s", got)
	}
}

func (g *Guide) withBuiltIns() *Guide {
	g.commands = builtIns()
	return g
}

func TestShowCosts(t *testing.T) {
	cost := 1.5
	g := (&Guide{}).withBuiltIns()
	for _, tt := range []struct {
		u    core.Usage
		want string
	}{
		{core.Usage{}, "No model was asked yet.\n"},
		{core.Usage{In: 1000, Out: 20, Reasoning: 7}, "- Sent: 1,000 tokens\n- Received: 20 tokens\n- Of these reasoning: 7 tokens\n- Price: not known\n"},
		{
			core.Usage{In: 5, CacheRead: 3, CacheWrite: 1, Cost: &cost, Estimated: true},
			"- Sent: about 5 tokens\n- Of these read from the provider's cache: about 3 tokens\n- Of these written to the provider's cache: about 1 tokens\n- Price: about $1.50\n",
		},
	} {
		if got, err := g.Show("costs", State{Session: core.State{Usage: tt.u}}); err != nil || got != "**Costs of this session**\n\n"+tt.want {
			t.Errorf("%v\n%s\nwant\n%s", err, got, tt.want)
		}
	}
}

func TestShowConfig(t *testing.T) {
	got, err := (&Guide{}).withBuiltIns().Show("config", State{Config: "a: |\n  ```\n"})
	if want := "**Configuration in use**\n\nNo configuration file was read.\n\n````yaml\na: |\n  ```\n````\n"; err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// With several folders /init asks which one is meant; their names expand nothing.
func TestInitFolders(t *testing.T) {
	dir := tree(t, []txtar.File{file("one/$1 {{x}}", ""), file("two $ARGUMENTS/x", "")})
	g := load(t, Options{Roots: []string{filepath.Join(dir, "one"), filepath.Join(dir, "two $ARGUMENTS")}})
	text, err := g.Expand("init", "now")
	if err != nil || !strings.Contains(text, "- "+filepath.Join(dir, "one")+"\n- "+filepath.Join(dir, "two $ARGUMENTS")+"\n") || !strings.HasSuffix(text, "\n\nArguments: now") {
		t.Errorf("%v\n%s", err, text)
	}
}
