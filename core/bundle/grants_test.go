package bundle_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

// asking returns a gateway whose turns make a call that must be approved, unless an answer for the
// session allows it.
func asking(t *testing.T, s *jsonl.Store) *core.Gateway {
	t.Helper()
	policy := coretest.Policy(func(c core.Check) core.Verdict {
		if c.Remembered["write"].Allows() {
			return core.Verdict{Effect: core.Allow, Why: "allowed for the session"}
		}
		return core.Verdict{Effect: core.MustAsk, Why: "it writes", Remember: "write", RememberText: "every write"}
	})
	tool := coretest.Tool{Is: core.Spec{Server: core.Native, Name: "write", Kind: core.KindEdit}}
	g := coretest.Gateway(s, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		_, err := turn.Invoke(ctx, core.Call{ID: core.CallID(turn.NewCall()), Server: core.Native, Tool: "write", Args: []byte(`{}`)})
		return core.StopEnd, err
	}, policy, tool)
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g
}

// turn prompts and answers what is asked with an answer for the session. It returns how often that was.
func turn(t *testing.T, g *core.Gateway, id core.SessionID) (asked int) {
	t.Helper()
	s, err := g.Open(t.Context(), core.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "zed", Principal: core.Local, Asks: true})
	defer a.Close()
	r := a.Read(a.Head())
	defer r.Close()
	if _, err := a.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: "go"}}}); err != nil {
		t.Fatal(err)
	}
	for {
		list, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range list {
			switch e := rec.Event.(type) {
			case core.Asked:
				asked++
				if err := a.Decide(t.Context(), e.Ask.ID, core.AllowSession, ""); err != nil {
					t.Fatal(err)
				}
			case core.TurnEnded:
				return asked
			}
		}
	}
}

// An answer for the session counts in the session, and not in that of its file.
func TestAnswersDoNotCount(t *testing.T) {
	from, to := store(t), store(t)
	kept(t, from, core.Meta{ID: "main"}, nil)
	g := asking(t, from)
	if n := turn(t, g, "main"); n != 1 {
		t.Fatalf("asked %d times at first", n)
	}
	if n := turn(t, g, "main"); n != 0 {
		t.Fatalf("asked %d times after an answer for the session", n)
	}
	imported(t, to, export(t, from, "main"))
	if n := turn(t, asking(t, to), "main"); n != 1 {
		t.Errorf("asked %d times in the session of the file", n)
	}
}

// A turn that was open ends as interrupted, and what it asked cannot be answered.
func TestOpenTurnsEnd(t *testing.T) {
	from, to := store(t), store(t)
	call := core.Call{ID: "c1", Turn: "t1", Server: core.Native, Tool: "write", Kind: core.KindEdit, State: core.Proposed}
	awaiting := call
	awaiting.State = core.Awaiting
	kept(t, from, core.Meta{ID: "main"}, nil,
		core.SettingsChanged{Settings: core.Settings{Agent: "wide", Trust: true}},
		core.Bound{Agent: "claude", State: []byte(`{"sessionId":"theirs"}`)},
		core.TurnStarted{Turn: "t1", Message: "m1", Prompt: []core.Block{core.Text{Text: "go"}}},
		core.CallChanged{Call: call}, core.CallChanged{Call: awaiting},
		core.Asked{Ask: core.Ask{ID: "a1", Kind: core.AskApproval, Turn: "t1", Call: "c1", Text: "may it?", Always: true, Deadline: time.Now().Add(time.Hour)}},
		core.PromptQueued{Turn: "t2", Prompt: []core.Block{core.Text{Text: "and then?"}}})
	imported(t, to, export(t, from, "main"))
	s, err := asking(t, to).Open(t.Context(), core.Local, "main")
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "zed", Principal: core.Local, Asks: true})
	defer a.Close()
	st := a.State()
	if st.Turn != "" || len(st.Queued) > 0 || len(a.Pending()) > 0 || st.Settings != (core.Settings{}) || len(st.Bound.State) > 0 {
		t.Errorf("%+v, pending %v", st, a.Pending())
	}
	if err := a.Decide(t.Context(), "a1", core.AllowAlways, ""); !errors.Is(err, core.ErrNotAsked) {
		t.Errorf("the ask of the file is answered: %v", err)
	}
	var ends []core.StopReason
	for r, err := range a.Records(t.Context(), core.Pos{}, a.Head()) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := r.Event.(core.TurnEnded); ok {
			ends = append(ends, e.Stop)
		}
	}
	if !slices.Equal(ends, []core.StopReason{core.StopInterrupted, core.StopInterrupted}) {
		t.Errorf("the turns end as %v", ends)
	}
}
