package pump

import (
	"context"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// A mux serves many readers in turn and can be poked.
func TestMux(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: "hello"})
		}
		g := coretest.Gateway(coretest.NewMemory(), answer, nil)
		defer func() {
			if err := g.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		m := newMux()
		turns := map[*core.Reader]core.TurnID{}
		for range 3 {
			s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attach(core.Client{Name: "tester"})
			before := a.Head()
			turn, err := a.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: "hello"}}})
			if err != nil {
				t.Fatal(err)
			}
			turns[a.Watch(before, m.push)] = turn
		}
		for ended := 0; ended < 3; {
			r, recs, err := m.next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range recs {
				if e, ok := rec.Event.(core.TurnEnded); ok && turns[r] == e.Turn {
					ended++
				}
			}
		}
		m.poke()
		for {
			r, _, err := m.next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r == nil {
				break
			}
		}
		for r := range turns {
			r.Close()
		}
	})
}
