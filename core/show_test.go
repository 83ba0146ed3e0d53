package core_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// What a tool shows while it runs is told; what comes when its call has ended is not,
// however close the two are.
func TestShow(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			var late sync.WaitGroup
			shows := coretest.Tool{Is: core.Spec{Server: core.Native, Name: "touch", Title: "Touch"}, Runs: func(_ context.Context, inv core.Invocation) (core.Result, error) {
				inv.Show(core.Showing{Title: "half", Content: []core.Block{core.Text{Text: "50 %"}}})
				inv.Show(core.Showing{Child: "child", Meta: []byte(`{"n":1}`)})
				for range 4 {
					late.Go(func() {
						for range 10 {
							inv.Show(core.Showing{Title: "late"})
						}
					})
				}
				return core.Result{Blocks: say("ok").Blocks}, nil
			}}
			g, a := open(t, call, coretest.Always(core.Verdict{Effect: core.Allow}), shows)
			defer closeGateway(t, g)
			id := prompt(t, a, say("go"))
			r := a.Read(core.Pos{})
			defer r.Close()
			var calls []core.Call
			for over := false; !over; {
				records, err := r.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, rec := range records {
					if e, ok := rec.Event.(core.CallChanged); ok {
						calls = append(calls, e.Call)
					}
					e, ok := rec.Event.(core.TurnEnded)
					over = over || ok && e.Turn == id
				}
			}
			late.Wait()
			synctest.Wait()
			if more := effective(t, a, a.Head()); len(calls) < 5 || !isEnd(more[len(more)-1]) {
				t.Fatalf("%d changes; last %+v", len(calls), more[len(more)-1])
			}
			half, child, last := calls[3], calls[4], calls[len(calls)-1]
			if half.Title != "half" || half.State != core.Running || len(half.Content) != 1 || child.Child != "child" || child.Title != "half" || len(child.Content) != 1 {
				t.Errorf("%+v\n%+v", half, child)
			}
			if last.State != core.Succeeded || last.Child != "child" || string(last.Meta) != `{"n":1}` || !slices.Equal(last.Content, say("ok").Blocks) {
				t.Errorf("%+v", last)
			}
			for _, c := range calls[:len(calls)-1] {
				if c.State.Ended() {
					t.Errorf("something came behind the end: %+v", calls)
				}
			}
		})
	}
}

func isEnd(r core.Record) bool { _, ok := r.Event.(core.TurnEnded); return ok }
