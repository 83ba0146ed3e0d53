package commands_test

import (
	"context"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// /agent lists the agents and chooses one, which answers from the next message on.
func TestChooseAgent(t *testing.T) {
	answer := func(name string) core.Agent {
		return core.Agent{Name: name, Rev: "1", External: name == "claude", Description: "About " + name, Backend: &coretest.Backend{Run: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: name + " hears"})
		}}}
	}
	prof := &core.Profile{
		Agents:  []core.Agent{answer("code"), answer("plan"), answer("claude")},
		Command: table().Run,
	}
	g := core.New(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "test"})
	r := a.Read(core.Pos{})
	defer r.Close()
	say := func(text string) (said string) {
		t.Helper()
		if _, err := a.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: text}}}); err != nil {
			t.Fatal(err)
		}
		for {
			recs, err := r.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range recs {
				switch e := rec.Event.(type) {
				case core.TextDelta:
					said += e.Text
				case core.TurnEnded:
					return said
				}
			}
		}
	}
	for _, c := range []struct{ text, want string }{
		{"hello", "code hears"},
		{"/agent", "**Agents**\n\n- `code` (this session's) (the default): About code\n- `plan`: About plan\n- `claude`: About claude\n"},
		{"/agent clude", "There is no agent `clude`; did you mean `claude`?"},
		{"/agent zzz", "There is no agent `zzz`; /agent lists them."},
		{"/agent code", "Agent `code` answers in this session already."},
		{"/agent CLAUDE", "From your next message on agent `claude` answers in this session. It is told what was said, and so is its provider."},
		{"hello", "claude hears"},
		{"/agent", "- `claude` (this session's): About claude"},
		{"/agent code", "From your next message on agent `code` answers in this session. The provider of its model gets what was said."},
		{"hello", "code hears"},
		{"/agent plan", "From your next message on agent `plan` answers in this session.\n"},
		{"hello", "plan hears"},
	} {
		if got := say(c.text); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
