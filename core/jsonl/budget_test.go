package jsonl

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/core"
)

// countingDisk counts the calls that change the file system, by their kind.
type countingDisk map[op]int

var counting sync.Mutex // guards all countingDisks

func (d countingDisk) call(c *call, do func() error) error {
	counting.Lock()
	d[c.op]++
	counting.Unlock()
	return do()
}

func (d countingDisk) String() string {
	var all []string
	for _, o := range slices.Sorted(maps.Keys(d)) {
		all = append(all, fmt.Sprintf("%s %d", o, d[o]))
	}
	return strings.Join(all, ", ")
}

// TestBudgetSession counts the calls of the file system that a session needs: none syncs before the first prompt,
// and a note neither opens nor reads anything.
func TestBudgetSession(t *testing.T) {
	if !keepsIndex {
		t.Skip("the index is opened for each change here")
	}
	dir := t.TempDir()
	counted := countingDisk{}
	s := New(dir)
	defer s.Close() //nolint:errcheck // nothing is left to write
	s.disk.layer = counted
	create := func(id core.SessionID) core.Journal {
		t.Helper()
		j, err := s.Create(t.Context(), core.Meta{ID: id, Principal: core.Local, Cwd: "/x", Created: time.Unix(1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	create("first")
	clear(counted)
	j := create("second")
	check := func(what, want string) {
		t.Helper()
		delete(counted, opMakeDir) // the session's folder may be there
		if got := counted.String(); got != want {
			t.Errorf("%s takes %s; want %s", what, got, want)
		}
		clear(counted)
	}
	check("Create", "close 1, lock 2, open 1, rename 1, unlock 2, write 2")
	for range j.Read(t.Context(), core.Pos{}) {
		continue
	}
	check("the first Read", "")

	note := func() {
		t.Helper()
		if err := s.Note(t.Context(), core.Local, core.Summary{ID: "second", Title: "noted"}); err != nil {
			t.Fatal(err)
		}
	}
	note()
	check("Note", "lock 1, unlock 1, write 1")
	other := New(dir)
	defer other.Close() //nolint:errcheck // as above
	if err := other.Note(t.Context(), core.Local, core.Summary{ID: "first", Title: "by another process"}); err != nil {
		t.Fatal(err)
	}
	note()
	check("Note after one of another process", "lock 1, read 1, unlock 1, write 1")

	epoch, err := j.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clear(counted)
	for i, want := range []string{
		"lock 1, sync 2, sync folder 2, unlock 1, write 1", // the log, its folder, the folder's name, the index
		"sync 1, write 1",
	} {
		r := core.Record{Epoch: epoch, Seq: uint64(i) + 2, Event: core.Notice{Text: "said"}}
		if err := j.Write(t.Context(), []core.Record{r}); err != nil {
			t.Fatal(err)
		}
		if err := j.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprint("Write and Sync ", i+1), want)
	}
}
