package core_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/cursor"
)

// transcript folds records into lines; the pieces of a run become one.
type transcript struct {
	lines []string
	seq   uint64
	end   core.Pos
}

func (f *transcript) add(t *testing.T, who string, r core.Record) {
	t.Helper()
	if r.Seq == 0 {
		return
	}
	if r.Seq != f.end.Seq && r.Seq != f.end.Seq+1 && f.end != (core.Pos{}) {
		if _, ok := r.Event.(core.Truncated); !ok {
			t.Fatalf("%s: record %d.%d follows %v", who, r.Seq, r.Off, f.end)
		}
	}
	f.end = r.End()
	text := ""
	switch e := r.Event.(type) {
	case core.TextDelta:
		text = "T" + string(e.Message)
		if r.Seq == f.seq {
			f.lines[len(f.lines)-1] += e.Text
			return
		}
		text += ":" + e.Text
	case core.CallOutput:
		text = "O" + string(e.Call)
		if r.Seq == f.seq {
			f.lines[len(f.lines)-1] += e.Text
			return
		}
		text += ":" + e.Text
	case core.Claimed: // differs between processes
		text = "claimed"
	default:
		text = fmt.Sprintf("%+v", e)
	}
	f.seq = r.Seq
	f.lines = append(f.lines, text)
}

// Readers of every sort see the same: one that follows, one that lags behind what
// memory holds, one that stops and goes on at its position, one that comes late,
// and one in the next process.
func TestReadersAgree(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			store := coretest.NewMemory()
			step := make(chan int)
			g := coretest.Gateway(store, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
				for n := range step {
					var ev core.Event = core.TextDelta{Message: core.MessageID(fmt.Sprint("m", n%3)), Text: strings.Repeat("é", n%9000) + fmt.Sprint(n)}
					switch n % 5 {
					case 0:
						ev = core.Notice{Severity: core.Info, Text: fmt.Sprint(n)}
					case 1:
						ev = core.CallOutput{Call: core.CallID(fmt.Sprint("c", n%2)), Text: fmt.Sprint(n)}
					}
					if err := turn.Emit(ctx, ev); err != nil {
						return "", err
					}
				}
				return core.StopEnd, nil
			}, nil)
			s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attach(core.Client{Name: "tester"})
			id := prompt(t, a, say("go"))
			var follows, lags, resumes transcript
			rf, rl, rr := a.Read(core.Pos{}), a.Read(core.Pos{}), a.Read(core.Pos{})
			take := func(who string, r *core.Reader, f *transcript) {
				recs, err := r.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, rec := range recs {
					f.add(t, who, rec)
				}
			}
			for range 300 {
				step <- rnd.IntN(100000)
				synctest.Wait()
				if rnd.IntN(2) == 0 {
					step <- rnd.IntN(100000)
					take("follower", rf, &follows)
				}
				if rnd.IntN(60) == 0 {
					take("laggard", rl, &lags)
				}
				if rnd.IntN(20) == 0 {
					take("resumer", rr, &resumes)
					at, err := cursor.Parse(cursor.Format(rr.Pos()))
					if err != nil {
						t.Fatal(err)
					}
					rr.Close()
					rr = a.Read(at)
				}
			}
			close(step)
			finish := func(who string, r *core.Reader, f *transcript) []string {
				for end := fmt.Sprintf("%+v", core.TurnEnded{Turn: id, Stop: core.StopEnd}); len(f.lines) == 0 || f.lines[len(f.lines)-1] != end; {
					take(who, r, f)
				}
				r.Close()
				return f.lines
			}
			want := finish("follower", rf, &follows)
			for who, got := range map[string][]string{
				"laggard": finish("laggard", rl, &lags),
				"resumer": finish("resumer", rr, &resumes),
				"late":    finish("late", a.Read(core.Pos{}), &transcript{}),
			} {
				if !slices.Equal(got, want) {
					t.Errorf("seed %d: the %s saw %d records, the follower %d", seed, who, len(got), len(want))
				}
			}
			closeGateway(t, g)
			g = coretest.Gateway(store, echo, nil)
			if s, err = g.Open(t.Context(), core.Local, "s"); err != nil {
				t.Fatal(err)
			}
			if got := finish("next process", s.Attach(core.Client{}).Read(core.Pos{}), &transcript{}); !slices.Equal(got, want) {
				t.Errorf("seed %d: the next process saw %d records, the follower %d", seed, len(got), len(want))
			}
			closeGateway(t, g)
		})
	}
}

// What a truncation hides is skipped by whoever has not seen it; whoever has is
// told. The fold agrees.
func TestTruncate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := open(t, echo, nil)
		defer closeGateway(t, g)
		r := a.Read(core.Pos{})
		defer r.Close()
		follow(t, r, prompt(t, a, say("one")))
		keep := a.Head()
		follow(t, r, prompt(t, a, say("two")))
		if err := a.Truncate(t.Context(), keep); err != nil {
			t.Fatal(err)
		}
		if n := a.State().Messages; n != 2 {
			t.Errorf("%d messages after the truncation, want 2", n)
		}
		id := prompt(t, a, say("three"))
		wantLines(t, follow(t, r, id), "Truncated", "TurnStarted", "TextDelta three", "TurnEnded end_turn")
		fresh := a.Read(core.Pos{})
		defer fresh.Close()
		wantLines(t, follow(t, fresh, id), "Opened", "Claimed", "TurnStarted", "TitleChanged one", "TextDelta one", "TurnEnded end_turn",
			"TurnStarted", "TextDelta three", "TurnEnded end_turn")
	})
}

// A truncation of everything leaves an empty session that knows what it is.
func TestTruncateAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := open(t, echo, nil)
		defer closeGateway(t, g)
		prompt(t, a, say("one"))
		synctest.Wait()
		if err := a.Truncate(t.Context(), core.Pos{}); err != nil {
			t.Fatal(err)
		}
		if st := a.State(); st.Messages != 0 || st.Title != "" || st.Meta.ID != "s" || st.Meta.Cwd != "/w" {
			t.Errorf("state %+v", st)
		}
	})
}

// A log that cannot be written can be read, and the turn that it leaves open is shown
// as ended. When it can be written again the session goes on, whichever process closes
// the turn in the log, and a reader that saw it closed gets nothing twice.
func TestReadOnly(t *testing.T) {
	for _, other := range []bool{false, true} {
		t.Run(fmt.Sprintf("closed by another process %v", other), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testReadOnly(t, other) })
		})
	}
}

func testReadOnly(t *testing.T, other bool) {
	store := coretest.NewMemory()
	g := coretest.Gateway(store, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		call := core.Call{ID: turn.NewCall(), Turn: turn.ID(), Tool: "x", State: core.Proposed}
		if err := turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: "wait"}, core.CallChanged{Call: call}); err != nil {
			return "", err
		}
		<-ctx.Done()
		return "", ctx.Err()
	}, nil)
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	prompt(t, s.Attach(core.Client{Name: "tester"}), say("hang"))
	synctest.Wait()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	var damaged atomic.Bool
	damaged.Store(true)
	var reading func() // called while the store is read; nil: nothing is
	store.Before = func(_ context.Context, op string, _ core.SessionID) error {
		switch {
		case damaged.Load() && op == "claim":
			return fmt.Errorf("%w: byte 7 of it is damaged", core.ErrReadOnly)
		case reading != nil && op == "read":
			reading()
		}
		return nil
	}
	g2 := coretest.Gateway(store, echo, nil)
	s2, err := g2.Open(t.Context(), core.Local, "s")
	if err != nil {
		t.Fatal(err)
	}
	a := s2.Attach(core.Client{Name: "viewer"})
	r := a.Read(core.Pos{})
	defer r.Close()
	seen := readTo(t, r, a.Head())
	if st := a.State(); st.Messages != 2 || st.Turn != "" || len(st.Asks) > 0 {
		t.Errorf("state %+v", st)
	}
	end, ok := seen[len(seen)-1].Event.(core.TurnEnded)
	if !ok || end.Stop != core.StopInterrupted || !strings.Contains(end.Err, "byte 7") {
		t.Errorf("the last record is %+v", seen[len(seen)-1])
	}
	if call, ok := seen[len(seen)-2].Event.(core.CallChanged); !ok || call.Call.State != core.Errored {
		t.Errorf("the call was left as %+v", seen[len(seen)-2])
	}
	if _, err := a.Prompt(t.Context(), say("more")); !errors.Is(err, core.ErrReadOnly) {
		t.Errorf("a prompt: %v", err)
	}
	if _, err := g2.Open(t.Context(), core.Local, "s"); err != nil || s2.Head() != a.Head() || a.State().Turn != "" {
		t.Errorf("opened once more: %v, %+v", err, a.State())
	}
	head, looks := a.Head(), 0
	reading = func() {
		if looks++; a.Head() != head {
			t.Errorf("the end is %v while the store is read again, and was %v", a.Head(), head)
		}
	}
	if err := a.Follow(t.Context()); err != nil || looks == 0 {
		t.Errorf("%v, the store was read %d times", err, looks)
	}
	reading = nil

	damaged.Store(false)
	if other {
		g3 := coretest.Gateway(store, echo, nil)
		if _, err := g3.Open(t.Context(), core.Local, "s"); err != nil {
			t.Fatal(err)
		}
		closeGateway(t, g3)
	}
	prompt(t, a, say("more"))
	synctest.Wait()
	seen = append(seen, readTo(t, r, a.Head())...)
	closeGateway(t, g2)
	_ = g.Close(t.Context())

	j, err := store.Open(t.Context(), core.Local, "s")
	if err != nil {
		t.Fatal(err)
	}
	var at core.Pos
	i := 0
	for _, rec := range coretest.Joined(seen) {
		if rec.Seq != max(at.Seq, 1) && rec.Seq != at.Seq+1 {
			t.Errorf("record %d behind %v", rec.Seq, at)
		}
		at = rec.End()
	}
	seen = coretest.Joined(seen)
	for rec, err := range j.Read(t.Context(), core.Pos{}) {
		if err != nil {
			t.Fatal(err)
		}
		if i >= len(seen) || seen[i].Seq != rec.Seq || reflect.TypeOf(seen[i].Event) != reflect.TypeOf(rec.Event) {
			t.Fatalf("record %d is %T in the store, and was not seen as that", rec.Seq, rec.Event)
		}
		i++
	}
	if i != len(seen) {
		t.Errorf("%d records were seen, %d are stored", len(seen), i)
	}
}
