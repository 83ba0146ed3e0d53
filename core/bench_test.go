package core_test

import (
	"context"
	"fmt"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// BenchmarkDeltas is the cost of one delta from a turn to a reader that keeps up.
func BenchmarkDeltas(b *testing.B) {
	for _, readers := range []int{0, 1, 4} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			n := b.N
			g := coretest.Gateway(coretest.NewMemory(), func(ctx context.Context, t *core.Turn) (core.StopReason, error) {
				m := t.NewMessage()
				for range n {
					if err := t.Emit(ctx, core.TextDelta{Message: m, Text: "twenty characters ok"}); err != nil {
						return "", err
					}
				}
				return core.StopEnd, nil
			}, nil)
			s, err := g.Create(b.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
			if err != nil {
				b.Fatal(err)
			}
			a := s.Attach(core.Client{Name: "bench"})
			ended := make(chan error)
			for range max(readers, 1) {
				r := a.Read(core.Pos{})
				go func() { ended <- drain(b.Context(), r) }()
			}
			b.ReportAllocs()
			b.ResetTimer()
			if _, err := a.Prompt(b.Context(), say("go")); err != nil {
				b.Fatal(err)
			}
			for range max(readers, 1) {
				if err := <-ended; err != nil {
					b.Error(err)
				}
			}
			b.StopTimer()
			if err := g.Close(b.Context()); err != nil {
				b.Error(err)
			}
		})
	}
}

func drain(ctx context.Context, r *core.Reader) error {
	defer r.Close()
	for {
		recs, err := r.Next(ctx)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			if _, ok := rec.Event.(core.TurnEnded); ok {
				return nil
			}
		}
	}
}

// BenchmarkTurn is a whole short turn. Its cost must not grow with the session's
// history, nor with the number of idle sessions.
func BenchmarkTurn(b *testing.B) {
	for _, bench := range []struct{ history, idle int }{{0, 0}, {2000, 0}, {0, 2000}} {
		b.Run(fmt.Sprintf("history=%d/idle=%d", bench.history, bench.idle), func(b *testing.B) {
			g := coretest.Gateway(coretest.NewMemory(), echo, nil)
			for range bench.idle {
				s, err := g.Create(b.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
				if err != nil {
					b.Fatal(err)
				}
				s.Attach(core.Client{Name: "idle"})
			}
			s, err := g.Create(b.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
			if err != nil {
				b.Fatal(err)
			}
			a := s.Attach(core.Client{Name: "bench"})
			turn := func() {
				r := a.Read(a.Head())
				if _, err := a.Prompt(b.Context(), say("hello")); err != nil {
					b.Fatal(err)
				}
				if err := drain(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
			for range bench.history {
				turn()
			}
			b.ReportAllocs()
			for b.Loop() {
				turn()
			}
			b.StopTimer()
			if err := g.Close(b.Context()); err != nil {
				b.Error(err)
			}
		})
	}
}
