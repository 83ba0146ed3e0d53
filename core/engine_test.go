package core_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

type runFunc = func(context.Context, *core.Turn) (core.StopReason, error)

// echo answers with the prompt's text.
func echo(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	m := t.NewMessage()
	for _, b := range t.Prompt() {
		if text, ok := b.(core.Text); ok {
			if err := t.Emit(ctx, core.TextDelta{Message: m, Text: text.Text}); err != nil {
				return "", err
			}
		}
	}
	return core.StopEnd, nil
}

// open makes a gateway and a session with one client that can be asked.
func open(t *testing.T, run runFunc, policy core.Policy, tools ...core.Tool) (*core.Gateway, *core.Attachment) {
	t.Helper()
	g := coretest.Gateway(coretest.NewMemory(), run, policy, tools...)
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	return g, s.Attach(core.Client{Name: "tester", Asks: true, Questions: true})
}

func say(text string) core.Prompt { return core.Prompt{Blocks: []core.Block{core.Text{Text: text}}} }

// follow reads until the turn has ended and renders what came.
func follow(t *testing.T, r *core.Reader, turn core.TurnID) (lines []string) {
	t.Helper()
	for {
		recs, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range recs {
			lines = append(lines, line(rec.Event))
			if e, ok := rec.Event.(core.TurnEnded); ok && e.Turn == turn {
				return lines
			}
		}
	}
}

// storeOf is a store with the session "s", whose log has these events behind Opened.
// Nobody owns it.
func storeOf(t *testing.T, events ...core.Event) (store *coretest.Memory, epoch uint64) {
	t.Helper()
	store = coretest.NewMemory()
	j, err := store.Create(t.Context(), core.Meta{ID: "s", Principal: core.Local, Cwd: "/w"})
	if err == nil {
		epoch, err = j.Claim(t.Context())
	}
	if err == nil {
		records := coretest.Records(epoch, append([]core.Event{core.Opened{Meta: j.Meta()}}, events...)...)
		err = j.Write(t.Context(), records[1:])
	}
	if err == nil {
		err = errors.Join(j.Release(), j.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return store, epoch
}

// readTo reads up to head.
func readTo(t *testing.T, r *core.Reader, head core.Pos) (all []core.Record) {
	t.Helper()
	for {
		recs, err := r.Until(t.Context(), head)
		if err != nil {
			t.Fatal(err)
		}
		if len(recs) == 0 {
			return all
		}
		all = append(all, recs...)
	}
}

func line(ev core.Event) string {
	name, _ := strings.CutPrefix(fmt.Sprintf("%T", ev), "core.")
	switch e := ev.(type) {
	case core.TextDelta:
		return name + " " + e.Text
	case core.CallChanged:
		return name + " " + string(e.Call.State)
	case core.CallOutput:
		return name + " " + e.Text
	case core.TitleChanged:
		return name + " " + e.Title
	case core.Answered:
		return name + " " + string(e.Reply.Outcome)
	case core.TurnEnded:
		return strings.TrimSpace(name + " " + string(e.Stop) + " " + e.Err)
	}
	return name
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("events:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func prompt(t *testing.T, a *core.Attachment, p core.Prompt) core.TurnID {
	t.Helper()
	id, err := a.Prompt(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func closeGateway(t *testing.T, g *core.Gateway) {
	t.Helper()
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := open(t, echo, nil)
		defer closeGateway(t, g)
		r := a.Read(core.Pos{})
		defer r.Close()
		id := prompt(t, a, say("hello\nworld"))
		wantLines(t, follow(t, r, id), "Opened", "Claimed", "TurnStarted", "TitleChanged hello", "TextDelta hello\nworld", "TurnEnded end_turn")
		st := a.State()
		if st.Title != "hello" || st.Messages != 2 || st.Turn != "" {
			t.Errorf("state: title %q, %d messages, turn %q", st.Title, st.Messages, st.Turn)
		}
	})
}

// The second prompt is queued, and each has its own end.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g, a := open(t, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			<-gate
			return echo(ctx, turn)
		}, nil)
		defer closeGateway(t, g)
		prompt(t, a, say("one"))
		second := prompt(t, a, say("two"))
		if _, err := a.Prompt(t.Context(), core.Prompt{Busy: core.BusyRefuse}); !errors.As(err, new(*core.BusyError)) {
			t.Errorf("a third prompt that refuses to wait: %v", err)
		}
		close(gate)
		r := a.Read(core.Pos{})
		defer r.Close()
		wantLines(t, follow(t, r, second), "Opened", "Claimed", "TurnStarted", "TitleChanged one", "PromptQueued", "TextDelta one",
			"TurnEnded end_turn", "TurnStarted", "TextDelta two", "TurnEnded end_turn")
	})
}

// A cancel ends what runs and what is queued; what comes after it runs.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := true
		g, a := open(t, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			if hang {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return echo(ctx, turn)
		}, nil)
		defer closeGateway(t, g)
		prompt(t, a, say("one"))
		prompt(t, a, say("two"))
		synctest.Wait()
		hang = false
		if err := a.Cancel(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		third := prompt(t, a, say("three"))
		r := a.Read(core.Pos{})
		defer r.Close()
		got := follow(t, r, third)
		if n := strings.Count(strings.Join(got, "\n"), "TurnEnded cancelled"); n != 2 {
			t.Errorf("%d turns were cancelled, want 2:\n%s", n, strings.Join(got, "\n"))
		}
		if last := got[len(got)-1]; last != "TurnEnded end_turn" {
			t.Errorf("the prompt after the cancel ended with %q", last)
		}
	})
}

// A prompt whose context was cancelled before it began still has its turn in the
// log, ended as cancelled; so has one that is cancelled later through its context.
func TestPromptContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		g, a := open(t, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			ran++
			<-ctx.Done()
			return "", ctx.Err()
		}, nil)
		defer closeGateway(t, g)
		r := a.Read(core.Pos{})
		defer r.Close()

		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(core.ErrCanceled)
		id, err := a.Prompt(ctx, say("never"))
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, follow(t, r, id), "Opened", "Claimed", "TurnStarted", "TitleChanged never", "TurnEnded cancelled")
		if ran != 0 {
			t.Error("a cancelled prompt reached the back end")
		}

		ctx, cancel = context.WithCancelCause(t.Context())
		running, err := a.Prompt(ctx, say("later"))
		if err != nil {
			t.Fatal(err)
		}
		queuedCtx, cancelQueued := context.WithCancelCause(t.Context())
		queued, err := a.Prompt(queuedCtx, say("queued"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancelQueued(core.ErrCanceled)
		wantLines(t, follow(t, r, queued), "TurnStarted", "PromptQueued", "TurnEnded cancelled")
		cancel(core.ErrCanceled)
		wantLines(t, follow(t, r, running), "TurnEnded cancelled")
	})
}

func call(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	res, err := t.Invoke(ctx, core.Call{ID: t.NewCall(), Server: core.Native, Tool: "touch", Args: coretest.Args(map[string]any{})})
	if err != nil {
		return "", err
	}
	text := "ok"
	if res.Failed {
		text = "failed"
	}
	return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: text})
}

var touch = coretest.Tool{Is: core.Spec{Server: core.Native, Name: "touch", Kind: core.KindEdit}}

var ask = coretest.Always(core.Verdict{Effect: core.MustAsk, Why: "it writes", Remember: "touch", RememberText: "touching"})

func TestApproval(t *testing.T) {
	for _, test := range []struct {
		name   string
		decide func(*core.Attachment, core.Ask) error
		want   []string
	}{
		{"allowed", func(a *core.Attachment, q core.Ask) error {
			return a.Decide(context.Background(), q.ID, core.AllowOnce, "")
		}, []string{"Answered decided", "CallChanged running", "CallChanged succeeded", "TextDelta ok", "TurnEnded end_turn"}},
		{"rejected", func(a *core.Attachment, q core.Ask) error {
			return a.Decide(context.Background(), q.ID, core.RejectOnce, "")
		}, []string{"Answered decided", "CallChanged rejected", "TextDelta failed", "TurnEnded end_turn"}},
		{"nobody answers", func(*core.Attachment, core.Ask) error {
			return nil
		}, []string{"Answered expired", "CallChanged rejected", "TextDelta failed", "TurnEnded end_turn"}},
		{"cancelled", func(a *core.Attachment, _ core.Ask) error {
			return a.Cancel(context.Background(), "", nil)
		}, []string{"Answered canceled", "CallChanged canceled", "TurnEnded cancelled"}},
		{"the client leaves", func(a *core.Attachment, _ core.Ask) error {
			a.Close()
			return nil
		}, []string{"Answered alone", "CallChanged rejected", "TextDelta failed", "TurnEnded end_turn"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, a := open(t, call, ask, touch)
				defer closeGateway(t, g)
				watch := a.Attach(core.Client{Name: "watcher", Role: core.Observe})
				id := prompt(t, a, say("go"))
				synctest.Wait()
				pending := a.Pending()
				if len(pending) != 1 {
					t.Fatalf("%d questions are pending", len(pending))
				}
				if err := watch.Decide(t.Context(), pending[0].ID, core.AllowOnce, ""); !errors.Is(err, core.ErrObserver) {
					t.Errorf("an observer decides: %v", err)
				}
				if err := test.decide(a, pending[0]); err != nil {
					t.Fatal(err)
				}
				r := watch.Read(core.Pos{})
				defer r.Close()
				head := []string{"Opened", "Claimed", "TurnStarted", "TitleChanged go", "CallChanged proposed", "CallChanged proposed", "CallChanged awaiting", "Asked"}
				wantLines(t, follow(t, r, id), append(head, test.want...)...)
				if err := watch.Attach(core.Client{}).Decide(t.Context(), pending[0].ID, core.AllowOnce, ""); !errors.Is(err, core.ErrNotAsked) {
					t.Errorf("a late decision: %v", err)
				}
			})
		})
	}
}

// Where nobody can be asked the answer is no, and says so.
func TestNobodyToAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := coretest.Gateway(coretest.NewMemory(), call, ask, touch)
		defer closeGateway(t, g)
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(core.Client{Name: "mute"})
		r := a.Read(core.Pos{})
		defer r.Close()
		got := follow(t, r, prompt(t, a, say("go")))
		wantLines(t, got[4:], "CallChanged proposed", "CallChanged proposed", "CallChanged rejected", "TextDelta failed", "TurnEnded end_turn")
	})
}

// "For the session" is remembered, also by the next process.
func TestRemember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := coretest.Policy(func(c core.Check) core.Verdict {
			if d, ok := c.Remembered["touch"]; ok && d.Allows() {
				return core.Verdict{Effect: core.Allow, Why: "remembered"}
			}
			return ask(c)
		})
		store := coretest.NewMemory()
		for i := range 2 {
			g := coretest.Gateway(store, call, policy, touch)
			var s *core.Session
			var err error
			if i == 0 {
				s, err = g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
			} else {
				s, err = g.Open(t.Context(), core.Local, "s")
			}
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attach(core.Client{Name: "tester", Asks: true})
			prompt(t, a, say("go"))
			synctest.Wait()
			if n := len(a.Pending()); n != 1-i {
				t.Errorf("process %d: %d questions", i, n)
			}
			for _, q := range a.Pending() {
				if err := a.Decide(t.Context(), q.ID, core.AllowSession, ""); err != nil {
					t.Error(err)
				}
			}
			synctest.Wait()
			closeGateway(t, g)
		}
	})
}

// A process that dies leaves a turn and a call open; the next one closes both.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		hold := make(chan struct{})
		slow := coretest.Tool{Is: touch.Is, Runs: func(context.Context, core.Invocation) (core.Result, error) {
			<-hold
			return core.Result{}, nil
		}}
		g := coretest.Gateway(store, call, coretest.Always(core.Verdict{Effect: core.Allow}), slow)
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(core.Client{Name: "tester"})
		prompt(t, a, say("go"))
		synctest.Wait()
		prompt(t, a, say("and then"))
		synctest.Wait()
		if err := store.Close(); err != nil { // its claims are free, as after a kill
			t.Fatal(err)
		}
		g2 := coretest.Gateway(store, echo, nil)
		s2, err := g2.Open(t.Context(), core.Local, "s")
		if err != nil {
			t.Fatal(err)
		}
		st := s2.State()
		if st.Turn != "" || len(st.Queued) != 0 {
			t.Errorf("turn %q runs and %v are queued after the restart", st.Turn, st.Queued)
		}
		b := s2.Attach(core.Client{Name: "again"})
		r := b.Read(core.Pos{})
		defer r.Close()
		got := follow(t, r, prompt(t, b, say("next")))
		tail := got[len(got)-9:]
		wantLines(t, tail, "CallChanged running", "PromptQueued", "Claimed", "CallChanged errored",
			"TurnEnded interrupted interrupted: the process that ran it has ended",
			"TurnEnded interrupted interrupted: the process that ran it has ended", "TurnStarted", "TextDelta next", "TurnEnded end_turn")
		closeGateway(t, g2)
		close(hold)
		_ = g.Close(t.Context()) // fenced: it may say so
	})
}

// A store that fails ends the turn before its next effect, and only this session.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left on device")
		var broken atomic.Bool // what "bad" writes
		store := coretest.NewMemory()
		store.Before = func(_ context.Context, op string, id core.SessionID) error {
			if op == "write" && id == "bad" && broken.Load() {
				return full
			}
			return nil
		}
		ran := 0
		tool := coretest.Tool{Is: touch.Is, Runs: func(context.Context, core.Invocation) (core.Result, error) {
			ran++
			return core.Result{}, nil
		}}
		g := coretest.Gateway(store, call, ask, tool)
		var as []*core.Attachment
		for _, id := range []core.SessionID{"bad", "good"} {
			s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: id, Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			as = append(as, s.Attach(core.Client{Name: "tester", Asks: true}))
			prompt(t, as[len(as)-1], say("go"))
		}
		synctest.Wait()
		broken.Store(true)
		for _, a := range as {
			for _, q := range a.Pending() {
				_ = a.Decide(t.Context(), q.ID, core.AllowOnce, "")
			}
		}
		synctest.Wait()
		if ran != 1 {
			t.Errorf("%d calls had their effect, want 1", ran)
		}
		r := as[0].Read(core.Pos{})
		recs, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		end, ok := recs[len(recs)-1].Event.(core.TurnEnded)
		if !ok || end.Stop != core.StopError || !strings.Contains(end.Err, "no space left") {
			t.Errorf("the turn ended with %v", recs[len(recs)-1].Event)
		}
		if _, err := as[0].Prompt(t.Context(), say("more")); !errors.As(err, new(*core.StoreError)) {
			t.Errorf("a prompt after that: %v", err)
		}
		broken.Store(false)
		s, err := g.Open(t.Context(), core.Local, "bad") // reopened: what was stored counts
		if err != nil {
			t.Fatal(err)
		}
		b := s.Attach(core.Client{Name: "again"})
		if _, err := b.Prompt(t.Context(), say("more")); err != nil {
			t.Errorf("a prompt after opening it again: %v", err)
		}
		synctest.Wait()
		closeGateway(t, g)
	})
}

// The number of goroutines after 1,000 turns is what it was.
func TestThousandTurns(t *testing.T) {
	g, a := open(t, echo, nil)
	r := a.Read(core.Pos{})
	before := runtime.NumGoroutine()
	for range 1000 {
		follow(t, r, prompt(t, a, say("hello")))
	}
	r.Close()
	closeGateway(t, g)
	// What ends on its own may need a moment more.
	for left := time.After(30 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		select {
		case <-left:
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		default:
		}
	}
}

// A slow client stops the turn; one that reads lets it run; with nobody it runs.
func TestFarBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		piece := strings.Repeat("x", 64<<10)
		sent := 0
		g, a := open(t, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			m := turn.NewMessage()
			for range 400 {
				if err := turn.Emit(ctx, core.TextDelta{Message: m, Text: piece}); err != nil {
					return "", err
				}
				sent++
			}
			return core.StopEnd, nil
		}, nil)
		defer closeGateway(t, g)
		r := a.Read(core.Pos{})
		id := prompt(t, a, say("go"))
		synctest.Wait()
		if at := sent * len(piece); at < 900<<10 || at > 1200<<10 {
			t.Errorf("the turn went on to %d bytes while its only reader read nothing", at)
		}
		n := 0
		for _, l := range follow(t, r, id) {
			if text, ok := strings.CutPrefix(l, "TextDelta "); ok {
				n += len(text)
			}
		}
		if n != 400*len(piece) {
			t.Errorf("the slow reader got %d bytes of %d", n, 400*len(piece))
		}
		r.Close()
		sent = 0
		prompt(t, a, say("again"))
		synctest.Wait()
		if sent != 400 {
			t.Errorf("with nobody reading the turn stopped after %d", sent)
		}

		stuck := a.Read(a.Head())
		sent = 0
		prompt(t, a, say("and again"))
		<-time.After(2 * time.Minute) // a connection that takes nothing for a minute no longer counts
		synctest.Wait()
		if sent != 400 {
			t.Errorf("a dead connection held the turn at %d", sent)
		}
		stuck.Close()
	})
}
