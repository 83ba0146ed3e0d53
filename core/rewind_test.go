package core_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/fork"
)

// listener answers when its gate opens, with what was said to it meanwhile.
func listener(gate <-chan struct{}) runFunc {
	return func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		select {
		case <-gate:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		for _, said := range turn.Steered() {
			text := said.Prompt[0].(core.Text).Text
			if err := turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: string(said.Message) + " " + text}); err != nil {
				return "", err
			}
		}
		return core.StopEnd, nil
	}
}

// What is said to a turn stands in the log when the turn takes it up, and not before;
// what is taken back never does.
func TestSteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g, a := open(t, listener(gate), nil)
		defer closeGateway(t, g)
		other := a.Attach(core.Client{Name: "tester"})
		defer other.Close()
		if a.Steer(say("nobody hears").Blocks) {
			t.Error("no turn runs, and something was said to it")
		}
		id := prompt(t, a, say("hi"))
		synctest.Wait()
		if !a.Steer(say("one").Blocks) || !other.Steer(say("two").Blocks) {
			t.Fatal("the turn takes nothing")
		}
		if same := prompt(t, a, core.Prompt{Blocks: say("three").Blocks, Busy: core.BusySteer}); same != id {
			t.Errorf("the prompt is turn %q", same)
		}
		a.Unsteer()
		a.Unsteer() // nothing is left: no error
		if !a.Steer(say("four").Blocks) {
			t.Error("the turn takes nothing any more")
		}
		r := a.Read(core.Pos{})
		defer r.Close()
		before, err := r.Until(t.Context(), a.Head())
		if err != nil || slices.ContainsFunc(before, func(r core.Record) bool { _, ok := r.Event.(core.Steered); return ok }) {
			t.Errorf("%v, %v: it stands in the log before it was taken up", before, err)
		}
		close(gate)
		got := follow(t, r, id)
		wantLines(t, got, "Steered", "Steered", "TextDelta m1-3 two", "TextDelta m1-4 four", "TurnEnded end_turn")
		if n := a.State().Messages; n != 5 {
			t.Errorf("%d messages", n)
		}
	})
}

// What a turn has not taken up when it ends is gone: clients say it again.
func TestSteerTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g, a := open(t, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			<-gate
			return core.StopEnd, nil
		}, nil)
		defer closeGateway(t, g)
		id := prompt(t, a, say("hi"))
		synctest.Wait()
		observer := a.Attach(core.Client{Name: "o", Role: core.Observe})
		defer observer.Close()
		if observer.Steer(say("no").Blocks) {
			t.Error("an observer says something")
		}
		a.Steer(say("late").Blocks)
		close(gate)
		r := a.Read(core.Pos{})
		defer r.Close()
		wantLines(t, follow(t, r, id), "Opened", "Claimed", "TurnStarted", "TitleChanged hi", "TurnEnded end_turn")
		next := prompt(t, a, say("next"))
		wantLines(t, follow(t, r, next), "TurnStarted", "TurnEnded end_turn")
	})
}

// messages lists the users' messages and their texts.
func messages(t *testing.T, a *core.Attachment) (ids []core.MessageID) {
	t.Helper()
	for _, r := range effective(t, a, a.Head()) {
		if e, ok := r.Event.(core.TurnStarted); ok {
			ids = append(ids, e.Message)
		}
	}
	return ids
}

// effective lists what is readable up to a position.
func effective(t *testing.T, a *core.Attachment, upto core.Pos) (list []core.Record) {
	t.Helper()
	r := a.Read(core.Pos{})
	defer r.Close()
	for {
		recs, err := r.Until(t.Context(), upto)
		if err != nil {
			t.Fatal(err)
		}
		if len(recs) == 0 {
			return list
		}
		for _, rec := range recs {
			if (core.Pos{Epoch: rec.Epoch, Seq: rec.Seq, Off: rec.Off}).Before(upto) {
				list = append(list, rec)
			}
		}
	}
}

func TestFindAndFlag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := open(t, echo, nil)
		defer closeGateway(t, g)
		ctx := t.Context()
		for _, text := range []string{"one", "two", "three"} {
			prompt(t, a, say(text))
			synctest.Wait()
		}
		ids := messages(t, a)
		for i, id := range ids {
			at, err := a.Find(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			r := a.Read(at)
			recs, err := r.Next(ctx)
			if err != nil || len(recs) == 0 || !isMessage(recs[0], id) {
				t.Errorf("message %d: %v, %v", i, recs, err)
			}
			r.Close()
		}
		if _, err := a.Find(ctx, "m9-9"); !errors.Is(err, core.ErrNoMessage) {
			t.Errorf("a message that is not there: %v", err)
		}
		if err := a.Flag(ctx, "m9-9", "x"); !errors.Is(err, core.ErrNoMessage) {
			t.Errorf("flag a message that is not there: %v", err)
		}
		observer := a.Attach(core.Client{Role: core.Observe})
		defer observer.Close()
		if err := observer.Flag(ctx, ids[0], "x"); !errors.Is(err, core.ErrObserver) {
			t.Errorf("an observer flags: %v", err)
		}
		for i, text := range []string{"first", "second", "third", "second, again", ""} {
			if err := a.Flag(ctx, ids[[]int{0, 1, 2, 1, 0}[i]], text); err != nil {
				t.Fatal(err)
			}
		}
		want := map[core.MessageID]string{ids[1]: "second, again", ids[2]: "third"}
		if got := a.Flags(); !maps.Equal(got, want) {
			t.Errorf("flags %v, want %v", got, want)
		}
		// The marks were made behind the place that is gone back to: those of what stays
		// are kept.
		at, err := a.Find(ctx, ids[2])
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Truncate(ctx, at); err != nil {
			t.Fatal(err)
		}
		delete(want, ids[2])
		if got := a.Flags(); !maps.Equal(got, want) {
			t.Errorf("flags behind a truncation %v, want %v", got, want)
		}
		if _, err := a.Find(ctx, ids[2]); !errors.Is(err, core.ErrNoMessage) {
			t.Errorf("a message that is hidden: %v", err)
		}
	})
}

func isMessage(r core.Record, id core.MessageID) bool {
	e, ok := r.Event.(core.TurnStarted)
	return ok && e.Message == id
}

// own says whether a fork leaves an event behind.
func own(ev core.Event) bool {
	switch ev.(type) {
	case core.Opened, core.Claimed, core.PromptQueued, core.Phase, core.Asked, core.Answered, core.Bound, core.Truncated:
		return true
	}
	return false
}

// transcriptOf is what stands in a session up to a position, the pieces of a run in
// one line.
func transcriptOf(t *testing.T, a *core.Attachment, upto core.Pos) (lines []string) {
	var last core.MessageID
	for _, r := range effective(t, a, upto) {
		if own(r.Event) {
			continue
		}
		e, text := r.Event.(core.TextDelta)
		if text && e.Message == last {
			lines[len(lines)-1] += e.Text
			continue
		}
		last = e.Message
		lines = append(lines, line(r.Event)+" "+idOf(r.Event))
	}
	return lines
}

func idOf(ev core.Event) string {
	switch e := ev.(type) {
	case core.TurnStarted:
		return string(e.Turn) + " " + string(e.Message)
	case core.TextDelta:
		return string(e.Message)
	case core.CallChanged:
		return string(e.Call.ID)
	case core.Flagged:
		return string(e.Message) + " " + e.Text
	case core.SettingsChanged:
		return e.Settings.Model
	case core.Notice:
		return e.Text
	}
	return ""
}

func TestFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := open(t, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			if _, err := turn.Invoke(ctx, core.Call{ID: turn.NewCall(), Server: core.Native, Tool: "look"}); err != nil {
				return "", err
			}
			return echo(ctx, turn)
		}, ask, coretest.Tool{Is: core.Spec{Server: core.Native, Name: "look"}})
		defer closeGateway(t, g)
		ctx := t.Context()
		p := say("one")
		p.Key, p.Settings = "k1", &core.Settings{Model: "offline/demo", Trust: true}
		for range 3 {
			prompt(t, a, p)
			synctest.Wait()
			if err := a.Decide(ctx, a.Pending()[0].ID, core.AllowOnce, ""); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			p = say("and more")
		}
		ids := messages(t, a)
		if err := a.Flag(ctx, ids[0], "the first"); err != nil {
			t.Fatal(err)
		}
		third, err := a.Find(ctx, ids[2])
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Truncate(ctx, third); err != nil { // what is hidden stays behind, too
			t.Fatal(err)
		}
		prompt(t, a, say("last"))
		synctest.Wait() // until it waits for a decision
		prompt(t, a, say("queued"))
		synctest.Wait()

		whole := a.Head()
		second, err := a.Find(ctx, ids[1])
		if err != nil {
			t.Fatal(err)
		}
		inside := core.Pos{Epoch: second.Epoch, Seq: second.Seq - 2, Off: 2} // in the middle of the first answer
		for name, c := range map[string]struct {
			upto  core.Pos
			more  []string // behind what the original has
			model string
		}{
			"in front of a message": {second, nil, "offline/demo"},
			"behind a message":      {core.Pos{Epoch: second.Epoch, Seq: second.Seq + 1}, []string{"Notice The original went on from here.", "TurnEnded end_turn "}, "offline/demo"},
			"inside of a run":       {inside, []string{"Notice The original went on from here.", "TurnEnded end_turn "}, "offline/demo"},
			"while a call waits":    {whole, []string{"Notice The original went on from here.", "CallChanged canceled c1-18", "TurnEnded end_turn "}, "offline/demo"},
			"nothing":               {core.Pos{}, nil, ""},
		} {
			to, err := fork.Session(ctx, g, a, c.upto, "")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			f := to.Attach(core.Client{Name: "tester", Asks: true})
			want := append(cutTranscript(t, a, c.upto), c.more...)
			wantLines(t, transcriptOf(t, f, f.Head()), want...)
			st := f.State()
			if st.Turn != "" || len(st.Queued)+len(st.Asks) > 0 || st.Settings.Model != c.model {
				t.Errorf("%s: state %+v", name, st)
			}
			if m := to.Meta(); m.ID == "s" || m.Cwd != "/w" || m.Forks != 1 {
				t.Errorf("%s: %+v", name, m)
			}
			f.Close()
		}
		if st := a.State(); st.Turn == "" || len(st.Queued) != 1 {
			t.Errorf("the original: %+v", st)
		}
	})
}

// cutTranscript is transcriptOf with a run that ends at a position.
func cutTranscript(t *testing.T, a *core.Attachment, upto core.Pos) []string {
	t.Helper()
	lines := transcriptOf(t, a, upto)
	if upto.Off == 2 {
		lines[len(lines)-1] = "TextDelta on " + lines[len(lines)-1][len("TextDelta one "):]
	}
	return lines
}

// What a fork says has ids of its own, also in a fork of a fork; a key that the
// original has seen is new to it.
func TestForkGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := open(t, echo, nil)
		defer closeGateway(t, g)
		p := say("hi")
		p.Key = "k1"
		for n := range 3 {
			prompt(t, a, p)
			synctest.Wait()
			ids := messages(t, a)
			if slices.Sort(ids); len(ids) != n+1 || len(slices.Compact(ids)) != n+1 {
				t.Fatalf("fork %d: messages %q", n, ids)
			}
			s, err := fork.Session(t.Context(), g, a, a.Head(), "")
			if err != nil {
				t.Fatal(err)
			}
			a = s.Attach(core.Client{Name: "tester"})
		}
		if _, err := fork.Session(t.Context(), g, a, a.Head(), "s"); !errors.Is(err, core.ErrExists) {
			t.Errorf("a fork onto a session that is there: %v", err)
		}
	})
}
