package core_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// torn is a store that cannot be read beyond a record, once it is torn.
type torn struct {
	core.Store
	after atomic.Uint64 // 0: all can be read
}

func (s *torn) Create(ctx context.Context, m core.Meta) (core.Journal, error) {
	j, err := s.Store.Create(ctx, m)
	return tornJournal{j, s}, err
}

type tornJournal struct {
	core.Journal
	s *torn
}

var errTorn = errors.New("a sector cannot be read")

func (j tornJournal) Read(ctx context.Context, from core.Pos) iter.Seq2[core.Record, error] {
	return func(yield func(core.Record, error) bool) {
		for r, err := range j.Journal.Read(ctx, from) {
			if after := j.s.after.Load(); after > 0 && r.Seq > after {
				yield(core.Record{}, errTorn)
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Of a long log the last 256 KiB are in memory; what stands before is read from the store.
func TestLogInMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		var read atomic.Int32
		store.Before = func(_ context.Context, op string, _ core.SessionID) error {
			if op == "read" {
				read.Add(1)
			}
			return nil
		}
		const piece = 32 << 10
		g := coretest.Gateway(store, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			for range 20 {
				if err := turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: strings.Repeat("x", piece)}); err != nil {
					return "", err
				}
			}
			return core.StopEnd, nil
		}, nil)
		defer closeGateway(t, g)
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(asking)
		defer a.Close()
		prompt(t, a, say("go"))
		synctest.Wait()
		head := a.Head()
		for pieces, stored := range map[uint64]bool{6: false, 10: true} {
			read.Store(0)
			r := a.Read(core.Pos{Epoch: head.Epoch, Seq: head.Seq - pieces})
			if _, err := r.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.Close()
			if (read.Load() > 0) != stored {
				t.Errorf("the store was read %d times for what is some %d KiB behind", read.Load(), pieces*piece>>10)
			}
		}
	})
}

// A reader gets all that stands in front of a fault in the store, and then the
// fault.
func TestReadBeforeAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			for range 20 { // beyond what memory holds
				if err := turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: strings.Repeat("x", 60<<10)}); err != nil {
					return "", err
				}
			}
			return core.StopEnd, nil
		}
		store := &torn{Store: coretest.NewMemory()}
		prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: run}}}, Policy: coretest.Always(core.Verdict{Effect: core.Allow})}
		g := core.New(core.Config{Store: store, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
		defer closeGateway(t, g)
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(asking)
		defer a.Close()
		prompt(t, a, say("go"))
		synctest.Wait()
		store.after.Store(6)
		r := a.Read(core.Pos{})
		defer r.Close()
		var last uint64
		for {
			recs, err := r.Next(t.Context())
			if err != nil {
				if !errors.Is(err, errTorn) || last != 6 {
					t.Errorf("%v behind record %d", err, last)
				}
				return
			}
			last = recs[len(recs)-1].Seq
		}
	})
}
