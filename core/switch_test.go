package core_test

import (
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// An external agent that is chosen again gets no state of the session that it had before another agent
// has answered, also after a restart: it has not heard what was said there.
func TestAnAgentThatIsChosenAgainGetsNoState(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store, k := coretest.NewMemory(), keep()
			agents := []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: echo}}, {Name: "claude", External: true, Backend: k}}
			g := guests(store, agents...)
			s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attach(core.Client{Name: "tester"})
			for _, agent := range []string{"claude", "code", "claude"} {
				if restarts {
					closeGateway(t, g)
					g = guests(store, agents...)
					if s, err = g.Open(t.Context(), core.Local, "s"); err != nil {
						t.Fatal(err)
					}
					a = s.Attach(core.Client{Name: "tester"})
				}
				if err := a.Set(t.Context(), core.Settings{Agent: agent}); err != nil {
					t.Fatal(err)
				}
				prompt(t, a, say("to "+agent))
				synctest.Wait()
				if st := s.State(); st.Bound.Agent != agent {
					t.Errorf("restarts %v: a turn of %s leaves %+v", restarts, agent, st.Bound)
				}
			}
			closeGateway(t, g)
			if b := k.Bindings(); len(b) != 2 || b[0].State != nil || b[1].State != nil {
				t.Errorf("restarts %v: the agent was bound to %+v", restarts, b)
			}
		})
	}
}

// A session whose agent has not answered yet keeps the other one's side.
func TestAnAgentThatOnlyWasChosenEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep()
		g, a := prepared(t, core.Agent{Name: "code", Backend: &coretest.Backend{Run: echo}}, core.Agent{Name: "claude", External: true, Backend: k})
		defer closeGateway(t, g)
		for _, agent := range []string{"claude", "code", "claude"} {
			if err := a.Set(t.Context(), core.Settings{Agent: agent}); err != nil {
				t.Fatal(err)
			}
			if agent == "claude" {
				prompt(t, a, say("hello"))
				synctest.Wait()
			}
		}
		if b := k.Bindings(); len(b) != 1 {
			t.Errorf("the agent was bound to %+v", b)
		}
	})
}
