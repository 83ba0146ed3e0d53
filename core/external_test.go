package core_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// staying is an agent whose conversations own their history, and say when the session may rest.
type staying struct {
	*coretest.Backend
	works atomic.Bool
}

type stayingTalk struct {
	core.Conversation
	s *staying
}

func (s *staying) Open(ctx context.Context, b core.Binding) (core.Conversation, error) {
	conv, err := s.Backend.Open(ctx, b)
	return stayingTalk{conv, s}, err
}

func (t stayingTalk) Rest() bool { return !t.s.works.Load() }

// A session does not rest, and is not given back, while its conversation says no. At rest such a
// conversation is closed, although its back end owns the history, and the next turn opens another one.
func TestAConversationSaysWhenItsSessionRests(t *testing.T) {
	for _, held := range []bool{true, false} {
		t.Run(fmt.Sprint("held ", held), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &staying{Backend: &coretest.Backend{Run: echo, CapsNow: owns}}
				b.works.Store(true)
				store, released := coretest.NewMemory(), 0
				var count atomic.Int32
				store.Before = func(_ context.Context, op string, _ core.SessionID) error {
					if op == "release" {
						count.Add(1)
					}
					return nil
				}
				g := guests(store, core.Agent{Name: "claude", External: true, Backend: b})
				defer closeGateway(t, g)
				s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
				if err != nil {
					t.Fatal(err)
				}
				a := s.Attach(core.Client{Name: "tester"})
				prompt(t, a, say("hello"))
				synctest.Wait()
				if !held {
					a.Close()
				}
				life := func(when string, opened, closed int) {
					t.Helper()
					wantLife(t, when, b.Backend, opened, closed, 0)
					if n := int(count.Load()); n != released {
						t.Errorf("%s: released %d times, want %d", when, n, released)
					}
				}
				<-time.After(10 * time.Minute)
				life("while it works", 1, 0)
				b.works.Store(false)
				<-time.After(2 * time.Minute)
				released = 1
				life("afterwards", 1, 1)
				if s, err = g.Open(t.Context(), core.Local, "s"); err != nil {
					t.Fatal(err)
				}
				prompt(t, s.Attach(core.Client{Name: "again"}), say("hello"))
				life("the next turn", 2, 1)
			})
		})
	}
}

// A client that is done with a session ends its conversation at once, whatever that says.
func TestLeaveEndsAConversationThatDoesNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &staying{Backend: &coretest.Backend{Run: echo, CapsNow: owns}}
		b.works.Store(true)
		g, a := prepared(t, core.Agent{Name: "claude", External: true, Backend: b})
		defer closeGateway(t, g)
		prompt(t, a, say("hello"))
		synctest.Wait()
		a.Leave()
		wantLife(t, "left", b.Backend, 1, 1, 0)
	})
}

// A sub-agent of an agent's own has a session whose parent is the agent's. What it says is in there, in
// turns of its own; nobody can prompt or decide there through the attachment that holds it.
func TestSub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, ask)
		defer closeGateway(t, g)
		sub, held, err := host.Sub(t.Context(), "Look for the cause")
		if err != nil {
			t.Fatal(err)
		}
		m, st := held.Meta(), held.State()
		if m.Parent != a.Meta().ID || m.Cwd != a.Meta().Cwd || m.Principal != core.Local || st.Title != "Look for the cause" || st.Named {
			t.Errorf("the session is %+v, its title %q", m, st.Title)
		}
		turn, err := sub.Begin(t.Context(), core.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		if err := turn.Emit(t.Context(), core.TextDelta{Message: turn.NewMessage(), Text: "found"}); err != nil {
			t.Fatal(err)
		}
		if a.State().Turn != "" || held.State().Turn != turn.ID() || held.State().Messages != 1 {
			t.Errorf("the parent is %+v, the sub-session %+v", a.State(), held.State())
		}
		if _, err := held.Prompt(t.Context(), say("more")); !errors.Is(err, core.ErrObserver) {
			t.Errorf("a prompt: %v", err)
		}
		reply := <-authorize(t, sub, runs("b", "make", once, no)) // nobody is there to be asked
		if reply.err != nil || reply.Decision != core.RejectOnce {
			t.Errorf("authorized: %+v", reply)
		}
		<-time.After(time.Hour)
		if st := held.State(); st.Turn != "" || st.Messages != 1 {
			t.Errorf("an hour later: %+v", st)
		}
		if err := sub.Publish(t.Context(), core.TitleChanged{Title: "The cause", Auto: true}); err != nil {
			t.Errorf("the session that the attachment holds: %v", err)
		}
		held.Leave()
	})
}

// What cannot be chosen is refused before the agent is asked, and not kept.
func TestWhatCannotBeChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		b := &coretest.Backend{
			Run: echo,
			Begins: func(ctx context.Context, bind core.Binding) error {
				o := offer("ask")
				o.Choices = append(o.Choices, core.Choice{ID: "fast", Boolean: true, Value: "false"})
				return bind.Host.Publish(ctx, o)
			},
			Chooses: func(_ context.Context, _ core.Binding, id, value string) error {
				asked = append(asked, id+"="+value)
				return nil
			},
		}
		g, a := prepared(t, core.Agent{Name: "claude", External: true, Backend: b})
		defer closeGateway(t, g)
		choose := func(a *core.Attachment, id, value, want string) {
			t.Helper()
			err := g.Choose(t.Context(), a, id, value)
			if got := fmt.Sprint(err); got != want {
				t.Errorf("%s=%s: got %s, want %s", id, value, got, want)
			}
		}
		choose(a, "mode", "plan", "the session's agent has no options")
		if err := g.Prepare(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		choose(a, "color", "red", `agent claude has no option "color"`)
		choose(a, "mode", "Plan", `agent claude has no value "Plan" of option mode`)
		choose(a, "fast", "yes", `agent claude has no value "yes" of option fast`)
		choose(a.Attach(core.Client{Role: core.Observe}), "fast", "true", core.ErrObserver.Error())
		if st := a.State(); len(asked) != 0 || st.Settings.Choices != "" {
			t.Errorf("the agent was asked %q, and %q is kept", asked, st.Settings.Choices)
		}
		choose(a, "fast", "true", "<nil>")
		if st := a.State(); len(asked) != 1 || st.Settings.Choices.Get("fast") != "true" || st.Offered.Choice("fast").Value != "true" {
			t.Errorf("the agent was asked %q; %+v", asked, st)
		}
	})
}
