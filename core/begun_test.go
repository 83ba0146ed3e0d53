package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// A turn that nobody prompted stays while somebody is asked, and while a call runs. It ends a second
// after that.
func TestABegunTurnStaysWhileSomethingGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, ask)
		defer closeGateway(t, g)
		turn, r := proposed(t, host, core.Origin{}, runs("", "make"))
		got := authorize(t, host, r)
		<-time.After(10 * time.Minute)
		if now := a.State().Turn; now != turn.ID() {
			t.Fatalf("while somebody is asked the turn is %q", now)
		}
		if err := a.Decide(t.Context(), a.Pending()[0].ID, core.AllowOnce, ""); err != nil {
			t.Fatal(err)
		}
		if reply := <-got; reply.err != nil || reply.Decision != core.AllowOnce {
			t.Fatalf("got %+v", reply)
		}
		<-time.After(10 * time.Minute)
		if now := a.State().Turn; now != turn.ID() {
			t.Fatalf("while a call runs the turn is %q", now)
		}
		r.Call.State = core.Succeeded
		if err := turn.Emit(t.Context(), core.CallChanged{Call: r.Call}); err != nil {
			t.Fatal(err)
		}
		reader, ended := a.Read(a.Head()), time.Now()
		defer reader.Close()
		wantLines(t, follow(t, reader, turn.ID()), "TurnEnded end_turn")
		if d := time.Since(ended); d != time.Second {
			t.Errorf("it ended %v after the call", d)
		}
	})
}

// A question between turns of the agent's own counts as well.
func TestABegunTurnStaysForAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, nil)
		defer closeGateway(t, g)
		turn, err := host.Begin(t.Context(), core.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan core.Reply, 1)
		go func() {
			r, err := host.Ask(t.Context(), core.Ask{Text: "which one?", Freeform: true})
			if err != nil {
				t.Error(err)
			}
			got <- r
		}()
		<-time.After(5 * time.Minute)
		if now := a.State().Turn; now != turn.ID() || len(a.Pending()) != 1 {
			t.Fatalf("the turn is %q, pending %+v", now, a.Pending())
		}
		if err := a.Answer(t.Context(), a.Pending()[0].ID, core.Reply{Outcome: core.OutcomeAnswered, Text: "that"}); err != nil {
			t.Fatal(err)
		}
		if r := <-got; r.Text != "that" {
			t.Errorf("got %+v", r)
		}
		<-time.After(2 * time.Second)
		if now := a.State().Turn; now != "" {
			t.Errorf("the turn %s has not ended", now)
		}
	})
}

// A prompt ends such a turn at once: its question is withdrawn, its calls end, and whoever asked hears
// of it.
func TestAPromptEndsABegunTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, ask)
		defer closeGateway(t, g)
		reader := a.Read(a.Head())
		defer reader.Close()
		turn, r := proposed(t, host, core.Origin{}, runs("", "make", once, always, no))
		got := authorize(t, host, r)
		id := prompt(t, a, say("never mind"))
		if reply := <-got; !errors.Is(reply.err, core.ErrOver) || reply.Decision.Allows() {
			t.Errorf("got %+v", reply)
		}
		wantLines(t, follow(t, reader, id), "TurnStarted", "CallChanged proposed", "CallChanged awaiting", "Asked",
			"CallChanged errored", "Answered canceled", "TurnEnded end_turn", "TurnStarted", "TurnEnded end_turn")
		if err := turn.Emit(t.Context(), core.TextDelta{Message: turn.NewMessage(), Text: "late"}); !errors.Is(err, core.ErrOver) {
			t.Errorf("the turn that has ended: %v", err)
		}
	})
}

// A turn that is stopped ends at once, as stopped, however much the agent goes on to say.
func TestABegunTurnIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a, host := hosted(t, nil)
		defer closeGateway(t, g)
		reader := a.Read(a.Head())
		defer reader.Close()
		turn, r := proposed(t, host, core.Origin{}, runs("", "make"))
		if err := a.Cancel(t.Context(), turn.ID(), nil); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		wantLines(t, follow(t, reader, turn.ID()), "TurnStarted", "CallChanged proposed", "CallChanged canceled", "TurnEnded cancelled")
		if d := time.Since(start); d != 0 {
			t.Errorf("it ended after %v", d)
		}
		if why := context.Cause(turn.Context()); !errors.Is(why, core.ErrCanceled) {
			t.Errorf("its context has ended because of %v", why)
		}
		if err := turn.Emit(t.Context(), core.CallChanged{Call: r.Call}); !errors.Is(err, core.ErrOver) {
			t.Errorf("the agent goes on: %v", err)
		}
		if _, err := host.Begin(t.Context(), core.Origin{}); err != nil {
			t.Errorf("the next turn: %v", err)
		}
	})
}

// Emit returns the reason while a turn is being stopped, and ErrOver after every turn's end.
func TestEmitSaysThatATurnIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stopped error
		turns := make(chan *core.Turn, 2)
		run := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			turns <- turn
			if turn.Prompt()[0] == core.Block(core.Text{Text: "wait"}) {
				<-ctx.Done()
				stopped = turn.Emit(context.Background(), core.TextDelta{Message: "m", Text: "late"})
			}
			return core.StopEnd, nil
		}
		g, a := open(t, run, nil)
		defer closeGateway(t, g)
		prompt(t, a, say("hello"))
		synctest.Wait()
		prompt(t, a, say("wait"))
		synctest.Wait()
		if err := a.Cancel(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !errors.Is(stopped, core.ErrCanceled) {
			t.Errorf("while it is being stopped: %v", stopped)
		}
		for range 2 {
			if err := (<-turns).Emit(t.Context(), core.TextDelta{Message: "m", Text: "late"}); !errors.Is(err, core.ErrOver) {
				t.Errorf("behind the end: %v", err)
			}
		}
	})
}

// parting is an agent that says something as its conversation is closed.
type parting struct {
	*coretest.Backend
	host  core.Host
	begun error
}

type goodbye struct {
	core.Conversation
	p *parting
}

func (p *parting) Open(ctx context.Context, b core.Binding) (core.Conversation, error) {
	conv, err := p.Backend.Open(ctx, b)
	p.host = b.Host
	return goodbye{conv, p}, err
}

func (g goodbye) Close(ctx context.Context) error {
	_, g.p.begun = g.p.host.Begin(ctx, core.Origin{})
	return g.Conversation.Close(ctx)
}

// No turn begins in a session that is being closed: nobody would end it, and the log would show it as
// interrupted.
func TestNoTurnBeginsWhileASessionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &parting{Backend: &coretest.Backend{Run: echo}}
		store := coretest.NewMemory()
		prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: p}}}
		gateway := func() *core.Gateway {
			return core.New(core.Config{Store: store, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
		}
		g := gateway()
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		prompt(t, s.Attach(core.Client{Name: "tester"}), say("hello"))
		synctest.Wait()
		closeGateway(t, g)
		if !errors.Is(p.begun, core.ErrClosed) {
			t.Errorf("a turn that begins: %v", p.begun)
		}
		g = gateway()
		defer closeGateway(t, g)
		if s, err = g.Open(t.Context(), core.Local, "s"); err != nil {
			t.Fatal(err)
		}
		a := s.Attach(core.Client{Name: "tester"})
		for _, r := range effective(t, a, a.Head()) {
			if e, ok := r.Event.(core.TurnEnded); ok && e.Stop != core.StopEnd {
				t.Errorf("the log has %+v", e)
			}
		}
	})
}
