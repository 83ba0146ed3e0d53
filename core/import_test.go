package core_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/fork"
)

// keeper is an external agent that has a session of its own, with a message and an answer.
type keeper struct {
	*coretest.Backend
	fails error // after the first event
}

func keep() *keeper { return keepAs("claude") }

func keepAs(agent string) *keeper {
	k := &keeper{Backend: &coretest.Backend{Run: echo, CapsNow: owns}}
	k.Begins = func(ctx context.Context, b core.Binding) error {
		if b.State == nil && b.Meta.From.Agent != "" {
			if err := b.Host.Import(ctx, k.history()); err != nil {
				return err
			}
		}
		return b.Host.Publish(ctx, core.Bound{Agent: agent, State: []byte(`"their id"`)}, offer("ask"))
	}
	return k
}

func (k *keeper) history() iter.Seq2[core.Event, error] {
	return func(yield func(core.Event, error) bool) {
		if !yield(core.TurnStarted{Turn: "t0", Message: "m0", Prompt: []core.Block{core.Text{Text: "before"}}}, nil) {
			return
		}
		if k.fails != nil {
			yield(nil, k.fails)
			return
		}
		_ = yield(core.TextDelta{Message: "m1", Text: "answer"}, nil) &&
			yield(core.Foreign{Protocol: "acp", Raw: []byte(`{"sessionUpdate":"new"}`), Text: "new"}, nil)
	}
}

// guests is a gateway with one external agent, over a store.
func guests(store core.Store, agents ...core.Agent) *core.Gateway {
	prof := &core.Profile{Agents: agents}
	return core.New(core.Config{Store: store, Node: "test", Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
}

// theirs makes a session of an agent's own in a store, as when it is opened for the first time.
func theirs(t *testing.T) *coretest.Memory {
	t.Helper()
	store := coretest.NewMemory()
	j, err := store.Create(t.Context(), core.Meta{Principal: core.Local, ID: "theirs", Cwd: "/w", From: core.Source{Agent: "claude", Session: "their id"}})
	if err == nil {
		err = j.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// A session that an agent had before is filled when it is opened, once. The first prompt goes to that
// agent.
func TestImportOnOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k := theirs(t), keep()
		agents := []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: echo}}, {Name: "claude", External: true, Backend: k}}
		for n := range 2 {
			g := guests(store, agents...)
			s, err := g.Open(t.Context(), core.Local, "theirs")
			if err != nil {
				t.Fatal(err)
			}
			if opened := len(k.Bindings()); opened != 1 {
				t.Errorf("open %d: the agent was opened %d times", n, opened)
			}
			st := s.State()
			if st.Messages != 2 || st.Turn != "" || st.Settings.Agent != "claude" || st.Offered.Choice("mode") == nil || string(st.Bound.State) != `"their id"` {
				t.Errorf("open %d: %+v", n, st)
			}
			a := s.Attach(core.Client{Name: "tester"})
			if n == 1 {
				prompt(t, a, say("and now"))
				synctest.Wait()
				if b := k.Bindings(); len(b) != 2 || string(b[1].State) != `"their id"` {
					t.Errorf("the agent was bound to %+v", b)
				}
			}
			closeGateway(t, g)
		}
		if heard := k.Heard(); len(heard) != 1 || heard[0] != "and now" {
			t.Errorf("it heard %q", heard)
		}
	})
}

// The error of an agent that cannot give its history is Open's. Nothing of it stays, and the next Open
// tries again.
func TestImportFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k := theirs(t), keep()
		k.fails = errors.New("it has lost the rest")
		g := guests(store, core.Agent{Name: "claude", External: true, Backend: k})
		defer closeGateway(t, g)
		for range 2 {
			if _, err := g.Open(t.Context(), core.Local, "theirs"); !errors.Is(err, k.fails) || !strings.Contains(err.Error(), "agent claude: ") {
				t.Errorf("open: %v", err)
			}
		}
		k.fails = nil
		s, err := g.Open(t.Context(), core.Local, "theirs")
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(core.Client{Name: "tester"})
		var got []string
		for _, r := range effective(t, a, a.Head()) {
			switch r.Event.(type) {
			case core.TurnStarted, core.TextDelta, core.TurnEnded:
				got = append(got, line(r.Event))
			}
		}
		wantLines(t, got, "TurnStarted", "TextDelta answer", "TurnEnded end_turn")
		if st := s.State(); st.Messages != 2 {
			t.Errorf("%d messages", st.Messages)
		}
	})
}

// A session of an agent that is not configured any more says so.
func TestImportWithoutTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, agents := range [][]core.Agent{{{Name: "code", Backend: &coretest.Backend{}}}, {{Name: "claude", Backend: &coretest.Backend{}}}} {
			g := guests(theirs(t), agents...)
			const want = "open session theirs: it is one of agent claude, which is not configured any more"
			if _, err := g.Open(t.Context(), core.Local, "theirs"); err == nil || err.Error() != want {
				t.Errorf("got %v", err)
			}
			closeGateway(t, g)
		}
	})
}

// A fork of such a session is made from our log: the agent is not asked for its history again. What it
// offered, and its own messages, are in the fork and there after a restart.
func TestForkOfAnImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k := theirs(t), keep()
		k.CapsNow.Fork = true
		agent := core.Agent{Name: "claude", External: true, Backend: k}
		g := guests(store, agent)
		s, err := g.Open(t.Context(), core.Local, "theirs")
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(core.Client{Name: "tester"})
		if _, err := fork.Session(t.Context(), g, a, a.Head(), "copy"); err != nil {
			t.Fatal(err)
		}
		b := k.Bindings()
		if len(b) != 2 || string(b[1].Fork) != `"their id"` || b[1].Meta.From != (core.Source{}) {
			t.Errorf("the agent was bound to %+v", b)
		}
		closeGateway(t, g)
		g = guests(store, agent)
		defer closeGateway(t, g)
		if s, err = g.Open(t.Context(), core.Local, "copy"); err != nil {
			t.Fatal(err)
		}
		a = s.Attach(core.Client{Name: "tester"})
		foreign := 0
		for _, r := range effective(t, a, a.Head()) {
			if e, ok := r.Event.(core.Foreign); ok && e.Text == "new" && string(e.Raw) == `{"sessionUpdate":"new"}` {
				foreign++
			}
		}
		st := a.State()
		if c := st.Offered.Choice("mode"); foreign != 1 || c == nil || c.Value != "ask" || st.Messages != 2 {
			t.Errorf("%d of its messages; it offers %+v; %d messages", foreign, st.Offered, st.Messages)
		}
		if len(k.Bindings()) != 2 {
			t.Error("the agent was opened to find that out")
		}
	})
}
