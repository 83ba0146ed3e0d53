package core_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// A truncation hides the same from a reader that walks through the store as from one
// that reads memory, also behind a run, which has an end of its own; and whoever waits
// for a reader to come to the head hears when nothing but hidden records was left.
func TestHiddenBehindRuns(t *testing.T) {
	for last := range 7 {
		t.Run(fmt.Sprint(last), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { hideBehind(t, last) })
		})
	}
}

func hideBehind(t *testing.T, last int) {
	const run = 64 << 10
	store := coretest.NewMemory()
	g := coretest.Gateway(store, echo, nil)
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{})
	r := a.Read(core.Pos{})
	follow(t, r, prompt(t, a, say(strings.Repeat("x", 7*run))))
	r.Close()
	var after core.Pos // the end of the run number last
	for rec, err := range records(t, a) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := rec.Event.(core.TextDelta); ok && rec.Off == 0 {
			if last--; last < 0 {
				after = core.Pos{Epoch: rec.Epoch, Seq: rec.Seq + 1}
				break
			}
		}
	}
	if err := a.Truncate(t.Context(), after); err != nil {
		t.Fatal(err)
	}
	closeGateway(t, g)

	g = coretest.Gateway(store, echo, nil)
	defer closeGateway(t, g)
	if s, err = g.Open(t.Context(), core.Local, "s"); err != nil {
		t.Fatal(err)
	}
	a = s.Attach(core.Client{})
	for _, rec := range watchTo(t, a) {
		if rec.Seq >= after.Seq && rec.Epoch <= after.Epoch {
			t.Errorf("%T is hidden", rec.Event)
		}
	}
}

// watchTo reads up to the head like a goroutine that waits on many readers: it takes what there is
// for as long as the reader comes on, and waits for a signal after that.
func watchTo(t *testing.T, a *core.Attachment) (all []core.Record) {
	t.Helper()
	signals := make(chan struct{}, 1)
	r := a.Watch(core.Pos{}, func(*core.Reader) {
		select {
		case signals <- struct{}{}:
		default:
		}
	})
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for r.Pos().Before(a.Head()) {
		was := r.Pos()
		recs, err := r.Take(ctx)
		if err != nil {
			t.Fatalf("at %v of %v: %v", r.Pos(), a.Head(), err)
		}
		all = append(all, recs...)
		if len(recs) > 0 || r.Pos() != was {
			continue
		}
		select {
		case <-signals:
		case <-ctx.Done():
			t.Fatalf("at %v of %v: no signal", r.Pos(), a.Head())
		}
	}
	return all
}

// records yields what can be read now.
func records(t *testing.T, a *core.Attachment) func(func(core.Record, error) bool) {
	return func(yield func(core.Record, error) bool) {
		r := a.Read(core.Pos{})
		defer r.Close()
		for r.Pos().Before(a.Head()) {
			recs, err := r.Next(t.Context())
			if err != nil {
				yield(core.Record{}, err)
				return
			}
			for _, rec := range recs {
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}

// Wherever a batch ends, a reader whose last records are hidden comes to the head.
func TestHiddenTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		long := 0
		gateway := func() *core.Gateway {
			return coretest.Gateway(store, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
				return "", turn.Emit(ctx, core.TextDelta{Message: "m", Text: strings.Repeat("x", long)})
			}, nil)
		}
		for missing := 0; missing < 1500; missing += 50 {
			g := gateway()
			id := core.SessionID(fmt.Sprint("s", missing))
			s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: id, Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attach(core.Client{})
			r := a.Read(core.Pos{})
			long = 256<<10 - missing
			follow(t, r, prompt(t, a, say("one")))
			after := a.Head()
			long = 300 << 10
			follow(t, r, prompt(t, a, say("two")))
			r.Close()
			if err := a.Truncate(t.Context(), after); err != nil {
				t.Fatal(err)
			}
			closeGateway(t, g)

			g = gateway()
			if s, err = g.Open(t.Context(), core.Local, id); err != nil {
				t.Fatal(err)
			}
			watchTo(t, s.Attach(core.Client{}))
			closeGateway(t, g)
		}
	})
}

// A reader that wants to come to a position comes there, also when all that was
// left is hidden.
func TestUntilPassesWhatIsHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := open(t, echo, nil)
		defer closeGateway(t, g)
		prompt(t, a, say("one"))
		synctest.Wait()
		keep := a.Head()
		prompt(t, a, say("two"))
		synctest.Wait()
		if err := a.Truncate(t.Context(), keep); err != nil {
			t.Fatal(err)
		}
		r := a.Read(keep)
		defer r.Close()
		if recs, err := r.Until(t.Context(), a.Head()); err != nil || len(recs) > 0 {
			t.Errorf("%d records, %v", len(recs), err)
		}
	})
}
