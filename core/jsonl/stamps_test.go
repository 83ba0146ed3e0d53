package jsonl

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dragoman/core"
)

// agedFolder returns a data folder with sessions in which nothing has happened for an hour.
func agedFolder(t *testing.T, sessions int) string {
	t.Helper()
	dir := t.TempDir()
	s := New(dir)
	defer s.Close() //nolint:errcheck // nothing is left to write
	for i := range sessions {
		meta := core.Meta{ID: core.SessionID(fmt.Sprint("s", i)), Principal: core.Local, Cwd: "/x", Roots: []string{"/x"}, Created: time.Unix(1, 0)}
		if _, err := s.Create(t.Context(), meta); err != nil {
			t.Fatal(err)
		}
	}
	age(t, dir, time.Hour)
	return dir
}

// age has the folders of sessions look as if nothing had happened in them for some time.
func age(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(dir, "sessions", "??"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if err := os.Chtimes(f, time.Time{}, time.Now().Add(-by)); err != nil {
			t.Fatal(err)
		}
	}
}

// lookedAt returns how many sessions a list would look at.
func lookedAt(t *testing.T, s *Store) (n int) {
	t.Helper()
	l := listing{store: s, principal: core.Local}
	root, err := s.find(false)
	if err != nil {
		t.Fatal(err)
	}
	places, err := l.places(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		if !p.trusted {
			n++
		}
	}
	return n
}

// TestListLooksOnce: a log is looked at once, by one process, as long as nothing happens in its folder. What happens
// is seen by each.
func TestListLooksOnce(t *testing.T) {
	const sessions = 300
	dir := agedFolder(t, sessions)
	first := New(dir)
	if n := lookedAt(t, first); n != sessions {
		t.Fatalf("the first list looks at %d logs, want %d", n, sessions)
	}
	listAll(t, first)
	second := New(dir)
	for what, s := range map[string]*Store{"the same process": first, "another process": second} {
		if n := lookedAt(t, s); n != 0 {
			t.Errorf("the next list of %s looks at %d logs", what, n)
		}
	}

	opened, err := New(dir).Open(t.Context(), core.Local, "s7")
	if err != nil {
		t.Fatal(err)
	}
	j := opened.(*journal)
	events, want := conversation("s7", ended)
	if err := own(t, j, events...); err != nil {
		t.Fatal(err)
	}
	if err := writeFileOwner(j.files.owner, owner{PID: 1 << 30, Host: hostname(t)}); err != nil { // it was killed
		t.Fatal(err)
	}
	for what, s := range map[string]*Store{"the first": first, "the second": second, "a third": New(dir)} {
		for _, sum := range listAll(t, s) {
			if sum.ID == "s7" && sum.Title != want.Title {
				t.Errorf("%s process lists %+v after the death of the owner", what, sum)
			}
		}
	}

	age(t, dir, 2*time.Hour) // a clock that was set back: the time of a folder says nothing, but it has another one than before
	if n := lookedAt(t, New(dir)); n == 0 {
		t.Error("a folder with another time is trusted")
	}
}

// TestStampsOfAnotherIndex: what is known about an index does not count for one that was cut or rewritten since.
func TestStampsOfAnotherIndex(t *testing.T) {
	const sessions = 300
	for name, change := range map[string]func(s *Store, index []byte) error{
		"cut by a loss of power": func(s *Store, index []byte) error {
			return os.WriteFile(indexPath(s.dir), index[:len(index)-100], 0o600)
		},
		"rewritten": func(s *Store, _ []byte) error {
			return os.Remove(indexPath(s.dir))
		},
		"damaged stamps": func(s *Store, _ []byte) error {
			return os.WriteFile(stampsPath(s.dir), []byte("garbage\n"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := agedFolder(t, sessions)
			s := New(dir)
			listAll(t, s)
			if n := lookedAt(t, New(dir)); n != 0 {
				t.Fatalf("another process looks at %d logs", n)
			}
			if err := change(s, content(t, indexPath(dir))); err != nil {
				t.Fatal(err)
			}
			if got := len(listAll(t, New(dir))); got < sessions-1 {
				t.Errorf("listed %d sessions", got)
			}
			if err := os.Remove(stampsPath(dir)); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if n := lookedAt(t, New(dir)); n < sessions-1 {
				t.Errorf("without stamps another process looks at %d logs", n)
			}
		})
	}
}

// TestBudgetList bounds what a list of a process that has listed before takes for each session.
func TestBudgetList(t *testing.T) {
	const sessions = 1000
	s := New(agedFolder(t, sessions))
	listAll(t, s)
	n := testing.AllocsPerRun(5, func() {
		for range s.List(t.Context(), core.Local) {
			continue
		}
	})
	if folders := 256.0; n > 4*folders+sessions/10 { // the folders are looked at
		t.Errorf("a list of %d sessions takes %v allocations", sessions, n)
	}
}
