package stage_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/bridge/agent/stage"
	"dragoman/core"
	"dragoman/core/coretest"
)

// room is a session with a stage. A turn that is prompted runs until it is told to end.
type room struct {
	t     *testing.T
	stage *stage.Stage
	host  core.Host
	at    *core.Attachment
	turns chan *core.Turn
	end   chan struct{}
	opens bool
}

// in runs a test in a room whose first turn has ended.
func in(t *testing.T, strict bool, test func(*testing.T, *room)) {
	synctest.Test(t, func(t *testing.T) {
		r := &room{t: t, turns: make(chan *core.Turn), end: make(chan struct{})}
		be := &coretest.Backend{Run: func(_ context.Context, turn *core.Turn) (core.StopReason, error) {
			r.turns <- turn
			<-r.end
			return core.StopEnd, nil
		}}
		g := core.New(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) {
			return &core.Profile{Agents: []core.Agent{{Name: "code", Backend: be}}}, nil
		})})
		defer func() {
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		r.at = s.Attach(core.Client{Name: "tester"})
		first := r.prompt()
		r.host = be.Bindings()[0].Host
		r.stage = stage.New(stage.Config{
			Host: r.host, Life: t.Context, Opens: func() bool { return r.opens }, Stopped: func(*core.Turn) {}, Strict: strict,
		})
		r.stage.Enter(t.Context(), first)
		r.ends()
		test(t, r)
	})
}

func (r *room) prompt() *core.Turn {
	r.t.Helper()
	if _, err := r.at.Prompt(r.t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: "hello"}}}); err != nil {
		r.t.Fatal(err)
	}
	return <-r.turns
}

// ends ends the turn that was prompted.
func (r *room) ends() {
	r.end <- struct{}{}
	synctest.Wait()
}

// emit adds events, while other things happen.
func (r *room) emit(events ...core.Event) <-chan bool {
	got := make(chan bool, 1)
	go func() { got <- r.stage.Emit(events...) }()
	synctest.Wait()
	return got
}

// Events that come between the end of a turn and the next prompt's wait for that, and belong to it.
func TestEventsBetweenTwoTurns(t *testing.T) {
	in(t, false, func(t *testing.T, r *room) {
		reader := r.at.Read(r.at.Head())
		defer reader.Close()
		first, next := r.stage.Current(), r.prompt()
		call := core.Call{ID: first.NewCall(), Turn: first.ID(), State: core.Proposed}
		got := r.emit(
			core.CallChanged{Call: call}, core.Phase{Turn: first.ID(), Kind: core.PhaseWaiting},
			core.Compacted{Turn: first.ID(), Summary: "s"}, core.UsageChanged{Turn: first.ID(), Context: 1},
		)
		if len(got) != 0 {
			t.Fatal("it does not wait for the turn")
		}
		r.stage.Enter(t.Context(), next)
		if !<-got {
			t.Fatal("the log does not have the events")
		}
		of := map[string]core.TurnID{}
		for len(of) < 4 {
			recs, err := reader.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range recs {
				switch e := rec.Event.(type) {
				case core.CallChanged:
					of["call"] = e.Call.Turn
				case core.Phase:
					of["phase"] = e.Turn
				case core.Compacted:
					of["compaction"] = e.Turn
				case core.UsageChanged:
					of["usage"] = e.Turn
				}
			}
		}
		for what, turn := range of {
			if turn != next.ID() {
				t.Errorf("the %s is of %s, and not of %s", what, turn, next.ID())
			}
		}
		r.ends()
	})
}

// Nothing waits for a turn behind the end of the session.
func TestCloseEndsTheWait(t *testing.T) {
	for _, strict := range []bool{false, true} {
		in(t, strict, func(t *testing.T, r *room) {
			r.prompt()
			got := r.emit(core.Notice{Text: "late"})
			if !r.stage.Close() || r.stage.Close() {
				t.Error("the stage is closed once")
			}
			start := time.Now()
			if <-got || time.Since(start) > time.Second {
				t.Errorf("after %v", time.Since(start))
			}
			r.ends()
		})
	}
}

// What is dropped after Mute and Close depends on Strict.
func TestStrict(t *testing.T) {
	mute, closes := func(s *stage.Stage) { s.Mute(true) }, func(s *stage.Stage) { s.Close() }
	for _, test := range []struct {
		name         string
		strict       bool
		change       func(*stage.Stage)
		emits, apart bool
	}{
		{"muted", false, mute, false, true},
		{"closed", false, closes, true, true},
		{"muted, strict", true, mute, false, false},
		{"closed, strict", true, closes, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			in(t, test.strict, func(t *testing.T, r *room) {
				test.change(r.stage)
				if got := r.stage.Emit(core.Notice{Text: "n"}); got != test.emits {
					t.Errorf("Emit: %v", got)
				}
				r.stage.Apart(core.TitleChanged{Title: "apart", Auto: true})
				if got := r.at.State().Title == "apart"; got != test.apart {
					t.Errorf("Apart: %v", got)
				}
			})
		})
	}
}

// What comes while the session is being opened belongs to the next turn, up to a limit, and without calls.
func TestEventsWhileTheSessionIsOpened(t *testing.T) {
	in(t, false, func(t *testing.T, r *room) {
		r.opens = true
		notices := make([]core.Event, 1000)
		for i := range notices {
			notices[i] = core.Notice{Text: "n"}
		}
		call := r.stage.Current().NewCall()
		for _, step := range []struct {
			events []core.Event
			want   bool
		}{
			{notices[:1], true},
			{notices, false},
			{[]core.Event{notices[0], core.CallChanged{Call: core.Call{ID: call, State: core.Proposed}}}, false},
			{[]core.Event{core.CallOutput{Call: call, Text: "o"}}, false},
			{notices[1:], true},
		} {
			if got := r.stage.Emit(step.events...); got != step.want {
				t.Errorf("%d events, the first is %T: %v", len(step.events), step.events[0], got)
			}
		}
		from, next := r.at.Head(), r.prompt()
		r.stage.Enter(t.Context(), next)
		r.ends()
		n := 0
		for rec, err := range r.at.Records(t.Context(), from, r.at.Head()) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := rec.Event.(core.Notice); ok {
				n++
			}
		}
		if n != len(notices) {
			t.Errorf("the turn begins with %d events", n)
		}
	})
}

// stopping is a host whose turns are stopped, and have ended, before anybody has them.
type stopping struct {
	core.Host
	at    *core.Attachment
	begun int
}

func (h *stopping) Begin(ctx context.Context, o core.Origin) (*core.Turn, error) {
	t, err := h.Host.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	h.begun++
	err = h.at.Cancel(ctx, t.ID(), nil)
	synctest.Wait()
	return t, err
}

// A user's stop that comes as a turn begins holds for what the agent says next, until that is resumed.
func TestStopAsATurnBegins(t *testing.T) {
	for _, processors := range []int{1, 4} { // with one, the agent's event is always first
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		for _, drops := range []bool{true, false} {
			in(t, false, func(t *testing.T, r *room) {
				var stopped []*core.Turn
				h := &stopping{Host: r.host, at: r.at}
				s := stage.New(stage.Config{
					Host: h, Life: t.Context, Opens: func() bool { return h.begun > 1 }, Stopped: func(t *core.Turn) { stopped = append(stopped, t) },
					Drops: func() bool { return drops },
				})
				s.Enter(t.Context(), r.stage.Current())
				if got := s.Emit(core.Notice{Text: "more"}); got == drops {
					t.Errorf("Emit: %v", got)
				}
				synctest.Wait()
				if want := map[bool]int{true: 1, false: 2}[drops]; h.begun != want || len(stopped) != want || s.Stopped() != drops {
					t.Errorf("%d turns have begun, %d were stopped, %v", h.begun, len(stopped), s.Stopped())
				}
				s.Resume()
				if s.Emit(core.Notice{Text: "more"}); drops && h.begun != 2 {
					t.Errorf("%d turns have begun", h.begun)
				}
				synctest.Wait()
			})
		}
	}
}

// A stop of a turn that a prompt has ended stops nothing, and one that goes on behind its limit is shown again.
func TestStopOfAnEarlierTurn(t *testing.T) {
	in(t, false, func(t *testing.T, r *room) {
		if !r.stage.Emit(core.Notice{Text: "n"}) {
			t.Fatal("nothing is shown")
		}
		first := r.stage.Current()
		if err := r.at.Cancel(t.Context(), first.ID(), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !r.stage.Stopped() || r.stage.Emit(core.Notice{Text: "n"}) {
			t.Error("the turn is not stopped")
		}
		stopped := time.Now()
		<-time.After(time.Second)
		if dropped, same := r.stage.ResumeIn(first); !same || !dropped.Equal(stopped) || r.stage.Stopped() {
			t.Errorf("%v, and the last event was dropped at %v, not at %v", same, dropped, stopped)
		}
		if !r.stage.Emit(core.Notice{Text: "n"}) || r.stage.Current() == first {
			t.Error("what it says now is not shown")
		}
		<-time.After(2 * time.Second) // the turn is idle
		next := r.prompt()
		r.stage.Enter(t.Context(), next)
		if _, same := r.stage.ResumeIn(first); same || r.stage.Stopped() || !r.stage.Emit(core.Notice{Text: "n"}) {
			t.Error("the next turn is stopped")
		}
		r.ends()
	})
}
