package jsonl

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"dragoman/core"
)

// talksOf lists a part of the conversations, and returns what was looked at for it.
func talksOf(t *testing.T, s *Store, part core.Part, most int) (sums []core.Summary, l *listing) {
	t.Helper()
	l = &listing{store: s, principal: core.Local, now: true, part: &part}
	l.yield = func(sum core.Summary, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
		return len(sums) < most
	}
	if err := l.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sums, l
}

// TestConversationsInOrder compares pages of conversations with all sessions, sorted, while several processes change
// them: with and without a note, with owners that live and that are dead.
func TestConversationsInOrder(t *testing.T) {
	dir := t.TempDir()
	stores := []*Store{New(dir), New(dir), New(dir)}
	rnd := rand.New(rand.NewPCG(3, 9))
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	deleted := map[core.SessionID]bool{}
	for n := range 150 {
		s := stores[rnd.IntN(len(stores))]
		id := core.SessionID(fmt.Sprint("s", n))
		switch kind := rnd.IntN(6); kind {
		case 0: // never prompted
			logOf(t, s, id)
		case 1: // killed, and not noted
			crashed(t, s, id)
		default:
			events, sum := conversation(id, at.Add(time.Duration(rnd.IntN(50))*time.Second))
			logOf(t, s, id, events...)
			if kind == 2 {
				sum.Parent = "s0"
			}
			if err := s.Note(t.Context(), core.Local, sum); err != nil {
				t.Fatal(err)
			}
		}
		if old := core.SessionID(fmt.Sprint("s", rnd.IntN(n+1))); rnd.IntN(10) == 0 && !deleted[old] {
			deleted[old] = true
			if err := s.Delete(t.Context(), core.Local, old); err != nil {
				t.Fatal(err)
			}
		}
		s = stores[rnd.IntN(len(stores))]
		var got []core.SessionID
		var part core.Part
		for size := 1 + rnd.IntN(60); ; {
			page, _ := talksOf(t, s, part, size)
			for _, sum := range page {
				if sum.Messages > 0 {
					got = append(got, sum.ID)
				}
			}
			if len(page) < size {
				break
			}
			part.After = page[len(page)-1]
		}
		var want []core.SessionID
		all := listAll(t, New(dir))
		slices.SortFunc(all, core.Summary.Compare)
		for _, sum := range all {
			if sum.Messages > 0 && sum.Parent == "" {
				want = append(want, sum.ID)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("after session %d the pages have\n%v\nwant\n%v", n, got, want)
		}
	}
}

// TestConversationOfAnotherProcess: a session in which another process is working right now is listed by the time of
// its log, and one whose summary got lost by what its log says.
func TestConversationOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	s, other := New(dir), New(dir)
	for _, id := range []core.SessionID{"old", "new"} {
		events, sum := conversation(id, ended)
		logOf(t, other, id, events...)
		if err := other.Note(t.Context(), core.Local, sum); err != nil {
			t.Fatal(err)
		}
	}
	age(t, dir, time.Hour)
	if got, _ := talksOf(t, s, core.Part{}, 10); !slices.Equal(ids(got), []core.SessionID{"new", "old"}) {
		t.Fatalf("listed %v", ids(got))
	}
	opened, err := other.Open(t.Context(), core.Local, "old")
	if err != nil {
		t.Fatal(err)
	}
	j := opened.(*journal)
	if err := own(t, j, notices(1)...); err != nil { // it is not released
		t.Fatal(err)
	}
	if got, _ := talksOf(t, s, core.Part{}, 1); got[0].ID != "old" {
		t.Errorf("the first one is %s while the other is used", got[0].ID)
	}
	if err := j.Release(); err != nil {
		t.Fatal(err)
	}
	want, err := derive(t.Context(), j.files)
	if err != nil {
		t.Fatal(err)
	}
	for what, s := range map[string]*Store{"this": s, "a new": New(dir)} {
		got, _ := talksOf(t, s, core.Part{}, 10)
		i := slices.IndexFunc(got, func(sum core.Summary) bool { return sum.ID == "old" })
		if i < 0 || !got[i].Updated.Equal(want.Summary.Updated) || !slices.IsSortedFunc(got, core.Summary.Compare) {
			t.Errorf("%s process lists %+v afterwards", what, got)
		}
	}
}

// TestDeadOwnersAreLookedAtOnce: a session whose owner was killed after it was noted costs later lists nothing.
func TestDeadOwnersAreLookedAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	for n := range 30 {
		id := core.SessionID(fmt.Sprint("s", n))
		j, sum := crashed(t, s, id)
		if err := s.Note(t.Context(), core.Local, sum); err != nil {
			t.Fatal(err)
		}
		if !exists(j.files.owner) {
			t.Fatal("there is no owner")
		}
	}
	age(t, dir, time.Hour)
	for i, want := range []int{30, 0} {
		if got, l := talksOf(t, s, core.Part{}, 100); l.looked != want || len(got) != 30 {
			t.Errorf("list %d has %d sessions and looked at %d logs, want %d", i+1, len(got), l.looked, want)
		}
	}
}

// TestBudgetConversations bounds what a page of conversations takes: nothing that grows with the sessions, when nothing
// has happened, and looks at a single folder when one was used.
func TestBudgetConversations(t *testing.T) {
	const page = 50
	looks := func(l *listing) int { return l.looked + len(l.sure) + len(l.lookedUp) }
	for _, sessions := range []int{300, 2000} {
		dir := t.TempDir()
		s := New(dir)
		for n := range sessions {
			id := core.SessionID(fmt.Sprint("s", n))
			meta := core.Meta{ID: id, Principal: core.Local, Cwd: "/x", Roots: []string{"/x"}, Created: time.Unix(1, 0)}
			if _, err := s.Create(t.Context(), meta); err != nil {
				t.Fatal(err)
			}
			if n%2 == 0 { // the others are never prompted
				sum := core.Summary{ID: id, Title: "title", Cwd: "/x", Roots: meta.Roots, Updated: time.Unix(int64(n), 0), Messages: 2}
				if err := s.Note(t.Context(), core.Local, sum); err != nil {
					t.Fatal(err)
				}
			}
		}
		age(t, dir, time.Hour)
		if _, l := talksOf(t, s, core.Part{}, page); looks(l) != sessions {
			t.Errorf("the first list looks at %d logs of %d", looks(l), sessions)
		}
		last := core.Summary{ID: "s100", Updated: time.Unix(100, 0)}
		for what, part := range map[string]core.Part{
			"the first page": {}, "another page": {After: last}, "a folder": {Where: func(sum core.Summary) bool { return sum.Cwd == "/y" }},
		} {
			for which, s := range map[string]*Store{"this process": s, "a new process": New(dir)} {
				if _, l := talksOf(t, s, part, page); looks(l) > 0 {
					t.Errorf("%s, by %s: it looks at %d logs", what, which, looks(l))
				}
			}
		}
		n := testing.AllocsPerRun(5, func() { talksOf(t, s, core.Part{}, page) })
		if folders := 256.0; n > 4*folders+page { // the folders are looked at
			t.Errorf("a page of %d sessions takes %v allocations", sessions, n)
		}

		// A deleted session has the index rewritten: what is known about the logs stays.
		if err := s.Delete(t.Context(), core.Local, "s7"); err != nil {
			t.Fatal(err)
		}
		_, l := talksOf(t, s, core.Part{}, page)
		if most := cmp.Or(len(s.catalog.folders[keyOf(core.Local, "s7")[:2]].places), 1); looks(l) > most {
			t.Errorf("after the deletion of one of %d sessions a list looks at %d logs, its folder has %d", sessions, looks(l), most)
		}
	}
}

// TestSettledFolder: a folder that has just changed may change again without getting another time. File systems with
// whole seconds take longer for it.
func TestSettledFolder(t *testing.T) {
	second := time.Now().Truncate(time.Second)
	for at, want := range map[time.Time]bool{
		second.Add(-time.Second):     true,
		second.Add(-5 * time.Second): false,
		second.Add(-time.Second + 1): false,
		second.Add(time.Hour + 1):    true, // another clock
	} {
		if got := unsettled(at); got != want {
			t.Errorf("%v: unsettled is %v", at, got)
		}
	}
	dir := t.TempDir()
	s := New(dir)
	events, sum := conversation("s1", ended)
	j := logOf(t, s, "s1", events...)
	if err := s.Note(t.Context(), core.Local, sum); err != nil {
		t.Fatal(err)
	}
	later := second.Add(time.Hour)
	if err := os.Chtimes(j.files.dir, later, later); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, l := talksOf(t, s, core.Part{}, 10); l.looked != 1 {
			t.Errorf("a list looked at %d logs", l.looked)
		}
	}
}
