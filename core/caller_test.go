package core_test

import (
	"context"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// Which program prompted and which one answered reaches the policy and the log, and a sub-session has it from the
// turn that handed the task over.
func TestCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{work: touches})
		defer closeGateway(t, f.g)
		a := f.parent.Attach(core.Client{Name: "tester", Caller: "c1", Asks: true})
		prompt(t, a, say("go"))
		c := f.child(0, core.Client{Name: "viewer", Role: core.Observe})
		defer c.Close()
		pending := a.Pending()
		if len(pending) != 1 {
			t.Fatalf("pending: %+v", pending)
		}
		if err := a.Decide(t.Context(), pending[0].ID, core.AllowSession, ""); err != nil {
			t.Fatal(err)
		}
		f.over()
		for name, att := range map[string]*core.Attachment{"parent": a, "child": c} {
			var origin, reply core.Caller
			for _, r := range effective(t, att, att.Head()) {
				switch e := r.Event.(type) {
				case core.TurnStarted:
					origin = e.Origin.Caller
				case core.Answered:
					reply = e.Reply.Caller
				}
			}
			if origin != "c1" || reply != "c1" {
				t.Errorf("%s: prompted by %q, answered by %q", name, origin, reply)
			}
		}
	})
}

// An ask about a call that only a person may allow is Hard.
func TestHardAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var origin core.Origin
		policy := coretest.Policy(func(c core.Check) core.Verdict {
			origin = c.Origin
			return core.Verdict{Effect: core.MustAsk, Hard: true, Why: "it decides what runs later"}
		})
		g, a := open(t, call, policy, touch)
		defer closeGateway(t, g)
		other := a.Attach(core.Client{Name: "program", Caller: "c1", Asks: true})
		prompt(t, other, say("go"))
		synctest.Wait()
		if p := other.Pending(); len(p) != 1 || !p[0].Hard {
			t.Errorf("pending: %+v", p)
		}
		if origin.Caller != "c1" {
			t.Errorf("the policy sees %+v", origin)
		}
	})
}

// What would be asked in a turn that nobody watches is refused at once, whoever is attached, and stands in the log.
func TestUnattendedTurnAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := open(t, call, ask, touch)
		defer closeGateway(t, g)
		run := a.Attach(core.Client{Name: "dragoman run", Asks: true})
		p := say("go")
		p.Unattended = true
		prompt(t, run, p)
		synctest.Wait()
		if pending := a.Pending(); len(pending) > 0 {
			t.Errorf("a person is asked: %+v", pending)
		}
		asked, refused := 0, 0
		for _, r := range readTo(t, a.Read(core.Pos{}), a.Head()) {
			switch e := r.Event.(type) {
			case core.Asked:
				asked++
			case core.Answered:
				if e.Reply.Outcome == core.OutcomeAlone {
					refused++
				}
			}
		}
		if st := a.State(); st.Turn != "" || asked != 1 || refused != 1 {
			t.Errorf("turn %q, asked %d times, refused %d times", st.Turn, asked, refused)
		}
		prompt(t, a, say("go"))
		synctest.Wait()
		if pending := a.Pending(); len(pending) != 1 {
			t.Errorf("a person's own turn asks %+v", pending)
		}
	})
}

// The id of a question cannot be guessed from others.
func TestQuestionsCannotBeGuessed(t *testing.T) {
	prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: call}}}, Toolboxes: []core.Toolbox{coretest.Tools{touch}}, Policy: ask}
	synctest.Test(t, func(t *testing.T) {
		ids := map[core.AskID]bool{}
		for range 3 { // which do the same
			g := core.New(core.Config{
				Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
			})
			s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attach(core.Client{Name: "tester", Asks: true})
			prompt(t, a, say("go"))
			synctest.Wait()
			pending := a.Pending()
			if len(pending) != 1 || len(pending[0].ID) < 20 {
				t.Fatalf("pending: %+v", pending)
			}
			ids[pending[0].ID] = true
			closeGateway(t, g)
		}
		if len(ids) != 3 {
			t.Errorf("ids: %v", ids)
		}
	})
}
