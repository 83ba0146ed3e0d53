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

// viewed is a session of one process with a client of another one that only reads.
type viewed struct {
	store   *coretest.Memory
	mine    *core.Attachment // of the one that prompts
	viewer  *core.Attachment
	session *core.Session // the viewer's
	reader  *core.Reader  // the viewer's
	events  []core.Event  // read, and not looked at
	dead    bool          // mine has died
}

// view has two processes open a session.
func view(t *testing.T, run runFunc) (v *viewed, end func()) {
	t.Helper()
	v = &viewed{store: coretest.NewMemory()}
	mine, theirs := coretest.Gateway(v.store, run, nil), coretest.Gateway(v.store, run, nil)
	if _, err := mine.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"}); err != nil {
		t.Fatal(err)
	}
	v.mine = held(t, mine, "mine")
	var err error
	if v.session, err = theirs.Open(t.Context(), core.Local, "s"); err != nil {
		t.Fatal(err)
	}
	v.viewer = v.session.Attach(core.Client{Name: "viewer"})
	v.reader = v.viewer.Read(v.viewer.Head())
	return v, func() {
		v.reader.Close()
		closeGateway(t, theirs)
		if err := mine.Close(t.Context()); err != nil && !v.dead {
			t.Error(err)
		}
	}
}

// until reads until an event comes that is wanted.
func (v *viewed) until(t *testing.T, want func(core.Event) bool) {
	t.Helper()
	for {
		for len(v.events) > 0 {
			ev := v.events[0]
			if v.events = v.events[1:]; want(ev) {
				return
			}
		}
		recs, err := v.reader.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range recs {
			v.events = append(v.events, r.Event)
		}
	}
}

func ended(ev core.Event) bool { _, ok := ev.(core.TurnEnded); return ok }

// A client that only reads sees what another process adds when it is there, also after
// everybody has rested, and its state is the other's.
func TestReadersSeeWhatAnotherProcessAdds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, end := view(t, echo)
		defer end()
		for _, text := range []string{"one", "two", "three"} {
			prompt(t, v.mine, say(text))
			v.until(t, func(ev core.Event) bool { d, ok := ev.(core.TextDelta); return ok && d.Text == text })
			v.until(t, ended)
			synctest.Wait()
			if got, want := v.viewer.State(), v.mine.State(); got.Messages != want.Messages || got.Turn != want.Turn || got.Title != want.Title {
				t.Errorf("after %s the viewer has %+v, the owner %+v", text, got, want)
			}
			<-time.After(2 * time.Minute)
		}
		if _, err := v.viewer.Prompt(t.Context(), say("four")); err != nil {
			t.Errorf("whoever only reads has claimed nothing, and may claim: %v", err)
		}
	})
}

// The turn of an owner that has died ends for a client that only reads. Another process can
// claim the session soon after, for its user has the program that died start again.
func TestReadersSeeADeadOwnersTurnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, end := view(t, func(ctx context.Context, _ *core.Turn) (core.StopReason, error) {
			<-ctx.Done()
			return core.StopEnd, nil
		})
		defer end()
		id := prompt(t, v.mine, say("hang"))
		v.until(t, func(ev core.Event) bool { e, ok := ev.(core.TurnStarted); return ok && e.Turn == id })
		if turn := v.viewer.State().Turn; turn != id {
			t.Errorf("turn %q runs, want %q", turn, id)
		}
		<-time.After(2 * time.Minute)
		if turn := v.viewer.State().Turn; turn != id {
			t.Errorf("turn %q runs after a while, want %q", turn, id)
		}
		v.dead = true
		if err := v.store.Close(); err != nil { // as when the owner dies
			t.Fatal(err)
		}
		v.until(t, func(ev core.Event) bool {
			e, ok := ev.(core.TurnEnded)
			if ok && (e.Turn != id || e.Stop != core.StopInterrupted) {
				t.Errorf("%+v", e)
			}
			return ok
		})
		<-time.After(10 * time.Second)
		again := coretest.Gateway(v.store, echo, nil)
		defer closeGateway(t, again)
		prompt(t, held(t, again, "again"), say("once more"))
		v.until(t, func(ev core.Event) bool { d, ok := ev.(core.TextDelta); return ok && d.Text == "once more" })
	})
}

// A log is watched while a reader waits for another process, and not else.
func TestNothingIsWatchedForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, end := view(t, echo)
		defer end()
		watched := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if n := v.store.Watched(core.Local, "s"); n != want {
				t.Errorf("%s: %d watch, want %d", when, n, want)
			}
		}
		watched("nobody has waited", 0)
		go v.reader.Next(t.Context()) //nolint:errcheck // it waits until the end of the test
		watched("the viewer's reader waits", 1)
		prompt(t, v.mine, say("one"))
		synctest.Wait()
		own := v.mine.Read(v.mine.Head())
		got := make(chan error)
		go func() { _, err := own.Next(t.Context()); got <- err }()
		<-time.After(30 * time.Second)
		watched("the owner's reader waits for its own records", 1)
		<-time.After(2 * time.Minute)
		watched("the owner rests", 2)
		prompt(t, v.mine, say("two"))
		if err := <-got; err != nil {
			t.Error(err)
		}
		watched("the owner claims again", 1)
		v.reader.Close()
		watched("the viewer has left", 0)
		own.Close()
		<-time.After(2 * time.Minute)
		watched("nobody reads", 0)
	})
}

// A session whose owner lives stays its own, whatever its readers are told.
func TestAReaderTakesNothingFromALivingOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, end := view(t, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			for ctx.Err() == nil {
				if err := turn.Emit(ctx, core.Notice{Text: "more"}); err != nil {
					return core.StopError, err
				}
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
			return core.StopEnd, nil
		})
		defer end()
		id := prompt(t, v.mine, say("go"))
		for range 200 { // longer than the viewer needs to rest
			v.until(t, func(ev core.Event) bool { _, ok := ev.(core.Notice); return ok })
		}
		if turn := v.viewer.State().Turn; turn != id {
			t.Errorf("turn %q runs, want %q", turn, id)
		}
		if err := v.viewer.Rename(t.Context(), "mine now"); !errors.As(err, new(*core.OwnedError)) {
			t.Errorf("a command of the viewer: %v", err)
		}
		if err := v.mine.Cancel(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		v.until(t, ended)
	})
}

// An attachment works the same with an owner in another process: its commands are carried out
// there, and what comes of them is read here.
func TestAnOwnerElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, end := view(t, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			if turn.Prompt()[0].(core.Text).Text == "hang" {
				<-ctx.Done()
			}
			r, err := turn.Ask(ctx, core.Ask{Text: "well?"})
			if err != nil {
				return core.StopError, err
			}
			return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: r.Text})
		})
		defer end()
		there := v.mine.Attach(core.Client{Name: "editor", Questions: true})
		a := core.AttachElsewhere(v.session, there, core.Client{Name: "editor", Questions: true})
		defer a.Close()
		if _, err := a.Say(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
		v.until(t, func(ev core.Event) bool { d, ok := ev.(core.TextDelta); return ok && d.Text == "hello" })
		keep := a.Head()
		id := prompt(t, a, say("go"))
		v.until(t, func(ev core.Event) bool { _, ok := ev.(core.Asked); return ok })
		if st := a.State(); st.Turn != id || len(a.Pending()) != 1 {
			t.Fatalf("%+v", st)
		}
		if _, err := a.Say(t.Context(), "busy"); !errors.As(err, new(*core.BusyError)) {
			t.Errorf("a message while a turn runs: %v", err)
		}
		if err := a.Answer(t.Context(), a.Pending()[0].ID, core.Reply{Outcome: core.OutcomeAnswered, Text: "fine"}); err != nil {
			t.Fatal(err)
		}
		v.until(t, func(ev core.Event) bool { d, ok := ev.(core.TextDelta); return ok && d.Text == "fine" })
		v.until(t, ended)
		id = prompt(t, a, say("hang"))
		if err := a.Cancel(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		v.until(t, func(ev core.Event) bool {
			e, ok := ev.(core.TurnEnded)
			return ok && e.Turn == id && e.Stop == core.StopCanceled
		})
		if err := errors.Join(a.Truncate(t.Context(), keep), a.Rename(t.Context(), "renamed")); err != nil {
			t.Fatal(err)
		}
		v.until(t, func(ev core.Event) bool { e, ok := ev.(core.Truncated); return ok && e.By == "editor" })
		v.until(t, func(ev core.Event) bool { _, ok := ev.(core.TitleChanged); return ok })
		synctest.Wait()
		if st := a.State(); st.Title != "renamed" || st.Messages != 1 || len(a.Pending()) > 0 {
			t.Errorf("%+v", st)
		}
		observer := core.AttachElsewhere(v.session, there, core.Client{Role: core.Observe})
		defer observer.Close()
		if err := observer.Rename(t.Context(), "x"); !errors.Is(err, core.ErrObserver) {
			t.Errorf("an observer's command: %v", err)
		}
	})
}
