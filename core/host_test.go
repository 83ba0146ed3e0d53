package core_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// hosted opens a session whose back end has been opened, and returns its host.
func hosted(t *testing.T, policy core.Policy) (*core.Gateway, *core.Attachment, core.Host) {
	t.Helper()
	be := &coretest.Backend{Run: func(context.Context, *core.Turn) (core.StopReason, error) { return core.StopEnd, nil }}
	prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: be}}, Policy: policy}
	g := core.New(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "tester", Asks: true, Questions: true})
	prompt(t, a, say("open"))
	synctest.Wait()
	return g, a, be.Bindings()[0].Host
}

// A turn that nobody prompted ends when it has been idle for a second, and makes
// way for a prompt.
func TestBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, nil)
		defer closeGateway(t, g)
		r := a.Read(a.Head())
		defer r.Close()
		turn, err := host.Begin(t.Context(), core.Origin{Client: "the agent"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := host.Begin(t.Context(), core.Origin{}); !errors.As(err, new(*core.BusyError)) {
			t.Errorf("a second one: %v", err)
		}
		start := time.Now()
		<-time.After(900 * time.Millisecond)
		if err := turn.Emit(t.Context(), core.TextDelta{Message: turn.NewMessage(), Text: "late"}); err != nil {
			t.Fatal(err)
		}
		wantLines(t, follow(t, r, turn.ID()), "TurnStarted", "TextDelta late", "TurnEnded end_turn")
		if d := time.Since(start); d != 1900*time.Millisecond {
			t.Errorf("it ended after %v", d)
		}
		if err := turn.Emit(t.Context(), core.TextDelta{Message: turn.NewMessage(), Text: "too late"}); err == nil {
			t.Error("a turn that has ended may still speak")
		}
		if _, err = host.Begin(t.Context(), core.Origin{}); err != nil {
			t.Fatal(err)
		}
		id := prompt(t, a, say("now me"))
		wantLines(t, follow(t, r, id), "TurnStarted", "TurnEnded end_turn", "TurnStarted", "TurnEnded end_turn")
	})
}

// The gate for back ends that run their own tools is the same: policy, a person.
func TestAuthorize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, ask)
		defer closeGateway(t, g)
		turn, err := host.Begin(t.Context(), core.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		call := core.Call{ID: turn.NewCall(), Turn: turn.ID(), Server: "agent", Tool: "bash", Kind: core.KindExecute, State: core.Proposed}
		if err := turn.Emit(t.Context(), core.CallChanged{Call: call}); err != nil {
			t.Fatal(err)
		}
		got := make(chan core.Decision, 1)
		go func() {
			r, err := host.Authorize(t.Context(), core.Request{
				Call: call, Spec: core.Spec{Server: "agent", Name: "bash", Kind: core.KindExecute},
				Access: []core.Access{{Op: core.OpRun, Command: "ls"}},
			})
			if err != nil {
				t.Error(err)
			}
			got <- r.Decision
		}()
		synctest.Wait()
		pending := a.Pending()
		if len(pending) != 1 || pending[0].Call != call.ID {
			t.Fatalf("pending: %+v", pending)
		}
		if err := a.Decide(t.Context(), pending[0].ID, core.AllowOnce, ""); err != nil {
			t.Fatal(err)
		}
		if d := <-got; d != core.AllowOnce {
			t.Errorf("decision %q", d)
		}
		call.State = core.Proposed
		if err := turn.Emit(t.Context(), core.CallChanged{Call: call}); err == nil {
			t.Error("a running call went back to proposed")
		}
	})
}

func TestPublishAndImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, nil)
		defer closeGateway(t, g)
		ctx := t.Context()
		if err := host.Publish(ctx, core.TitleChanged{Title: "mine"}, core.Bound{Agent: "code", State: []byte(`{"id":7}`)}); err != nil {
			t.Fatal(err)
		}
		if st := a.State(); st.Title != "mine" || string(st.Bound.State) != `{"id":7}` {
			t.Errorf("state %+v", st)
		}
		if err := host.Publish(ctx, core.TextDelta{Text: "x"}); err == nil || !strings.Contains(err.Error(), "belongs into a turn") {
			t.Errorf("publish a turn's event: %v", err)
		}
		failure := errors.New("the agent has lost the rest")
		history := func(yield func(core.Event, error) bool) {
			_ = yield(core.TurnStarted{Turn: "t0", Message: "m0", Prompt: []core.Block{core.Text{Text: "before"}}}, nil) &&
				yield(core.TextDelta{Message: "m1", Text: "answer"}, failure)
		}
		if err := host.Import(ctx, history); err == nil || errors.Is(err, failure) {
			t.Errorf("a session with a history imported another one: %v", err)
		}
		fresh, err := g.Create(ctx, core.Meta{Principal: core.Local, ID: "fresh", Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		if err := fresh.Import(ctx, history, "the import failed"); !errors.Is(err, failure) {
			t.Errorf("the error of a history: %v", err)
		}
		if fresh, err = g.Create(ctx, core.Meta{Principal: core.Local, ID: "other", Cwd: "/w"}); err != nil {
			t.Fatal(err)
		}
		failure = nil
		err = fresh.Import(ctx, history, "the import ended here")
		if st := fresh.State(); err != nil || st.Messages != 2 || st.Turn != "" || st.Title != "" {
			t.Errorf("%v, state %+v", err, st)
		}
	})
}

// Ask needs somebody who answers questions; the answer is a person's.
func TestAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, nil)
		defer closeGateway(t, g)
		got := make(chan core.Reply, 1)
		put := func() {
			r, err := host.Ask(t.Context(), core.Ask{Text: "which one?", Options: []core.Option{{ID: "a", Label: "A"}}})
			if err != nil {
				t.Error(err)
			}
			got <- r
		}
		go put()
		synctest.Wait()
		q := a.Pending()[0]
		if err := a.Answer(t.Context(), q.ID, core.Reply{Outcome: core.OutcomeAnswered, Option: "a"}); err != nil {
			t.Fatal(err)
		}
		if r := <-got; r.Option != "a" || r.By != "tester" {
			t.Errorf("reply %+v", r)
		}
		a.Close()
		go put()
		if r := <-got; r.Outcome != core.OutcomeAlone {
			t.Errorf("with nobody there: %+v", r)
		}
	})
}

// A call's states: nothing leaves an end, and every open state can be cancelled.
func TestTransitions(t *testing.T) {
	states := []core.CallState{"", core.Proposed, core.Awaiting, core.Running, core.Succeeded, core.Errored, core.Rejected, core.Canceled}
	for _, from := range states {
		for _, to := range states {
			if from.Ended() && from.To(to) {
				t.Errorf("%q, an end, goes to %q", from, to)
			}
			if to == "" && from.To(to) {
				t.Errorf("%q goes back to nothing", from)
			}
		}
		if from != "" && !from.Ended() && !from.To(core.Canceled) {
			t.Errorf("%q cannot be cancelled", from)
		}
	}
	if core.Proposed.To(core.Succeeded) || core.Awaiting.To(core.Succeeded) || core.Running.To(core.Rejected) {
		t.Error("a call can succeed without having run, or be rejected after")
	}
}

// A session that nobody uses is given back after a minute, and opens again; one that
// a client holds rests.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		var released atomic.Int32
		store.Before = func(_ context.Context, op string, _ core.SessionID) error {
			if op == "release" {
				released.Add(1)
			}
			return nil
		}
		g := coretest.Gateway(store, echo, nil)
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(core.Client{Name: "tester"})
		prompt(t, a, say("hello"))
		<-time.After(5 * time.Minute)
		if n := released.Load(); n != 1 {
			t.Errorf("released %d times while a client holds it", n)
		}
		prompt(t, a, say("hello"))
		a.Close()
		<-time.After(59 * time.Second)
		if _, err := g.Open(t.Context(), core.Local, "s"); err != nil { // asked for: it stays
			t.Fatal(err)
		}
		<-time.After(59 * time.Second)
		synctest.Wait()
		if released.Load() != 1 {
			t.Error("a session that was asked for was given back too early")
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if n := released.Load(); n != 2 {
			t.Errorf("released %d times", n)
		}
		if _, err := a.Prompt(t.Context(), say("late")); !errors.Is(err, core.ErrClosed) {
			t.Errorf("a prompt over the old attachment: %v", err)
		}
		if s, err = g.Open(t.Context(), core.Local, "s"); err != nil {
			t.Fatal(err)
		}
		prompt(t, s.Attach(core.Client{Name: "again"}), say("hello again"))
		synctest.Wait()
		if n := s.State().Messages; n != 6 {
			t.Errorf("%d messages", n)
		}
		closeGateway(t, g)
	})
}

// A session that another process owns is read anew whenever it is opened.
func TestOpenFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		mine, theirs := coretest.Gateway(store, echo, nil), coretest.Gateway(store, echo, nil)
		s, err := theirs.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(core.Client{Name: "owner"})
		for n := range 2 {
			prompt(t, a, say("turn"))
			synctest.Wait()
			seen, err := mine.Open(t.Context(), core.Local, "s")
			if err != nil {
				t.Fatal(err)
			}
			if got := seen.State().Messages; got != 2*(n+1) {
				t.Errorf("after %d turns there are %d messages", n+1, got)
			}
			viewer := seen.Attach(core.Client{Name: "viewer"})
			defer viewer.Close()
			if _, err := viewer.Prompt(t.Context(), say("mine")); !errors.As(err, new(*core.OwnedError)) {
				t.Errorf("a prompt for a session that another process owns: %v", err)
			}
		}
		closeGateway(t, theirs)
		closeGateway(t, mine)
	})
}
