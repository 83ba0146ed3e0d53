package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// A person may allow a call for good where the policy can keep that, and nobody else may, nor
// anybody where it was not offered: then it is no decision at all.
func TestAllowedForGood(t *testing.T) {
	full := errors.New("keep an answer: the disk is full")
	for name, test := range map[string]struct {
		verdict core.Verdict
		options []core.Option
		keep    error
		caller  core.Caller
		offered bool
		kept    int
		want    core.CallState
		why     string
	}{
		"a person":       {verdict: core.Verdict{Remember: "k", RememberText: "touching"}, offered: true, kept: 1, want: core.Running, why: "allowed by the user for good, in this folder: touching"},
		"not stored":     {verdict: core.Verdict{Remember: "k", RememberText: "touching"}, keep: full, offered: true, kept: 1, want: core.Running, why: "allowed by the user, but only once: keep an answer: the disk is full"},
		"a program":      {verdict: core.Verdict{Remember: "k", RememberText: "touching"}, caller: "model", offered: true, want: core.Rejected},
		"cannot be kept": {verdict: core.Verdict{Remember: "k", RememberText: "touching"}, keep: errNever, want: core.Rejected},
		"an agent's own list": {
			verdict: core.Verdict{Remember: "k", RememberText: "touching"}, options: []core.Option{once, always, no}, want: core.Rejected,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept := 0
				v := test.verdict
				v.Effect, v.Why = core.MustAsk, "it writes"
				if !errors.Is(test.keep, errNever) {
					v.Keep = func(context.Context) error { kept++; return test.keep }
				}
				g, zed, host := hosted(t, coretest.Always(v))
				defer closeGateway(t, g)
				_, r := proposed(t, host, core.Origin{Caller: test.caller}, runs("", "make", test.options...))
				got := authorize(t, host, r)
				by := zed
				if test.caller != "" {
					by = zed.Attach(core.Client{Name: "agent", Asks: true, Questions: true, Caller: test.caller})
					defer by.Close()
				}
				q := zed.Pending()
				if len(q) != 1 || q[0].Always != test.offered {
					t.Fatalf("pending: %+v; want offered %t", q, test.offered)
				}
				if err := by.Decide(t.Context(), q[0].ID, core.AllowAlways, ""); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if test.want == core.Rejected {
					if err := zed.Decide(t.Context(), q[0].ID, core.RejectOnce, ""); err != nil && !errors.Is(err, core.ErrNotAsked) {
						t.Fatal(err)
					}
				}
				reply := <-got
				state, why := callState(t, zed, r.Call.ID)
				if reply.Decision.Allows() != (test.want == core.Running) || state != test.want || test.why != "" && why != test.why || kept != test.kept {
					t.Errorf("%+v; the call is %s (%s), kept %d times", reply, state, why, kept)
				}
			})
		})
	}
}

var errNever = errors.New("never")

// The approval that a person gave last can be made to last, once, in a person's turn. Nothing else can.
func TestMadeToLast(t *testing.T) {
	for name, test := range map[string]struct {
		decision core.Decision
		never    bool        // the policy cannot keep it
		caller   core.Caller // of the turn that makes it last
		by       core.Caller // who decides
		offered  bool
	}{
		"once":                {decision: core.AllowOnce, offered: true},
		"for the session":     {decision: core.AllowSession, offered: true},
		"for good already":    {decision: core.AllowAlways},
		"rejected":            {decision: core.RejectOnce},
		"by a program":        {decision: core.AllowOnce, by: "model"},
		"in a program's turn": {decision: core.AllowOnce, caller: "model"},
		"cannot be kept":      {decision: core.AllowOnce, never: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept := 0
				v := core.Verdict{Effect: core.MustAsk, Why: "it writes", Remember: "k", RememberText: "touching"}
				if !test.never {
					v.Keep = func(context.Context) error { kept++; return nil }
				}
				g, zed, host := hosted(t, coretest.Always(v))
				defer closeGateway(t, g)
				turn, r := proposed(t, host, core.Origin{Caller: test.caller}, runs("", "make"))
				got := authorize(t, host, r)
				by := zed
				if test.by != "" {
					by = zed.Attach(core.Client{Name: "agent", Asks: true, Questions: true, Caller: test.by})
					defer by.Close()
				}
				synctest.Wait()
				if err := by.Decide(t.Context(), zed.Pending()[0].ID, test.decision, ""); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if test.by != "" && len(zed.Pending()) > 0 {
					_ = zed.Decide(t.Context(), zed.Pending()[0].ID, core.RejectOnce, "")
				}
				<-got
				kept = 0
				scope, keep := turn.Lasting()
				if (keep != nil) != test.offered || test.offered && scope != "touching" {
					t.Fatalf("offered %t (%q), want %t", keep != nil, scope, test.offered)
				}
				if keep == nil {
					return
				}
				list, err := g.Commands(t.Context(), zed)
				if err != nil || len(list) != 1 || list[0].Name != core.CommandAllow || !strings.Contains(list[0].Description, "touching") {
					t.Errorf("the commands: %+v, %v", list, err)
				}
				if err := keep(t.Context()); err != nil || kept != 1 {
					t.Errorf("kept %d times, %v", kept, err)
				}
				if _, again := turn.Lasting(); again != nil {
					t.Error("it can be made to last twice")
				}
			})
		})
	}
}
