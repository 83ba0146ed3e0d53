package jsonl

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"dragoman/core"
)

// TestIndexRebuiltAside: a list that does not wait says that it lacks sessions while a lost index is rebuilt. What is
// made meanwhile is listed afterwards, and a list that waits has all.
func TestIndexRebuiltAside(t *testing.T) {
	dir := t.TempDir()
	first := New(dir)
	create := func(s *Store, id core.SessionID) {
		t.Helper()
		if _, err := s.Create(t.Context(), core.Meta{ID: id, Principal: core.Local, Cwd: "/x", Created: time.Unix(1, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	var want []core.SessionID
	for i := range fewLogs + 1 {
		id := core.SessionID(fmt.Sprintf("s%04d", i))
		create(first, id)
		want = append(want, id)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	now := func(s *Store) (got []core.SessionID, incomplete bool) {
		t.Helper()
		for sum, err := range s.ListNow(t.Context(), core.Local) {
			switch {
			case errors.Is(err, core.ErrIncomplete):
				if incomplete = true; len(got) > 0 {
					t.Error("a list says only after some sessions that it is incomplete")
				}
			case err != nil:
				t.Fatal(err)
			default:
				got = append(got, sum.ID)
			}
		}
		slices.Sort(got)
		return got, incomplete
	}
	for damage, do := range map[string]func(path string) error{
		"removed": os.Remove,
		"damaged": func(path string) error { return os.WriteFile(path, []byte("garbage\n"), 0o600) },
	} {
		s := New(dir)
		if err := do(indexPath(dir)); err != nil {
			t.Fatal(err)
		}
		if got, incomplete := now(s); !incomplete || len(got) > len(want) {
			t.Errorf("%s: %d of %d sessions are listed at once; incomplete: %v", damage, len(got), len(want), incomplete)
		}
		id := core.SessionID("made meanwhile, " + damage)
		create(s, id)
		want = append(want, id)
		slices.Sort(want)
		got := ids(listAll(t, s))
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: a list that waits has %d sessions, want %d", damage, len(got), len(want))
		}
		if got, incomplete := now(s); incomplete || !slices.Equal(got, want) {
			t.Errorf("%s: afterwards %d of %d sessions are listed; incomplete: %v", damage, len(got), len(want), incomplete)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}

	s := New(dir)
	if err := os.Remove(indexPath(dir)); err != nil {
		t.Fatal(err)
	}
	now(s)
	if err := s.Close(); err != nil { // it ends the rebuilding
		t.Fatal(err)
	}
	if got := ids(listAll(t, New(dir))); len(got) != len(want) {
		t.Errorf("another process lists %d sessions, want %d", len(got), len(want))
	}
}
