package jsonl_test

import (
	"context"
	"slices"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

// Sessions are listed by last use, by every process, each time: their closing records,
// after the last note, must not move them.
func TestListKeepsItsOrder(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []core.SessionID{"one", "two", "three"} {
		g := coretest.Gateway(jsonl.New(dir), func(context.Context, *core.Turn) (core.StopReason, error) { return core.StopEnd, nil }, nil)
		s, err := g.Create(t.Context(), core.Meta{ID: id, Principal: core.Local, Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(core.Client{Name: "tester"})
		r := a.Read(core.Pos{})
		if _, err := a.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: string(id)}}}); err != nil {
			t.Fatal(err)
		}
		for ended := false; !ended; {
			recs, err := r.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, ended = recs[len(recs)-1].Event.(core.TurnEnded)
		}
		r.Close()
		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := []core.SessionID{"three", "two", "one"}
	for n := range 3 {
		var got []core.SessionID
		for sum, err := range jsonl.New(dir).List(t.Context(), core.Local) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, sum.ID); sum.Title != string(sum.ID) {
				t.Errorf("session %s has the title %q", sum.ID, sum.Title)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("process %d lists %v, want %v", n, got, want)
		}
	}
}
