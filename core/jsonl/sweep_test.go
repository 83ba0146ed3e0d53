package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/datadir"
)

// overwritten damages a log without changing its length, which only a full reading
// shows.
func overwritten(t *testing.T, j *journal) {
	t.Helper()
	b := content(t, j.files.log)
	for i := range b {
		b[i] = 'x'
	}
	put(t, j.files.log, b)
}

// crashed makes the session of a dead owner: with an owner file, and with more in the
// log than in the index.
func crashed(t *testing.T, s *Store, id core.SessionID) (*journal, core.Summary) {
	t.Helper()
	j := logOf(t, s, id)
	events, sum := conversation(id, ended)
	if err := own(t, j, events...); err != nil {
		t.Fatal(err)
	}
	if err := j.Release(); err != nil {
		t.Fatal(err)
	}
	if err := writeFileOwner(j.files.owner, owner{PID: 1 << 30, Host: hostname(t)}); err != nil {
		t.Fatal(err)
	}
	return j, sum
}

// TestListAfterCrash: the next list uses the summaries that a list has derived from
// the logs of dead owners, in the same order and without reading a log.
func TestListAfterCrash(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	var want []core.Summary
	var journals []*journal
	for i := range 5 {
		j, sum := crashed(t, s, core.SessionID(fmt.Sprint("s", i)))
		want = slices.Insert(want, 0, sum)
		journals = append(journals, j)
	}
	wantIDs := ids(want)
	first := listAll(t, s)
	if got := ids(first); !slices.Equal(got, wantIDs) || first[1].Title != want[1].Title {
		t.Fatalf("the first list has %v with the title %q", got, first[1].Title)
	}
	for _, j := range journals {
		overwritten(t, j)
		if exists(j.files.owner) {
			t.Errorf("the owner file of %s is still there", j.meta.ID)
		}
	}
	before := len(content(t, indexPath(dir)))
	for range 2 {
		for i, sum := range listAll(t, New(dir)) {
			if sum.ID != want[i].ID || sum.Title != want[i].Title || sum.Messages != want[i].Messages {
				t.Errorf("the next list has %+v, want %+v", sum, want[i])
			}
		}
	}
	if after := len(content(t, indexPath(dir))); after != before {
		t.Errorf("the index went from %d to %d bytes", before, after)
	}
	if err := s.compact(t.Context()); err != nil { // derived summaries stay
		t.Fatal(err)
	}
	if got := listAll(t, s); !slices.Equal(ids(got), wantIDs) || got[2].Title != want[2].Title {
		t.Errorf("when the index was rewritten: %+v", got)
	}
}

// TestListsOfManyPages: a list that stops early also keeps the summaries that it has
// derived.
func TestListsOfManyPages(t *testing.T) {
	s := New(t.TempDir())
	old, _ := crashed(t, s, "old")
	newer, _ := crashed(t, s, "new")
	for range s.List(t.Context(), core.Local) {
		break
	}
	overwritten(t, newer)
	if got := listAll(t, s); len(got) != 2 || got[0].Title != "about new" || got[1].Title != "about old" {
		t.Errorf("listed %+v", got)
	}
	overwritten(t, old)
	if got := listAll(t, s); len(got) != 2 || got[0].Title != "about new" || got[1].Title != "about old" {
		t.Errorf("listed again: %+v", got)
	}
}

// TestDerivedSummaryIsOutdated: a session that changes while a list derives its summary is
// listed in its new state.
func TestDerivedSummaryIsOutdated(t *testing.T) {
	s := New(t.TempDir())
	j, sum := crashed(t, s, "s1")
	e, err := derive(t.Context(), j.files)
	if err != nil {
		t.Fatal(err)
	}
	if err := own(t, j, notices(1)...); err != nil {
		t.Fatal(err)
	}
	sum.Title = "newer"
	if err := errors.Join(j.Release(), s.Note(t.Context(), core.Local, sum)); err != nil {
		t.Fatal(err)
	}
	e.Keeps = true
	err = s.changeIndex(t.Context(), func(root string) error {
		_, err := s.appendEntries(t.Context(), root, false, e)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	overwritten(t, j)
	if got := listAll(t, s); len(got) != 1 || got[0].Title != "newer" {
		t.Errorf("listed %+v", got)
	}
}

// TestEmptySessionsAreNotRead: a session in which nothing has happened is listed from
// the index only.
func TestEmptySessionsAreNotRead(t *testing.T) {
	s := New(t.TempDir())
	for i := range 3 {
		log := logOf(t, s, core.SessionID(fmt.Sprint("s", i))).files.log
		lines := bytes.SplitAfter(content(t, log), []byte("\n"))
		opened, ok := unseal(bytes.TrimSuffix(lines[1], []byte("\n")))
		if !ok {
			t.Fatal("the log does not begin as this test expects")
		}
		lines[1] = seal(bytes.Replace(opened, []byte("/home/ada"), []byte("/home/bob"), 1), 0) // the same length, and sound
		put(t, log, bytes.Join(lines, nil))
	}
	for _, sum := range listAll(t, s) {
		if sum.Cwd != "/home/ada/app" || sum.Updated != time.Unix(1, 0).UTC() {
			t.Errorf("listed %+v", sum)
		}
	}
	if got := ids(listAll(t, s)); !slices.Equal(got, []core.SessionID{"s2", "s1", "s0"}) {
		t.Errorf("listed %v", got)
	}
}

// left lists the files of a data folder, with the sessions' names.
func left(t *testing.T, dir string, names map[string]core.SessionID) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && !strings.Contains(d.Name(), ".") {
			return err
		}
		key, kind, _ := strings.Cut(d.Name(), ".")
		if id := names[key]; id != "" {
			key = string(id)
		}
		files = append(files, key+"."+kind)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

// TestSweep: one list removes all remains of crashes, and no file that is in use or
// that another host may use.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	names := map[string]core.SessionID{}
	session := func(id core.SessionID) files {
		f := s.files(dir, core.Local, id)
		names[strings.TrimSuffix(filepath.Base(f.log), ".jsonl")] = id
		return f
	}
	for _, id := range []core.SessionID{"created", "deleted", "claimed", "crashed", "used", "elsewhere", "whole"} {
		logOf(t, s, id)
		session(id)
	}
	folder := func(path string) {
		if err := os.MkdirAll(filepath.Join(path, "deep"), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	f := session("created") // the creator died before the log existed
	if err := os.Rename(f.log, f.log+unfinished); err != nil {
		t.Fatal(err)
	}
	f = session("deleted") // the deleter died before the end
	if err := os.Rename(f.log, f.gone()); err != nil {
		t.Fatal(err)
	}
	folder(f.values())
	folder(f.spill())
	f = session("claimed")
	put(t, f.owner+unfinished, nil)
	f = session("never") // the creator died at once
	folder(f.dir)
	put(t, f.lock, nil)
	if err := writeFileOwner(session("crashed").owner, owner{PID: 1 << 30, Host: hostname(t)}); err != nil {
		t.Fatal(err)
	}
	f = session("used")
	held, err := datadir.TryLock(f.lock)
	if err != nil {
		t.Fatal(err)
	}
	put(t, f.owner+unfinished, nil)
	put(t, f.log+unfinished, nil)
	f = session("elsewhere")
	if err := writeFileOwner(f.owner, owner{PID: 1 << 30, Host: "another"}); err != nil {
		t.Fatal(err)
	}
	put(t, f.owner+unfinished, nil)
	f = session("whole")
	folder(f.values())
	folder(f.spill())
	put(t, indexPath(dir)+unfinished, nil)

	if got := ids(listAll(t, s)); len(got) != 5 {
		t.Errorf("listed %v", got)
	}
	want := []string{
		"claimed.jsonl", "claimed.lock", "crashed.jsonl", "crashed.lock", "elsewhere.jsonl", "elsewhere.lock", "elsewhere.owner", "elsewhere.owner.new",
		"index.jsonl", "index.lock", "used.jsonl", "used.jsonl.new", "used.lock", "used.owner.new", "whole.jsonl", "whole.lock", "whole.spill", "whole.values",
	}
	got := left(t, dir, names)
	// logOf has claimed none of them: a session's lock file exists from its creation.
	if !slices.Equal(got, want) {
		t.Errorf("left are\n%v\nwant\n%v", got, want)
	}
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
}

// TestInterruptedDelete: a deletion that a crash has interrupted is completed, also by the
// next deletion, and the session can be created again.
func TestInterruptedDelete(t *testing.T) {
	for name, next := range map[string]func(s *Store) error{
		"deleted again": func(s *Store) error { return s.Delete(t.Context(), core.Local, "s1") },
		"made again": func(s *Store) error {
			j, err := s.Create(t.Context(), core.Meta{ID: "s1", Principal: core.Local, Cwd: "/x"})
			if err != nil {
				return err
			}
			if f := j.(*journal).files; exists(f.gone()) || exists(f.values()) {
				t.Error("files of the deleted session are there")
			}
			return errors.Join(j.Close(), s.Delete(t.Context(), core.Local, "s1"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := New(dir)
			f := logOf(t, s, "s1").files
			if err := errors.Join(os.Rename(f.log, f.gone()), os.MkdirAll(filepath.Join(f.values(), "deep"), 0o700)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Open(t.Context(), core.Local, "s1"); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("Open of a session that is being deleted: %v", err)
			}
			if err := next(s); err != nil {
				t.Fatal(err)
			}
			if got := left(t, dir, nil); !slices.Equal(got, []string{"index.jsonl", "index.lock"}) {
				t.Errorf("left are %v", got)
			}
		})
	}
}

// TestSweepMeetsOwners: while two processes sweep repeatedly, others create, claim,
// write and delete sessions without any failure.
func TestSweepMeetsOwners(t *testing.T) {
	dir := inMemory(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	logOf(t, New(dir), "first")
	var sweepers, owners sync.WaitGroup
	for range 2 {
		s := New(dir)
		sweepers.Go(func() {
			for ctx.Err() == nil {
				if err := s.changeIndex(ctx, func(root string) error { return s.sweep(ctx, root) }); err != nil && ctx.Err() == nil {
					t.Errorf("sweep: %v", err)
				}
			}
		})
	}
	for i := range 4 {
		s := New(dir)
		owners.Go(func() {
			for n := range 15 {
				id := core.SessionID(fmt.Sprint("s", i, n%3))
				made, err := s.Create(ctx, core.Meta{ID: id, Principal: core.Local, Cwd: "/x", Created: time.Unix(1, 0)})
				if errors.Is(err, core.ErrExists) {
					made, err = s.Open(ctx, core.Local, id)
				}
				if err != nil {
					t.Errorf("Create or Open: %v", err)
					continue
				}
				j := made.(*journal)
				if err := own(t, j, notices(2)...); err != nil {
					t.Errorf("Claim or Write: %v", err)
				}
				if o := readOwner(j.files.owner); o.PID != os.Getpid() {
					t.Errorf("the owner is %v", o)
				}
				if err := j.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				if n%5 == 4 {
					if err := s.Delete(ctx, core.Local, id); err != nil {
						t.Errorf("Delete: %v", err)
					}
				}
			}
		})
	}
	owners.Wait()
	cancel()
	sweepers.Wait()
}
