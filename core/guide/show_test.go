package guide

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"dragoman/core"
	"dragoman/core/commands"
	"dragoman/core/inference"
)

func TestShowContext(t *testing.T) {
	full := &Guide{
		parts:  []Part{{Source: Source{File: "/w/AGENTS.md"}, Text: strings.Repeat("x", 4000)}},
		rules:  []Rule{{Always: true, text: strings.Repeat("y", 400), Agents: []string{"plan"}}},
		skills: []Skill{{Name: "s", Description: "d"}},
	}
	large := inference.ModelInfo{ID: "acme/large", Window: 200_000}
	for _, tt := range []struct {
		name string
		g    *Guide
		s    commands.State
		want string
	}{
		{"nothing", &Guide{}, commands.State{}, "**Context**\n\nNo model was asked yet.\n"},
		{"not asked", &Guide{}, commands.State{Model: large}, "**Context** of `acme/large`\n\nNo model was asked yet. The window is 200,000 tokens.\n"},
		{"no window", &Guide{}, commands.State{Model: inference.ModelInfo{ID: "a/`b`"}, Session: core.State{Context: 1234}}, "**Context** of `` a/`b` ``\n\n1,234 tokens are used. How many the model takes is not known.\n"},
		{"another model's window", &Guide{}, commands.State{Model: large, Session: core.State{Context: 50_000, Window: 100_000}}, "**Context** of `acme/large`\n\n█████░░░░░░░░░░░░░░░ 25 %\n\n50,000 of 200,000 tokens are used.\n\n- Free: 150,000 tokens (75.0 %)\n"},
		{"over", &Guide{}, commands.State{Model: large, Session: core.State{Context: 300_000}}, "**Context** of `acme/large`\n\n████████████████████ 150 %\n\n300,000 of 200,000 tokens are used.\n\n- Free: 0 tokens (0.0 %)\n"},
		{"parts", full, commands.State{Agent: "code"}, "**Context**\n\nNo model was asked yet.\n\nIn every request:\n\n- AGENTS.md: about 1,0"},
	} {
		got, ok := commands.Show(tt.g, "context", tt.s)
		if !ok || got != tt.want && (tt.name != "parts" || !strings.HasPrefix(got, tt.want) || strings.Contains(got, "- Rules") || !strings.Contains(got, "- Skills: ")) {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, ok, got, tt.want)
		}
	}
	if got, _ := commands.Show(full, "context", commands.State{Agent: "plan"}); !strings.Contains(got, "- Rules: ") {
		t.Errorf("%s", got)
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
