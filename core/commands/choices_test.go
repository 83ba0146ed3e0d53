package commands_test

import (
	"context"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// /model of an agent behind the gateway lists and sets its own models. Our commands that are not
// about the session give way to the agent's.
func TestModelOfAnAgent(t *testing.T) {
	slash := table()
	prof := &core.Profile{}
	b := &coretest.Backend{Run: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		prompt, _ := turn.Prompt()[0].(core.Text)
		c, ok, err := slash.Run(ctx, turn, prompt.Text)
		if err != nil || !ok {
			return "", err
		}
		return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: c.Answer})
	}}
	prof.Agents = []core.Agent{{Name: "claude", Rev: "1", External: true, Backend: b}}
	g := core.New(core.Config{
		Store:    coretest.NewMemory(),
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
	})
	ctx := t.Context()
	defer func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	s, err := g.Create(ctx, core.Meta{Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "person"})
	r := a.Read(core.Pos{})
	say := func(prompt string) string {
		t.Helper()
		if _, err := a.Prompt(ctx, core.Prompt{Blocks: []core.Block{core.Text{Text: prompt}}}); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		for {
			records, err := r.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range records {
				switch e := any(rec.Event).(type) {
				case core.TextDelta:
					said.WriteString(e.Text)
				case core.TurnEnded:
					return said.String() + e.Err
				}
			}
		}
	}
	if got := say("/model"); !strings.Contains(got, "offers no models") {
		t.Errorf("before it has offered any: %q", got)
	}
	b.Run = offering(b.Run)
	if got := say("offer"); got != "" {
		t.Fatal(got)
	}
	if got := say("/model"); !strings.Contains(got, "- `opus`: Opus (this session's)\n- `haiku`") {
		t.Errorf("the list: %q", got)
	}
	if got := say("/model haiko"); !strings.Contains(got, "no model `haiko`") {
		t.Errorf("a mistyped one: %q", got)
	}
	if got := say("/model HAIKU"); !strings.Contains(got, "`haiku`") || a.State().Settings.Choices.Get("model") != "haiku" {
		t.Errorf("a choice: %q, %q", got, a.State().Settings.Choices)
	}
}

// offering has a back end offer its models when it is told to.
func offering(run func(context.Context, *core.Turn) (core.StopReason, error)) func(context.Context, *core.Turn) (core.StopReason, error) {
	return func(ctx context.Context, t *core.Turn) (core.StopReason, error) {
		if text, _ := t.Prompt()[0].(core.Text); text.Text != "offer" {
			return run(ctx, t)
		}
		return core.StopEnd, t.Emit(ctx, core.Offered{Agent: "claude", Choices: []core.Choice{{
			ID: "model", Category: "model", Value: "opus", Values: []core.ChoiceValue{{ID: "opus", Name: "Opus"}, {ID: "haiku"}},
		}}})
	}
}
