package core_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
)

// undecided are replies that are no decision on an approval with the options once, always and no.
var undecided = map[string]core.Reply{
	"dismissed":         {Outcome: core.OutcomeDeclined},
	"an error":          {Outcome: core.OutcomeAlone, Text: "the client could not ask"},
	"not in time":       {Outcome: core.OutcomeExpired, Text: "there was no answer in time"},
	"another form":      {Outcome: core.OutcomeAnswered, Text: "yes", Option: "y", Decision: core.AllowOnce},
	"not offered":       {Outcome: core.OutcomeDecided, Option: "z", Decision: core.AllowOnce},
	"cancelled":         {Outcome: core.OutcomeCanceled},
	"for the next turn": {Outcome: core.OutcomeLater},
}

const closed = "the question was closed without a decision"

// answers gives a reply to the one open question, as a client.
func answers(t *testing.T, a *core.Attachment, r core.Reply) {
	t.Helper()
	q := a.Pending()
	if len(q) != 1 {
		t.Fatalf("pending: %+v", q)
	}
	if err := a.Answer(t.Context(), q[0].ID, r); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// stillAsked fails if the question has been settled.
func stillAsked(t *testing.T, a *core.Attachment, when string) {
	t.Helper()
	synctest.Wait()
	if q := a.Pending(); len(q) != 1 {
		t.Fatalf("%s: pending: %+v", when, q)
	}
}

// settledAs waits for the end of an authorization, and checks the call and the number of answers.
func settledAs(t *testing.T, a *core.Attachment, got <-chan authorized, id core.CallID, want core.CallState, why string) {
	t.Helper()
	if r := <-got; r.err != nil || r.Decision.Allows() != (want == core.Running) {
		t.Errorf("got %+v, want %s", r, want)
	}
	if state, because := callState(t, a, id); state != want || because != why {
		t.Errorf("the call is %s (%s), want %s (%s)", state, because, want, why)
	}
	n := 0
	for _, l := range logOf(t, a) {
		if strings.HasPrefix(l, "Answered") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d answers are in the log", n)
	}
}

// A client that gives no decision on an approval takes itself out alone: the others stay asked, and the
// first of them that decides does. If it was the last, the call is rejected, and nobody is said to have
// done that.
func TestNoDecisionLeavesItToOthers(t *testing.T) {
	for name, reply := range undecided {
		t.Run(name, func(t *testing.T) {
			for _, decision := range []core.Decision{core.AllowOnce, core.RejectOnce} {
				synctest.Test(t, func(t *testing.T) {
					g, zed, host := hosted(t, ask)
					defer closeGateway(t, g)
					emacs := zed.Attach(core.Client{Name: "emacs", Asks: true, Questions: true, FixedAnswers: true})
					_, r := proposed(t, host, core.Origin{}, runs("", "make", once, always, no))
					got := authorize(t, host, r)
					answers(t, zed, reply)
					stillAsked(t, emacs, "after one")
					answers(t, zed, reply)
					stillAsked(t, emacs, "after the same again")
					answers(t, emacs, core.Reply{Outcome: core.OutcomeDecided, Decision: decision})
					if decision == core.AllowOnce {
						settledAs(t, zed, got, r.Call.ID, core.Running, "allowed by the user")
					} else {
						settledAs(t, zed, got, r.Call.ID, core.Rejected, "rejected by the user")
					}
				})
			}
		})
	}
}

// If no client decides, the call is rejected, and the turn goes on. Neither an observer nor a program that
// has not prompted is waited for.
func TestNobodyDecides(t *testing.T) {
	for name, reply := range undecided {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, zed, host := hosted(t, ask)
				defer closeGateway(t, g)
				emacs := zed.Attach(core.Client{Name: "emacs", Asks: true})
				looks := zed.Attach(core.Client{Name: "looker", Asks: true, Questions: true, Role: core.Observe})
				program := zed.Attach(core.Client{Name: "agent", Asks: true, Questions: true, Caller: "secret"})
				turn, r := proposed(t, host, core.Origin{}, runs("", "make", once, always, no))
				got := authorize(t, host, r)
				id := zed.Pending()[0].ID
				for _, decision := range []core.Reply{reply, {Outcome: core.OutcomeDecided, Option: "y"}} {
					if err := looks.Answer(t.Context(), id, decision); !errors.Is(err, core.ErrObserver) {
						t.Errorf("an observer's answer: %v", err)
					}
				}
				answers(t, zed, core.Reply{Outcome: core.OutcomeDeclined})
				stillAsked(t, program, "after one")
				answers(t, emacs, reply)
				begin, why := "rejected: it writes, and ", "tester: "+closed+"; emacs: "+reply.Text
				switch name {
				case "dismissed", "cancelled", "for the next turn":
					why = closed
				case "not offered":
					why += "the client answered with something that was not offered"
				case "not in time":
					begin = "rejected: "
				}
				settledAs(t, zed, got, r.Call.ID, core.Rejected, begin+why)
				if st := zed.State(); st.Turn != turn.ID() {
					t.Error("the turn has ended")
				}
			})
		})
	}
}

// The last client that could decide may also be lost. One that comes before that is asked, and so is one
// that comes back. A client that has given no decision may still make one.
func TestClientsComeAndGoWhileTheyAreAsked(t *testing.T) {
	for name, test := range map[string]struct {
		play func(t *testing.T, zed, emacs *core.Attachment)
		want core.CallState
		why  string
	}{
		"the other is lost": {func(t *testing.T, zed, emacs *core.Attachment) {
			answers(t, zed, core.Reply{Outcome: core.OutcomeDeclined})
			emacs.Close()
		}, core.Rejected, "rejected: it writes, and tester: " + closed + "; emacs: the client that could decide has left"},
		"one is lost, the other decides": {func(t *testing.T, zed, emacs *core.Attachment) {
			zed.Close()
			stillAsked(t, emacs, "one is lost")
			answers(t, emacs, core.Reply{Outcome: core.OutcomeDecided, Option: "y"})
		}, core.Running, "allowed by the user"},
		"one comes back": {func(t *testing.T, zed, emacs *core.Attachment) {
			answers(t, zed, core.Reply{Outcome: core.OutcomeDeclined})
			zed.Close()
			again := emacs.Attach(core.Client{Name: "tester", Asks: true})
			answers(t, emacs, core.Reply{Outcome: core.OutcomeDeclined})
			stillAsked(t, emacs, "one has come back")
			answers(t, again, core.Reply{Outcome: core.OutcomeDecided, Option: "y"})
		}, core.Running, "allowed by the user"},
		"it decides after all": {func(t *testing.T, zed, emacs *core.Attachment) {
			answers(t, zed, core.Reply{Outcome: core.OutcomeDeclined})
			stillAsked(t, emacs, "one has given no decision")
			answers(t, zed, core.Reply{Outcome: core.OutcomeDecided, Option: "n"})
		}, core.Rejected, "rejected by the user"},
		"the deadline": {func(t *testing.T, zed, emacs *core.Attachment) {
			answers(t, zed, core.Reply{Outcome: core.OutcomeDeclined})
			<-time.After(time.Hour - time.Second)
			stillAsked(t, emacs, "before the deadline")
			<-time.After(time.Second)
		}, core.Rejected, "rejected: there was no answer within 1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, zed, host := hosted(t, ask)
				defer closeGateway(t, g)
				emacs := zed.Attach(core.Client{Name: "emacs", Asks: true})
				_, r := proposed(t, host, core.Origin{}, runs("", "make", once, always, no))
				got := authorize(t, host, r)
				late := emacs.Pending()[0].ID
				test.play(t, zed, emacs)
				settledAs(t, emacs, got, r.Call.ID, test.want, test.why)
				if err := emacs.Answer(t.Context(), late, core.Reply{Outcome: core.OutcomeDecided, Option: "y"}); !errors.Is(err, core.ErrNotAsked) {
					t.Errorf("a late answer: %v", err)
				}
			})
		})
	}
}

// Questions are settled by the first reply, whatever it is.
func TestAQuestionIsSettledByTheFirstReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, zed, host := hosted(t, ask)
		defer closeGateway(t, g)
		zed.Attach(core.Client{Name: "emacs", Asks: true, Questions: true})
		for _, kind := range []core.AskKind{core.AskQuestion, core.AskConsent} {
			got := make(chan core.Reply, 1)
			go func() {
				r, err := host.Ask(t.Context(), core.Ask{Kind: kind, Text: "Which?", Options: []core.Option{once, no}})
				if err != nil {
					t.Error(err)
				}
				got <- r
			}()
			synctest.Wait()
			answers(t, zed, core.Reply{Outcome: core.OutcomeDeclined})
			if r := <-got; r.Outcome != core.OutcomeDeclined || r.By != "tester" {
				t.Errorf("%s: %+v", kind, r)
			}
		}
	})
}

// A child's approval is one question with its parent's: a client that gives no decision in either takes
// out itself alone. When nobody is left in both, the child's call is rejected.
func TestNoDecisionOnAChildsCall(t *testing.T) {
	dismissed, yes := core.Reply{Outcome: core.OutcomeDeclined}, core.Reply{Outcome: core.OutcomeDecided, Decision: core.AllowOnce}
	for name, test := range map[string]struct {
		play func(t *testing.T, parent, child *core.Attachment)
		want string
	}{
		"the parent's, then the child's decides": {func(t *testing.T, parent, child *core.Attachment) {
			answers(t, parent, dismissed)
			stillAsked(t, child, "the parent's client has dismissed it")
			answers(t, child, yes)
		}, "done"},
		"the child's, then the parent's decides": {func(t *testing.T, parent, child *core.Attachment) {
			answers(t, child, dismissed)
			stillAsked(t, parent, "the child's client has dismissed it")
			answers(t, parent, yes)
		}, "done"},
		"both, the parent's first": {func(t *testing.T, parent, child *core.Attachment) {
			answers(t, parent, dismissed)
			answers(t, child, dismissed)
		}, "rejected: it writes, and " + closed},
		"both, the child's first": {func(t *testing.T, parent, child *core.Attachment) {
			answers(t, child, dismissed)
			answers(t, parent, dismissed)
		}, "rejected: it writes, and " + closed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := raise(t, kin{work: touches})
				defer closeGateway(t, f.g)
				prompt(t, f.parent, say("go"))
				c := f.child(0, core.Client{Name: "another", Asks: true})
				defer c.Close()
				test.play(t, f.parent, c)
				f.over()
				if d := f.came[0]; d.Text != test.want {
					t.Errorf("%q, want %q", d.Text, test.want)
				}
				if l := logOf(t, c); !slices.Contains(l, "TurnEnded end_turn") {
					t.Errorf("the child's turn did not go on: %q", l)
				}
			})
		})
	}
}
