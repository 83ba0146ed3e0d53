package core_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// offer is what the external agent of these tests offers.
func offer(mode string) core.Offered {
	return core.Offered{
		Agent:    "claude",
		Commands: []core.Command{{Name: "review"}},
		Choices:  []core.Choice{{ID: "mode", Category: "mode", Value: mode, Values: []core.ChoiceValue{{ID: "ask"}, {ID: "plan"}, {ID: "bypass"}}}},
	}
}

func external(store core.Store, b *coretest.Backend) *core.Gateway {
	prof := &core.Profile{Agents: []core.Agent{{Name: "claude", External: true, Backend: b}}}
	return core.New(core.Config{
		Store: store, Node: "test", NewID: func() string { return "s1" },
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
	})
}

// The current value of an option is in State().Offered after Choose, also where the agent does not
// say so, and where it does not run. A value that it refuses changes nothing.
func TestChoose(t *testing.T) {
	store := coretest.NewMemory()
	starts := 0
	b := &coretest.Backend{
		Begins: func(ctx context.Context, bind core.Binding) error {
			if starts++; starts > 1 {
				return errors.New("it was started without need")
			}
			return bind.Host.Publish(ctx, offer("ask"))
		},
		Chooses: func(_ context.Context, _ core.Binding, _, value string) error {
			if value == "bypass" {
				return errors.New("not as root")
			}
			return nil
		},
	}
	g := external(store, b)
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "tester"})
	if err := g.Prepare(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	is := func(a *core.Attachment, want string) {
		t.Helper()
		st := a.State()
		if got := st.Offered.Choice("mode").Value; got != want {
			t.Errorf("mode: got %q, want %q", got, want)
		}
		if got := st.Settings.Choices.Get("mode"); want != "ask" && got != want {
			t.Errorf("the choice that is kept: got %q, want %q", got, want)
		}
	}
	is(a, "ask")
	if err := g.Choose(t.Context(), a, "mode", "plan"); err != nil {
		t.Fatal(err)
	}
	is(a, "plan")
	const refused = "set option mode of agent claude: not as root"
	if err := g.Choose(t.Context(), a, "mode", "bypass"); fmt.Sprint(err) != refused {
		t.Errorf("got %v, want %s", err, refused)
	}
	is(a, "plan")
	a.Leave()
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	g = external(store, b)
	if s, err = g.Open(t.Context(), core.Local, "s1"); err != nil {
		t.Fatal(err)
	}
	a = s.Attach(core.Client{Name: "tester"})
	list, err := g.Commands(t.Context(), a)
	if err != nil || len(list) != 1 || list[0].Name != "review" || list[0].Kind != core.CommandAgent {
		t.Errorf("the commands of an agent that does not run: %+v, %v", list, err)
	}
	if err := g.Choose(t.Context(), a, "mode", "ask"); err != nil {
		t.Fatal(err)
	}
	is(a, "ask")
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A turn that failed because its agent wants a login says so.
func TestATurnThatWantsALogin(t *testing.T) {
	b := &coretest.Backend{Begins: func(context.Context, core.Binding) error {
		return &core.SignInError{Agent: "claude", Text: "please run /login"}
	}}
	g := external(coretest.NewMemory(), b)
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "tester"})
	r := a.Read(core.Pos{})
	defer r.Close()
	if _, err := a.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: "hello"}}}); err != nil {
		t.Fatal(err)
	}
	for {
		recs, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range recs {
			if e, ok := rec.Event.(core.TurnEnded); ok {
				if e.Login != "claude" {
					t.Errorf("got %+v", e)
				}
				if err := g.Close(t.Context()); err != nil {
					t.Error(err)
				}
				return
			}
		}
	}
}

// Lists show the model of an agent behind the gateway, also after a restart. With another agent it is not
// the session's.
func TestSummariesHaveTheModelOfAnExternalAgent(t *testing.T) {
	store := coretest.NewMemory()
	offered := offer("ask")
	offered.Choices = append(offered.Choices, core.Choice{ID: "m", Category: "model", Value: "opus", Values: []core.ChoiceValue{{ID: "opus"}, {ID: "haiku"}}})
	b := &coretest.Backend{Run: echo, Begins: func(ctx context.Context, bind core.Binding) error { return bind.Host.Publish(ctx, offered) }}
	g := guests(store, core.Agent{Name: "code", Backend: &coretest.Backend{Run: echo}}, core.Agent{Name: "claude", External: true, Backend: b})
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "tester"})
	for _, c := range []struct{ agent, want string }{{"claude", "opus"}, {"code", "acme/large"}} {
		if err := a.Set(t.Context(), core.Settings{Agent: c.agent, Model: "acme/large"}); err != nil {
			t.Fatal(err)
		}
		turn := prompt(t, a, say("hello"))
		follow(t, a.Read(core.Pos{}), turn)
		if st := a.State(); st.Summary().Model != c.want {
			t.Errorf("%s: %q", c.agent, st.Summary().Model)
		}
		for sum, err := range g.List(t.Context(), core.Local) {
			if err != nil || sum.Model != c.want {
				t.Errorf("%s, listed: %+v, %v", c.agent, sum, err)
			}
		}
	}
	closeGateway(t, g)
}
