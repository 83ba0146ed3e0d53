package core_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// laterStore lists conversations as if they had been used later than they were, as a store may.
type laterStore struct {
	core.Store
	at map[core.SessionID]time.Time
}

func (s laterStore) ListNow(ctx context.Context, p core.Principal) iter.Seq2[core.Summary, error] {
	return s.List(ctx, p)
}

func (s laterStore) Conversations(ctx context.Context, p core.Principal, part core.Part) iter.Seq2[core.Summary, error] {
	return part.Of(func(yield func(core.Summary, error) bool) {
		for sum, err := range s.List(ctx, p) {
			if at, ok := s.at[sum.ID]; ok {
				sum.Updated = at
			}
			if !yield(sum, err) {
				return
			}
		}
	})
}

// TestConversationsInTheirPlaces: sessions that are open are listed by what they say themselves, in their order, and
// those without a message are not.
func TestConversationsInTheirPlaces(t *testing.T) {
	s := laterStore{coretest.NewMemory(), map[core.SessionID]time.Time{}}
	g := coretest.Gateway(s, func(context.Context, *core.Turn) (core.StopReason, error) { return core.StopEnd, nil }, nil)
	defer g.Close(t.Context()) //nolint:errcheck // the test is over
	far := time.Now().Add(time.Hour)
	for i, id := range []core.SessionID{"empty", "one", "two", "three"} {
		sess, err := g.Create(t.Context(), core.Meta{ID: id, Principal: core.Local, Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		s.at[id] = far.Add(-time.Duration(i) * time.Minute) // the other way round
		if id == "empty" {
			continue
		}
		a := sess.Attach(core.Client{Name: "tester"})
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
	}
	list := func(part core.Part) (ids []core.SessionID, last core.Summary) {
		for sum, err := range g.Conversations(t.Context(), core.Local, part) {
			if err != nil {
				t.Fatal(err)
			}
			ids, last = append(ids, sum.ID), sum
		}
		return ids, last
	}
	got, last := list(core.Part{})
	if want := []core.SessionID{"three", "two", "one"}; !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	if got, _ := list(core.Part{Where: func(sum core.Summary) bool { return sum.Cwd != "/w" }}); len(got) > 0 {
		t.Errorf("listed %v of another folder", got)
	}
	s.at = nil
	if got, _ := list(core.Part{After: last}); len(got) > 0 {
		t.Errorf("listed %v after the last", got)
	}
}
