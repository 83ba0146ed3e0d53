package core_test

import (
	"context"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// remembering asks unless an answer for the session counts.
var remembering = coretest.Policy(func(c core.Check) core.Verdict {
	switch c.Remembered["touch"] {
	case core.AllowSession:
		return core.Verdict{Effect: core.Allow, Why: "allowed for this session"}
	case core.RejectAlways:
		return core.Verdict{Effect: core.Deny, Why: "rejected for this session"}
	case core.AllowOnce, core.RejectOnce:
	}
	if c.Call.Tool != "touch" {
		return core.Verdict{Effect: core.Allow, Why: "it only hands over"}
	}
	return core.Verdict{Effect: core.MustAsk, Why: "it writes", Remember: "touch", RememberText: "touching"}
})

// An answer for the session counts where it was given: a person's in turns that a person
// prompted, a program's in its own. Only a person's no counts for everybody.
func TestAnswersCountWhereTheyWereGiven(t *testing.T) {
	prompts := map[string]core.Prompt{
		"a person": say("go"), "a person, planning": {Blocks: say("go").Blocks, Approvals: core.ApprovalsReadOnly},
		"x": {Blocks: say("go").Blocks, Approvals: core.ApprovalsAsk}, "y": {Blocks: say("go").Blocks, Approvals: core.ApprovalsAsk},
		"x, as itself": say("go"),
	}
	client := map[string]string{"a person, planning": "a person", "x, as itself": "x"}
	for _, test := range []struct {
		name             string
		prompted, by     string
		said             core.Decision
		allowed, refused []string // whose turns are not asked about afterwards; all others are
	}{
		{"a person's yes", "a person", "a person", core.AllowSession, []string{"a person"}, nil},
		{"a program's yes", "x", "x", core.AllowSession, []string{"x", "x, as itself"}, nil},
		{"a program's yes to what a person prompted", "a person", "x", core.AllowSession, []string{"x", "x, as itself"}, nil},
		{"a program's yes to another's", "y", "x", core.AllowSession, []string{"x", "x, as itself"}, nil},
		{"a person's yes to a program's", "x", "a person", core.AllowSession, []string{"a person", "x", "x, as itself"}, nil},
		{"a person's yes while planning", "a person, planning", "a person", core.AllowSession, []string{"a person"}, nil},
		{"once is for once", "a person", "a person", core.AllowOnce, nil, nil},
		{"a person's no", "a person", "a person", core.RejectAlways, nil, []string{"a person", "a person, planning", "x", "x, as itself", "y"}},
		{"a program's no", "x", "x", core.RejectAlways, nil, []string{"x", "x, as itself"}},
		{"a program's no to what a person prompted", "a person", "x", core.RejectAlways, nil, []string{"x", "x, as itself"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := coretest.NewMemory()
				g := coretest.Gateway(store, call, remembering, touch)
				atts := attachAll(t, g, true)
				name := func(who string) *core.Attachment {
					if alias := client[who]; alias != "" {
						who = alias
					}
					return atts[who]
				}
				prompt(t, name(test.prompted), prompts[test.prompted])
				synctest.Wait()
				if err := name(test.by).Decide(t.Context(), only(t, atts["x"]), test.said, ""); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				for _, reopened := range []bool{false, true} {
					if reopened {
						closeGateway(t, g)
						g = coretest.Gateway(store, call, remembering, touch)
						atts = attachAll(t, g, false)
					}
					for who, p := range prompts {
						want := "asked"
						for _, w := range test.allowed {
							if w == who {
								want = "allowed"
							}
						}
						for _, w := range test.refused {
							if w == who {
								want = "refused"
							}
						}
						if got := fate(t, name(who), p); got != want {
							t.Errorf("reopened %v: a turn of %s is %s, want %s", reopened, who, got, want)
						}
					}
				}
				closeGateway(t, g)
			})
		})
	}
}

// attachAll attaches a person and two programs to one session.
func attachAll(t *testing.T, g *core.Gateway, create bool) map[string]*core.Attachment {
	t.Helper()
	var s *core.Session
	var err error
	if create {
		s, err = g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
	} else {
		s, err = g.Open(t.Context(), core.Local, "s")
	}
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*core.Attachment{
		"a person": s.Attach(core.Client{Name: "editor", Asks: true}),
		"x":        s.Attach(core.Client{Name: "program", Caller: "x", Asks: true}),
		"y":        s.Attach(core.Client{Name: "program", Caller: "y", Asks: true}),
	}
}

// only returns the one ask that waits, and fails the test if there is not exactly one.
func only(t *testing.T, a *core.Attachment) core.AskID {
	t.Helper()
	p := a.Pending()
	if len(p) != 1 {
		t.Fatalf("pending: %+v", p)
	}
	return p[0].ID
}

// fate returns the outcome of a turn's call. An ask is rejected.
func fate(t *testing.T, a *core.Attachment, p core.Prompt) string {
	t.Helper()
	from := a.Head()
	id := prompt(t, a, p)
	synctest.Wait()
	asked := len(a.Pending()) > 0
	for _, q := range a.Pending() {
		if err := a.Decide(t.Context(), q.ID, core.RejectOnce, ""); err != nil {
			t.Fatal(err)
		}
	}
	r := a.Read(from)
	defer r.Close()
	lines := follow(t, r, id)
	for _, l := range lines {
		switch {
		case asked:
			return "asked"
		case l == "CallChanged succeeded":
			return "allowed"
		case l == "CallChanged rejected":
			return "refused"
		}
	}
	t.Fatalf("nothing was called: %q", lines)
	return ""
}

// What a task does is judged as its parent's turn is: a person's answer in the chat does
// not allow what a program hands over.
func TestAnswersOfTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		twice := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			if _, err := touches(ctx, turn); err != nil {
				return "", err
			}
			return touches(ctx, turn)
		}
		f := raise(t, kin{work: twice})
		defer closeGateway(t, f.g)
		program := f.parent.Attach(core.Client{Name: "program", Caller: "x", Asks: true})
		for _, by := range []*core.Attachment{f.parent, program} {
			prompt(t, by, say("go"))
			synctest.Wait()
			if err := by.Decide(t.Context(), only(t, by), core.AllowSession, ""); err != nil {
				t.Fatal(err)
			}
			f.over() // the second call was not asked about
		}
	})
}

// In a log older than the givers of answers nobody gets more than was given: an answer
// counts as a person's if the client that prompted gave it itself.
func TestAnswersOfOldLogs(t *testing.T) {
	for _, test := range []struct {
		name  string
		turn  core.Origin
		reply core.Reply
		want  map[string]string
	}{
		{
			"the client that prompted",
			core.Origin{Client: "editor"},
			core.Reply{Decision: core.AllowSession, By: "editor"},
			map[string]string{"a person": "allowed", "x": "asked"},
		},
		{
			"another client",
			core.Origin{Client: "editor"},
			core.Reply{Decision: core.AllowSession, By: "program"},
			map[string]string{"a person": "asked", "x": "asked"},
		},
		{
			"a program's turn",
			core.Origin{Client: "program", Approvals: core.ApprovalsAsk},
			core.Reply{Decision: core.AllowSession, By: "program"},
			map[string]string{"a person": "asked", "x": "asked"},
		},
		{
			"a no",
			core.Origin{Client: "program", Approvals: core.ApprovalsAsk},
			core.Reply{Decision: core.RejectAlways, By: "program"},
			map[string]string{"a person": "refused", "x": "refused"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.reply.Outcome, test.reply.Remember = core.OutcomeDecided, "touch"
				store, _ := storeOf(
					t,
					core.TurnStarted{Turn: "t1", Message: "m1", Origin: test.turn, Prompt: say("go").Blocks},
					core.Asked{Ask: core.Ask{ID: "q1", Kind: core.AskApproval, Turn: "t1", Remember: "touching"}},
					core.Answered{Ask: "q1", Reply: test.reply}, core.TurnEnded{Turn: "t1", Stop: core.StopEnd},
				)
				g := coretest.Gateway(store, call, remembering, touch)
				defer closeGateway(t, g)
				atts := attachAll(t, g, false)
				for who, want := range test.want {
					if got := fate(t, atts[who], say("go")); got != want {
						t.Errorf("a turn of %s is %s, want %s", who, got, want)
					}
				}
			})
		})
	}
}
