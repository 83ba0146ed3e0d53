package core_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// saidSince lists the texts of the user in a session from a position on.
func saidSince(t *testing.T, a *core.Attachment, at core.Pos) (list []string) {
	t.Helper()
	for r, err := range a.Records(t.Context(), at, a.Head()) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := r.Event.(core.TurnStarted); ok {
			text, _ := e.Prompt[0].(core.Text)
			list = append(list, text.Text)
		}
	}
	return list
}

// An external agent that is chosen again gets the state of the side that it had, and the position of the
// first message that it has not heard, also after a restart and with a third agent between.
func TestAnAgentThatIsChosenAgain(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store, claude, codex := coretest.NewMemory(), keepAs("claude"), keepAs("codex")
			agents := []core.Agent{
				{Name: "code", Backend: &coretest.Backend{Run: echo}},
				{Name: "claude", External: true, Backend: claude},
				{Name: "codex", External: true, Backend: codex},
			}
			g := guests(store, agents...)
			s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attach(core.Client{Name: "tester"})
			for i, agent := range []string{"claude", "code", "claude", "codex", "code", "codex", "claude"} {
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
				prompt(t, a, say(strconv.Itoa(i)+" "+agent))
				synctest.Wait()
				if st := s.State(); st.Bound.Agent != strings.TrimPrefix(agent, "code") && st.Bound.Agent != agent {
					t.Errorf("restarts %v: a turn of %s leaves %+v", restarts, agent, st.Bound)
				}
			}
			for _, c := range []struct {
				k     *keeper
				since []string // what was said since when it was bound, up to the end
			}{
				{claude, []string{"", "1 code,2 claude,3 codex,4 code,5 codex,6 claude", "3 codex,4 code,5 codex,6 claude"}},
				{codex, []string{"", "4 code,5 codex,6 claude"}},
			} {
				bound := c.k.Bindings()
				if len(bound) != len(c.since) {
					t.Fatalf("restarts %v: bound %d times", restarts, len(bound))
				}
				for i, b := range bound {
					since := ""
					if b.Heard != (core.Pos{}) {
						since = strings.Join(saidSince(t, a, b.Heard), ",")
					}
					if (b.State == nil) != (i == 0) || since != c.since[i] {
						t.Errorf("restarts %v, %d: state %s, since %q", restarts, i, b.State, since)
					}
				}
			}
			closeGateway(t, g)
		})
	}
}

// The user reads that the provider of the built-in agent's model gets what another agent was told.
func TestTheProviderOfTheNextAgentIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := prepared(t, core.Agent{Name: "code", Backend: &coretest.Backend{Run: echo}}, core.Agent{Name: "claude", External: true, Backend: keep()})
		defer closeGateway(t, g)
		for _, agent := range []string{"code", "claude", "code", "code"} {
			if err := a.Set(t.Context(), core.Settings{Agent: agent}); err != nil {
				t.Fatal(err)
			}
			prompt(t, a, say("to "+agent))
			synctest.Wait()
		}
		var notices []string
		for r, err := range a.Records(t.Context(), core.Pos{}, a.Head()) {
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := r.Event.(core.Notice); ok {
				notices = append(notices, n.Text)
			}
		}
		if len(notices) != 1 || notices[0] != "Agent code answers now. What was said before goes to the provider of its model." {
			t.Errorf("notices: %q", notices)
		}
	})
}

// An agent that has heard what was taken back gets a new side; one that has heard only what is left
// keeps its own.
func TestTakingBackWhatAnotherAgentHasHeard(t *testing.T) {
	for _, c := range []struct {
		back  int // the turn before which the session is taken back
		state bool
	}{{2, true}, {1, true}, {0, false}} {
		synctest.Test(t, func(t *testing.T) {
			k := keep()
			g, a := prepared(t, core.Agent{Name: "code", Backend: &coretest.Backend{Run: echo}}, core.Agent{Name: "claude", External: true, Backend: k})
			defer closeGateway(t, g)
			var before []core.Pos
			for _, agent := range []string{"claude", "code", "code"} {
				if err := a.Set(t.Context(), core.Settings{Agent: agent}); err != nil {
					t.Fatal(err)
				}
				before = append(before, a.Head())
				prompt(t, a, say("to "+agent))
				synctest.Wait()
			}
			if err := a.Truncate(t.Context(), before[c.back]); err != nil {
				t.Fatal(err)
			}
			if err := a.Set(t.Context(), core.Settings{Agent: "claude"}); err != nil {
				t.Fatal(err)
			}
			prompt(t, a, say("again"))
			synctest.Wait()
			b := k.Bindings()
			if len(b) != 2 || (b[1].State != nil) != c.state {
				t.Errorf("taken back to before turn %d: bound to %+v", c.back, b)
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

// Options that were chosen for an agent mean nothing to another one, and come back with the agent.
func TestOptionsComeBackWithTheirAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claude, codex := keepAs("claude"), keepAs("codex")
		g, a := prepared(t, core.Agent{Name: "claude", External: true, Backend: claude}, core.Agent{Name: "codex", External: true, Backend: codex})
		defer closeGateway(t, g)
		set := core.Settings{Choices: core.Choices("").With("mode", "plan")} // of the default agent
		for _, c := range []struct{ agent, want string }{{"", "plan"}, {"codex", ""}, {"claude", "plan"}} {
			set.Agent = c.agent
			if err := a.Set(t.Context(), set); err != nil {
				t.Fatal(err)
			}
			prompt(t, a, say("hello"))
			synctest.Wait()
			if set = a.State().Settings; set.Choices.Get("mode") != c.want {
				t.Errorf("agent %q has mode %q, want %q", c.agent, set.Choices.Get("mode"), c.want)
			}
		}
	})
}
