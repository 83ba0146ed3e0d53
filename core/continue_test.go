package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// pausing is a back end whose turns ask whether they go on.
func pausing(got chan<- core.Continuation) runFunc {
	return func(ctx context.Context, t *core.Turn) (core.StopReason, error) {
		c, err := t.AskToContinue(ctx, "$1 is spent. Go on?", "up to $1 more")
		if err != nil {
			return core.StopError, err
		}
		got <- c
		if c != core.GoOn {
			return core.StopLimit, errors.New("$1 is spent")
		}
		return core.StopEnd, nil
	}
}

// A paused turn goes on if a person says so, and for no other reason.
func TestAskToContinue(t *testing.T) {
	person, program := core.Client{Name: "editor", Asks: true, Questions: true}, core.Client{Name: "model", Caller: "c1", Asks: true, Questions: true}
	option := func(id string) *core.Reply { return &core.Reply{Outcome: core.OutcomeAnswered, Option: id} }
	for name, c := range map[string]struct {
		prompter, answerer core.Client
		prompt             core.Prompt
		reply              *core.Reply // nil: none comes
		want               core.Continuation
	}{
		"a person goes on":              {person, person, core.Prompt{}, option("go_on"), core.GoOn},
		"a person stops":                {person, person, core.Prompt{}, option("stop"), core.Stop},
		"a person declines":             {person, person, core.Prompt{}, &core.Reply{Outcome: core.OutcomeDeclined}, core.Stop},
		"an approval is no answer":      {person, person, core.Prompt{}, &core.Reply{Outcome: core.OutcomeDecided, Decision: core.AllowSession}, core.Stop},
		"an unknown option":             {person, person, core.Prompt{}, option("allow_once"), core.Stop},
		"there is no answer in time":    {person, person, core.Prompt{}, nil, core.Stop},
		"nobody can be asked":           {person, person, core.Prompt{}, &core.Reply{Outcome: core.OutcomeAlone}, core.Unasked},
		"trust":                         {person, core.Client{}, core.Prompt{Settings: &core.Settings{Trust: true}}, nil, core.Stop},
		"automatic approvals":           {program, core.Client{}, core.Prompt{Approvals: core.ApprovalsAuto}, nil, core.Unasked},
		"approvals denied":              {person, core.Client{}, core.Prompt{Approvals: core.ApprovalsDeny}, nil, core.Unasked},
		"a program alone":               {program, core.Client{}, core.Prompt{}, nil, core.Unasked},
		"a person at a program's turn":  {program, person, core.Prompt{}, option("go_on"), core.GoOn},
		"a program at a person's turn":  {person, program, core.Prompt{}, option("go_on"), core.Stop},
		"a client without consents":     {core.Client{Name: "early", Asks: true}, core.Client{}, core.Prompt{}, nil, core.Unasked},
		"a client that can only watch":  {program, core.Client{Name: "watcher", Role: core.Observe, Asks: true, Questions: true}, core.Prompt{}, nil, core.Unasked},
		"a person who says so in words": {person, person, core.Prompt{}, &core.Reply{Outcome: core.OutcomeAnswered, Text: "go on"}, core.Stop},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := make(chan core.Continuation, 1)
				g := coretest.Gateway(coretest.NewMemory(), pausing(got), coretest.Always(core.Verdict{Effect: core.Allow}))
				defer closeGateway(t, g)
				s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
				if err != nil {
					t.Fatal(err)
				}
				a := s.Attach(c.prompter)
				answerer := a
				if c.answerer.Name != "" && c.answerer.Name != c.prompter.Name {
					answerer = s.Attach(c.answerer)
				}
				r := a.Read(core.Pos{})
				defer r.Close()
				c.prompt.Blocks = say("hi").Blocks
				id := prompt(t, a, c.prompt)
				synctest.Wait()
				if pending := a.Pending(); len(pending) == 1 && c.reply != nil {
					if q := pending[0]; !q.Hard || !q.Person || q.Turn != id || q.Kind != core.AskConsent {
						t.Errorf("asked %+v", q)
					}
					if err := answerer.Answer(t.Context(), pending[0].ID, *c.reply); err != nil {
						t.Fatal(err)
					}
				}
				end := follow(t, r, id) // the question expires in the end
				if got := <-got; got != c.want {
					t.Errorf("outcome %d, want %d", got, c.want)
				}
				want := "TurnEnded limit $1 is spent"
				if c.want == core.GoOn {
					want = "TurnEnded end_turn"
				}
				if last := end[len(end)-1]; last != want {
					t.Errorf("it ended with %q, want %q", last, want)
				}
			})
		})
	}
}

// What a task asks is put to the user of the session that delegated it, once, and withdrawn with the task's turn.
func TestAskToContinueATask(t *testing.T) {
	for name, stop := range map[string]bool{"answered": false, "stopped": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := make(chan core.Continuation, 1)
				f := raise(t, kin{work: pausing(got), client: core.Client{Name: "editor", Asks: true, Questions: true}})
				defer closeGateway(t, f.g)
				id := prompt(t, f.parent, say("go"))
				synctest.Wait()
				c := f.child(0, core.Client{Name: "viewer", Role: core.Observe})
				defer c.Close()
				pending := f.parent.Pending()
				if len(pending) != 1 || pending[0].Turn != id || len(c.Pending()) != 0 {
					t.Fatalf("asked %+v, in the task %+v", pending, c.Pending())
				}
				if stop {
					if err := f.parent.Cancel(t.Context(), id, nil); err != nil {
						t.Fatal(err)
					}
					f.over()
					if len(f.parent.Pending()) != 0 {
						t.Error("the question is still open")
					}
					return
				}
				if err := f.parent.Answer(t.Context(), pending[0].ID, core.Reply{Outcome: core.OutcomeAnswered, Option: "go_on"}); err != nil {
					t.Fatal(err)
				}
				f.over()
				if got := <-got; got != core.GoOn {
					t.Errorf("outcome %d", got)
				}
			})
		})
	}
}
