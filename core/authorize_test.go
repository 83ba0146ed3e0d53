package core_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/policy"
)

// Lists of answers, as agents offer them.
var (
	once    = core.Option{ID: "y", Label: "Yes", Decision: core.AllowOnce}
	always  = core.Option{ID: "a", Label: "Always for this project", Decision: core.AllowSession}
	no      = core.Option{ID: "n", Label: "No", Decision: core.RejectOnce}
	never   = core.Option{ID: "N", Label: "Never", Decision: core.RejectAlways}
	strange = core.Option{ID: "?", Label: "Switch to another mode"}
)

// authorized is what Authorize returned.
type authorized struct {
	core.Reply
	err error
}

// runs is a call of an agent that runs a command.
func runs(id core.CallID, command string, options ...core.Option) core.Request {
	return core.Request{
		Call: core.Call{ID: id, Server: "claude", Tool: "Bash", Title: "look around", Kind: core.KindRead, State: core.Proposed},
		Spec: core.Spec{Server: core.Native, Name: "shell_command", Kind: core.KindExecute}, Access: []core.Access{{Op: core.OpRun, Command: command}},
		Options: options,
	}
}

// authorize has a host authorize a request, and waits until that is done or somebody is asked.
func authorize(t *testing.T, host core.Host, r core.Request) <-chan authorized {
	t.Helper()
	got := make(chan authorized, 1)
	go func() {
		reply, err := host.Authorize(t.Context(), r)
		got <- authorized{reply, err}
	}()
	synctest.Wait()
	return got
}

// proposed begins a turn in which a call is proposed.
func proposed(t *testing.T, host core.Host, o core.Origin, r core.Request) (*core.Turn, core.Request) {
	t.Helper()
	turn, err := host.Begin(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r.Call.ID, r.Call.Turn = turn.NewCall(), turn.ID()
	if err := turn.Emit(t.Context(), core.CallChanged{Call: r.Call}); err != nil {
		t.Fatal(err)
	}
	return turn, r
}

// callState returns the state of a call as the log has it, and the reason for it.
func callState(t *testing.T, a *core.Attachment, id core.CallID) (state core.CallState, why string) {
	t.Helper()
	for _, r := range effective(t, a, a.Head()) {
		if e, ok := r.Event.(core.CallChanged); ok && e.Call.ID == id {
			state, why = e.Call.State, e.Call.Why
		}
	}
	return state, why
}

// A person who is shown the agent's own answers gives one of them. Each means what the agent said, one
// of an unknown kind allows nothing, and one that was not offered is a no.
func TestAuthorizeWithTheAgentsAnswers(t *testing.T) {
	all := []core.Option{once, always, no, never, strange}
	twice := []core.Option{once, no, {ID: "y", Label: "Yes, and more", Decision: core.AllowSession}}
	decided := core.OutcomeDecided
	for name, test := range map[string]struct {
		options []core.Option
		answer  core.Reply
		want    core.Decision
		option  string
		state   core.CallState
	}{
		"once":                       {all, core.Reply{Outcome: decided, Option: "y"}, core.AllowOnce, "y", core.Running},
		"always":                     {all, core.Reply{Outcome: decided, Option: "a"}, core.AllowSession, "a", core.Running},
		"no":                         {all, core.Reply{Outcome: decided, Option: "n"}, core.RejectOnce, "n", core.Rejected},
		"never":                      {all, core.Reply{Outcome: decided, Option: "N"}, core.RejectAlways, "N", core.Rejected},
		"of an unknown kind":         {all, core.Reply{Outcome: decided, Option: "?"}, "", "?", core.Rejected},
		"its decision is the list's": {all, core.Reply{Outcome: decided, Option: "?", Decision: core.AllowOnce}, "", "?", core.Rejected},
		"not offered":                {all, core.Reply{Outcome: decided, Option: "z", Decision: core.AllowOnce}, core.RejectOnce, "", core.Rejected},
		"without an option":          {all, core.Reply{Outcome: decided, Decision: core.AllowOnce}, core.RejectOnce, "", core.Rejected},
		"an ambiguous option":        {twice, core.Reply{Outcome: decided, Option: "y"}, core.RejectOnce, "", core.Rejected},
		"a list that fits":           {[]core.Option{once, no}, core.Reply{Outcome: decided, Decision: core.AllowOnce}, core.AllowOnce, "", core.Running},
		"a list that fits, no":       {[]core.Option{once, always, no}, core.Reply{Outcome: decided, Decision: core.RejectOnce}, core.RejectOnce, "", core.Rejected},
		"declined":                   {all, core.Reply{Outcome: core.OutcomeDeclined, Option: "y"}, core.RejectOnce, "", core.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, a, host := hosted(t, ask)
				defer closeGateway(t, g)
				_, r := proposed(t, host, core.Origin{}, runs("", "make", test.options...))
				got := authorize(t, host, r)
				q := a.Pending()
				if len(q) != 1 || !slices.Equal(q[0].Options, test.options) || q[0].Call != r.Call.ID {
					t.Fatalf("pending: %+v", q)
				}
				if err := a.Answer(t.Context(), q[0].ID, test.answer); err != nil {
					t.Fatal(err)
				}
				if reply := <-got; reply.err != nil || reply.Decision != test.want || reply.Option != test.option {
					t.Errorf("got %+v", reply)
				}
				if state, why := callState(t, a, r.Call.ID); state != test.state || why == "" {
					t.Errorf("the call is %s (%s), want %s", state, why, test.state)
				}
			})
		})
	}
}

// An agent that offers no answer at all is refused, and nobody is asked.
func TestAuthorizeWithoutAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, coretest.Always(core.Verdict{Effect: core.Allow}))
		defer closeGateway(t, g)
		_, r := proposed(t, host, core.Origin{}, runs("", "make"))
		r.Options = []core.Option{}
		reply := <-authorize(t, host, r)
		if reply.err != nil || reply.Decision != core.RejectOnce || len(a.Pending()) != 0 {
			t.Errorf("got %+v; pending: %+v", reply, a.Pending())
		}
		if state, _ := callState(t, a, r.Call.ID); state != core.Rejected {
			t.Errorf("the call is %s", state)
		}
	})
}

// A rule allows only what does not last: without such an answer a person is asked, and nobody where the
// turn allows no approvals.
func TestARuleAllowsOnlyOnce(t *testing.T) {
	lasting := []core.Option{always, no}
	for _, test := range []struct {
		name      string
		options   []core.Option
		approvals core.Approvals
		asked     bool
		want      core.Decision
	}{
		{"own answers", nil, "", false, core.AllowOnce},
		{"once", []core.Option{once, always, no}, "", false, core.AllowOnce},
		{"lasting", lasting, "", true, ""},
		{"lasting, asked", lasting, core.ApprovalsAsk, true, ""},
		{"lasting, not asked", lasting, core.ApprovalsDeny, false, core.RejectOnce},
		{"lasting, read-only", lasting, core.ApprovalsReadOnly, false, core.RejectOnce},
		{"lasting, by itself", lasting, core.ApprovalsAuto, false, core.RejectOnce},
		{"of an unknown kind", []core.Option{strange}, "", true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, a, host := hosted(t, coretest.Always(core.Verdict{Effect: core.Allow, Why: "a rule", Remember: "make", RememberText: "make"}))
				defer closeGateway(t, g)
				_, r := proposed(t, host, core.Origin{Client: "tester", Approvals: test.approvals}, runs("", "make", test.options...))
				got := authorize(t, host, r)
				if q := a.Pending(); test.asked != (len(q) == 1) {
					t.Fatalf("pending: %+v", q)
				} else if test.asked {
					if q[0].Remember != "" {
						t.Errorf("a decision for the session would be %q", q[0].Remember)
					}
					if err := a.Answer(t.Context(), q[0].ID, core.Reply{Outcome: core.OutcomeDecided, Option: test.options[0].ID}); err != nil {
						t.Fatal(err)
					}
					if reply := <-got; reply.err != nil || reply.Decision != test.options[0].Decision {
						t.Errorf("got %+v", reply)
					}
					return
				}
				if reply := <-got; reply.err != nil || reply.Decision != test.want || reply.Option != "" {
					t.Errorf("got %+v, want %s", reply, test.want)
				}
			})
		})
	}
}

// What the agent offered is the agent's to remember. Our own answer for the session, which a client may
// give to a list that fits, is remembered here.
func TestWhatIsRememberedOfTheAgentsAnswers(t *testing.T) {
	for _, test := range []struct {
		name       string
		answer     core.Reply
		remembered core.Decision
	}{
		{"the agent's answer", core.Reply{Option: "a"}, ""},
		{"our own answer", core.Reply{Decision: core.AllowSession}, core.AllowSession},
		{"ours, once", core.Reply{Decision: core.AllowOnce}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var had core.Decision
				g, a, host := hosted(t, coretest.Policy(func(c core.Check) core.Verdict {
					had = c.Remembered["make"]
					return core.Verdict{Effect: core.MustAsk, Why: "it runs", Remember: "make", RememberText: "make"}
				}))
				defer closeGateway(t, g)
				turn, r := proposed(t, host, core.Origin{Client: "tester"}, runs("", "make", once, always, no))
				got := authorize(t, host, r)
				test.answer.Outcome = core.OutcomeDecided
				if err := a.Answer(t.Context(), a.Pending()[0].ID, test.answer); err != nil {
					t.Fatal(err)
				}
				if reply := <-got; !reply.Decision.Allows() {
					t.Fatalf("got %+v", reply)
				}
				again := runs(turn.NewCall(), "make", once, always, no)
				if err := turn.Emit(t.Context(), core.CallChanged{Call: again.Call}); err != nil {
					t.Fatal(err)
				}
				authorize(t, host, again)
				if had != test.remembered {
					t.Errorf("the next call was judged with %q, want %q", had, test.remembered)
				}
			})
		})
	}
}

// A call is judged by what it does, whatever the agent calls its tool and its kind.
func TestACallIsJudgedByWhatItDoes(t *testing.T) {
	rules, err := policy.New(policy.Options{Default: core.MustAsk, Rules: []policy.Rule{
		{Effect: core.Deny, Tool: "shell_command", Server: core.Native, Command: "rm *"},
		{Effect: core.Allow, Tool: "shell_command", Server: core.Native, Command: "go test *"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]core.Decision{"rm -rf /w": core.RejectOnce, "ls && rm -rf /w": core.RejectOnce, "go test ./...": core.AllowOnce, "go run .": ""} {
		synctest.Test(t, func(t *testing.T) {
			g, a, host := hosted(t, rules)
			defer closeGateway(t, g)
			_, r := proposed(t, host, core.Origin{Client: "tester"}, runs("", command, once, no))
			got := authorize(t, host, r)
			if want == "" {
				if q := a.Pending(); len(q) != 1 {
					t.Errorf("%s: pending: %+v", command, q)
				}
				return
			}
			if reply := <-got; reply.err != nil || reply.Decision != want {
				t.Errorf("%s: got %+v, want %s", command, reply, want)
			}
			for _, rec := range effective(t, a, a.Head()) {
				if e, ok := rec.Event.(core.CallChanged); ok && (e.Call.Tool != "Bash" || e.Call.Server != "claude" || e.Call.Kind != core.KindRead) {
					t.Errorf("%s: the call is shown as %+v", command, e.Call)
				}
			}
		})
	}
}

// Outside of a turn one begins, and the call with it: also for several at once, and behind a turn that
// was stopped.
func TestAuthorizeWithoutATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, ask)
		defer closeGateway(t, g)
		r := a.Read(a.Head())
		defer r.Close()
		first, second := authorize(t, host, runs("b1", "make")), authorize(t, host, runs("b2", "make install"))
		q := a.Pending()
		if len(q) != 2 || q[0].Turn != q[1].Turn || q[0].Turn != a.State().Turn {
			t.Fatalf("pending: %+v", q)
		}
		if err := a.Decide(t.Context(), q[0].ID, core.AllowOnce, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the first call runs
		if err := a.Decide(t.Context(), q[1].ID, core.RejectOnce, ""); err != nil {
			t.Fatal(err)
		}
		if x, y := <-first, <-second; x.Decision != core.AllowOnce || y.Decision != core.RejectOnce {
			t.Errorf("got %+v and %+v", x, y)
		}
		<-time.After(time.Minute) // the call runs
		if err := a.Cancel(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		wantLines(t, follow(t, r, q[0].Turn), "TurnStarted", "CallChanged proposed", "CallChanged awaiting", "Asked",
			"CallChanged proposed", "CallChanged awaiting", "Asked", "Answered decided", "CallChanged running", "Answered decided",
			"CallChanged rejected", "CallChanged canceled", "TurnEnded cancelled")
	})
}

// A call that has ended, or runs already, cannot be authorized again.
func TestACallIsAuthorizedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, ask)
		defer closeGateway(t, g)
		_, r := proposed(t, host, core.Origin{}, runs("", "make"))
		got := authorize(t, host, r)
		if err := a.Decide(t.Context(), a.Pending()[0].ID, core.AllowOnce, ""); err != nil {
			t.Fatal(err)
		}
		if reply := <-got; reply.Decision != core.AllowOnce {
			t.Fatalf("got %+v", reply)
		}
		got = authorize(t, host, r)
		if q := a.Pending(); len(q) != 0 {
			t.Fatalf("somebody is asked about a call that runs: %+v", q)
		}
		if reply := <-got; reply.err == nil || reply.Decision.Allows() || !strings.Contains(reply.err.Error(), "running") {
			t.Errorf("got %+v", reply)
		}
		if state, _ := callState(t, a, r.Call.ID); state != core.Running {
			t.Errorf("the call is %s", state)
		}
	})
}

// A turn that was stopped, or another prompt, withdraws the question; the call does not run.
func TestAuthorizeInATurnThatIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, ask)
		defer closeGateway(t, g)
		_, r := proposed(t, host, core.Origin{}, runs("", "make", once, no))
		got := authorize(t, host, r)
		if err := a.Cancel(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		if reply := <-got; !errors.Is(reply.err, core.ErrCanceled) || reply.Decision.Allows() {
			t.Errorf("got %+v", reply)
		}
		if state, _ := callState(t, a, r.Call.ID); state != core.Canceled || len(a.Pending()) != 0 {
			t.Errorf("the call is %s; pending: %+v", state, a.Pending())
		}
	})
}
