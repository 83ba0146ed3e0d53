package core_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// Each call of a turn is judged by the policy of its own beginning. Where that cannot be had
// the call is refused.
func TestEachCallHasItsOwnRules(t *testing.T) {
	allow, deny := coretest.Always(core.Verdict{Effect: core.Allow}), coretest.Always(core.Verdict{Effect: core.Deny, Why: "a new rule"})
	prof := &core.Profile{Policy: allow, Toolboxes: []core.Toolbox{coretest.Tools{touch}}}
	run := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		for range 3 {
			call := core.Call{ID: turn.NewCall(), Server: core.Native, Tool: touch.Is.Name}
			if _, err := turn.Invoke(ctx, call); err != nil {
				return "", err
			}
		}
		return core.StopEnd, nil
	}
	prof.Agents = []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: run}}}
	looks := 0
	g := core.New(core.Config{
		Store: coretest.NewMemory(),
		Profiles: &coretest.ProfileFunc{
			Make: func(context.Context, []string) (*core.Profile, error) { return prof, nil },
			Judge: func(context.Context, []string) (*core.Profile, error) {
				now := *prof
				switch looks++; looks {
				case 2:
					now.Policy = deny
				case 3:
					return nil, errors.New("the file is gone")
				}
				return &now, nil
			},
		},
	})
	defer closeGateway(t, g)
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "tester"})
	defer a.Close()
	r := a.Read(a.Head())
	defer r.Close()
	id := prompt(t, a, say("go"))
	var ends []string
	for len(ends) < 4 {
		recs, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range recs {
			switch e := rec.Event.(type) {
			case core.CallChanged:
				if e.Call.State.Ended() {
					ends = append(ends, string(e.Call.State)+" "+e.Call.Why)
				}
			case core.TurnEnded:
				ends = append(ends, string(e.Turn))
			default:
			}
		}
	}
	want := []string{"succeeded ", "rejected a new rule", "rejected rejected: the file is gone", string(id)}
	if !slices.Equal(ends, want) || looks != 3 {
		t.Errorf("%d looks, calls %q, want %q", looks, ends, want)
	}
}
