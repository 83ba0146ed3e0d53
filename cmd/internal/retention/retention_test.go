package retention

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const day1 = 24 * time.Hour

// listed is a list of sessions, and who uses them.
type listed struct {
	sums []core.Summary
	uses map[core.SessionID]jsonl.Use
}

func (l listed) List(context.Context, core.Principal) iter.Seq2[core.Summary, error] {
	return func(yield func(core.Summary, error) bool) {
		for _, sum := range l.sums {
			if !yield(sum, nil) {
				return
			}
		}
	}
}

func (l listed) Use(_ core.Principal, id core.SessionID) (jsonl.Use, error) { return l.uses[id], nil }

// used is a session that was used some days ago.
func used(id core.SessionID, days int, parent core.SessionID) core.Summary {
	return core.Summary{ID: id, Parent: parent, Updated: now.Add(-time.Duration(days) * day1)}
}

func archived(sum core.Summary) core.Summary {
	sum.Archived = true
	return sum
}

func TestDue(t *testing.T) {
	both := configs.Sessions{ArchiveAfter: 30 * day1, DeleteAfter: 90 * day1}
	recently := jsonl.Use{Changed: now.Add(-time.Minute)}
	for name, c := range map[string]struct {
		rules configs.Sessions
		listed
		want string
	}{
		"nothing is configured": {configs.Sessions{}, listed{sums: []core.Summary{used("a", 900, "")}}, ""},
		"by age":                {both, listed{sums: []core.Summary{used("a", 29, ""), used("b", 30, ""), used("c", 89, ""), used("d", 90, ""), used("e", 900, "")}}, "delete e, delete d, archive c, archive b"},
		"archived already":      {both, listed{sums: []core.Summary{archived(used("a", 31, "")), archived(used("b", 91, ""))}}, "delete b"},
		"only archived":         {configs.Sessions{ArchiveAfter: day1}, listed{sums: []core.Summary{used("a", 900, "")}}, "archive a"},
		"only deleted":          {configs.Sessions{DeleteAfter: 90 * day1}, listed{sums: []core.Summary{used("a", 31, ""), used("b", 91, "")}}, "delete b"},
		"a used task":           {both, listed{sums: []core.Summary{used("a", 91, ""), used("b", 1, "a")}}, ""},
		"a used task's task":    {both, listed{sums: []core.Summary{used("a", 91, ""), used("b", 91, "a"), used("c", 1, "b")}}, ""},
		"tasks go along":        {both, listed{sums: []core.Summary{used("c", 95, "b"), used("a", 91, ""), used("b", 99, "a")}}, "delete a[b c]"},
		"a task alone":          {both, listed{sums: []core.Summary{used("b", 91, "gone"), used("c", 31, "gone")}}, "delete b"},
		"a circle":              {both, listed{sums: []core.Summary{used("a", 91, "b"), used("b", 91, "a"), used("c", 91, "c"), used("d", 91, "")}}, "delete d"},
		"from an agent":         {both, listed{sums: []core.Summary{{ID: "a", Elsewhere: true}}}, ""},
		"owned":                 {both, listed{sums: []core.Summary{used("a", 91, "")}, uses: map[core.SessionID]jsonl.Use{"a": {Owner: "process 7"}}}, "delete a (it is in use by process 7)"},
		"watched":               {both, listed{sums: []core.Summary{used("a", 91, "")}, uses: map[core.SessionID]jsonl.Use{"a": {Watched: true}}}, "delete a (a program has it open)"},
		"changed":               {both, listed{sums: []core.Summary{used("a", 91, "")}, uses: map[core.SessionID]jsonl.Use{"a": recently}}, "delete a (it was changed within the last hour)"},
		"a task is owned":       {both, listed{sums: []core.Summary{used("a", 91, ""), used("b", 91, "a")}, uses: map[core.SessionID]jsonl.Use{"b": {Owner: "process 7"}}}, "delete a[b] (it is in use by process 7)"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := Due(t.Context(), c.listed, c.rules, now)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, old := range list {
				text := "archive " + string(old.ID)
				if old.Delete {
					text = "delete " + string(old.ID)
				}
				if len(old.Tasks) > 0 {
					text += fmt.Sprint(old.Tasks)
				}
				if old.Spared != "" {
					text += " (" + old.Spared + ")"
				}
				got = append(got, text)
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("%q, want %q", text, c.want)
			}
		})
	}
}

func TestNext(t *testing.T) {
	both := configs.Sessions{ArchiveAfter: 30 * day1, DeleteAfter: 90 * day1}
	for _, c := range []struct {
		rules configs.Sessions
		sums  []core.Summary
		want  string
	}{
		{both, nil, ""},
		{both, []core.Summary{used("a", 10, ""), used("b", 20, ""), archived(used("c", 50, ""))}, "b false 10"},
		{both, []core.Summary{used("a", 10, ""), archived(used("c", 85, ""))}, "c true 5"},
		{both, []core.Summary{used("a", 10, ""), archived(used("c", 95, ""))}, "a false 20"},
		{configs.Sessions{DeleteAfter: 90 * day1}, []core.Summary{used("a", 10, ""), used("b", 1, "a")}, "a true 89"},
		{configs.Sessions{ArchiveAfter: 30 * day1}, []core.Summary{archived(used("a", 10, ""))}, ""},
	} {
		old, at, ok, err := Next(t.Context(), listed{sums: c.sums}, c.rules, now)
		got := ""
		if ok {
			got = fmt.Sprint(old.ID, " ", old.Delete, " ", int(at.Sub(now)/day1))
		}
		if got != c.want || err != nil {
			t.Errorf("%v: %q, %v; want %q", c.sums, got, err, c.want)
		}
	}
}

// stored makes sessions in files, long unchanged.
func stored(t *testing.T, dir string, metas ...core.Meta) {
	t.Helper()
	s := jsonl.New(dir)
	for _, m := range metas {
		m.Principal, m.Cwd, m.Created = core.Local, "/w", now.Add(-100*day1)
		j, err := s.Create(t.Context(), m)
		if err == nil {
			err = j.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-50 * time.Hour)
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Chtimes(path, long, long)
		}
		return err
	})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// ids lists the sessions of a folder: those that are archived in brackets.
func ids(t *testing.T, s *jsonl.Store) string {
	t.Helper()
	var list []string
	for sum, err := range s.List(t.Context(), core.Local) {
		if err != nil {
			t.Fatal(err)
		}
		id := string(sum.ID)
		if sum.Archived {
			id = "(" + id + ")"
		}
		list = append(list, id)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Sessions in files are archived and deleted with their tasks, and not while they are used.
func TestApply(t *testing.T) {
	dir := t.TempDir()
	stored(t, dir, core.Meta{ID: "old"}, core.Meta{ID: "task", Parent: "old"}, core.Meta{ID: "inner", Parent: "task"}, core.Meta{ID: "owned"}, core.Meta{ID: "open"}, core.Meta{ID: "watched"})
	theirs, s := jsonl.New(dir), jsonl.New(dir)
	j, err := theirs.Open(t.Context(), core.Local, "owned")
	if err != nil {
		t.Fatal(err)
	}
	g := coretest.Gateway(s, nil, nil)
	clock := time.Now()
	rules := configs.Sessions{ArchiveAfter: day1}
	apply := func(want map[core.SessionID]string) {
		t.Helper()
		due, err := Due(t.Context(), s, rules, clock)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Claim(t.Context()); err != nil { // since it was listed
			t.Fatal(err)
		}
		if _, err := g.Open(t.Context(), core.Local, "open"); err != nil {
			t.Fatal(err)
		}
		w, err := theirs.Open(t.Context(), core.Local, "watched")
		if err != nil {
			t.Fatal(err)
		}
		watching, leave := context.WithCancel(t.Context())
		defer leave()
		w.Watch(watching, core.Pos{}, func() {})
		for _, old := range due {
			why, err := Apply(t.Context(), g, s, old, clock)
			if err != nil || !strings.Contains(why, want[old.ID]) || (why == "") != (want[old.ID] == "") {
				t.Errorf("%s: %q, %v; want %q", old.ID, why, err, want[old.ID])
			}
		}
		if err := j.Release(); err != nil {
			t.Fatal(err)
		}
	}
	apply(map[core.SessionID]string{"owned": "in use by process", "open": "this program", "watched": "a program has it open"})
	if got := ids(t, s); got != "(old) inner open owned task watched" {
		t.Errorf("after the first day: %s", got)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	g = coretest.Gateway(s, nil, nil)
	rules.DeleteAfter = 2 * day1
	clock = clock.Add(3 * time.Hour) // the log of what was archived has settled
	apply(map[core.SessionID]string{"owned": "in use by process", "open": "this program", "watched": "a program has it open"})
	if got := ids(t, s); got != "open owned watched" {
		t.Errorf("after the second day: %s", got)
	}
	if err := errors.Join(g.Close(t.Context()), s.Close(), theirs.Close()); err != nil {
		t.Fatal(err)
	}
}

// A program looks some minutes after its start, and all programs together once a day.
func TestDaily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, store := t.TempDir(), coretest.NewMemory()
		old := func(id core.SessionID) {
			t.Helper()
			j, err := store.Create(t.Context(), core.Meta{ID: id, Principal: core.Local, Cwd: "/w", Created: time.Now().Add(-100 * day1)})
			if err == nil {
				err = j.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		there := func(id core.SessionID) bool {
			_, err := store.Open(t.Context(), core.Local, id)
			return err == nil
		}
		level, said := observer.New(zap.WarnLevel)
		var rules atomic.Int64 // DeleteAfter
		ctx, stop := context.WithCancel(t.Context())
		ends := make(chan struct{})
		for range 2 { // programs
			go func() {
				defer func() { ends <- struct{}{} }()
				Daily{
					Dir: dir, Store: unused{store}, Gateway: coretest.Gateway(store, nil, nil), Log: zap.New(level),
					Rules: func() (configs.Sessions, error) {
						return configs.Sessions{DeleteAfter: time.Duration(rules.Load())}, nil
					},
				}.Run(ctx)
			}()
		}
		old("a")
		wait := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		wait(time.Hour)
		if _, err := os.Stat(filepath.Join(dir, dayFile)); !there("a") || err == nil {
			t.Error("something has happened without a configuration")
		}
		rules.Store(int64(90 * day1))
		wait(6 * time.Hour)
		if there("a") || said.Len() != 1 || said.All()[0].ContextMap()["session"] != "a" {
			t.Errorf("a is there: %v; the log has %v", there("a"), said.All())
		}
		old("b")
		wait(13 * time.Hour)
		if !there("b") {
			t.Error("it was looked twice on a day")
		}
		wait(12 * time.Hour)
		if there("b") {
			t.Error("it was not looked on the next day")
		}
		stop()
		<-ends
		<-ends
	})
}

// unused is a store whose sessions nobody uses.
type unused struct{ *coretest.Memory }

func (unused) Use(core.Principal, core.SessionID) (jsonl.Use, error) { return jsonl.Use{}, nil }
