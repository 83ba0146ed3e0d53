package jsonl

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// arrive imports the session s1 with that of a task, s2, each with a large value and cut output.
func arrive(s *Store) error {
	s.maxBody = 2000
	ctx := context.Background()
	a := s.Receive()
	err := func() error {
		for _, m := range []core.Meta{{ID: "s1"}, {ID: "s2", Parent: "s1"}} {
			m.Principal, m.Cwd, m.Created = core.Local, "/w", time.Unix(1, 0).UTC()
			if err := a.Session(ctx, m); err != nil {
				return err
			}
			for _, r := range coretest.Records(3, core.Opened{Meta: m}, core.Notice{Text: strings.Repeat("big ", 1000)}, core.Notice{Text: "end"}) {
				if err := a.Write(r); err != nil {
					return err
				}
			}
			if err := a.Spill("out.txt", strings.NewReader("of "+string(m.ID))); err != nil {
				return err
			}
		}
		return a.Commit(ctx)
	}()
	if err != nil { // after Commit it does nothing
		err = errors.Join(err, a.Abort())
	}
	return err
}

// remains lists the files of sessions.
func remains(t *testing.T, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(left(t, dir, nil), func(name string) bool { return strings.HasPrefix(name, "index.") })
}

func TestArrival(t *testing.T) {
	dir := inMemory(t)
	s := New(dir)
	if err := arrive(s); err != nil {
		t.Fatal(err)
	}
	checkArrived(t, dir)
	before := remains(t, dir)
	if err := arrive(New(dir)); !errors.Is(err, core.ErrExists) {
		t.Errorf("a second time: %v", err)
	}
	if after := remains(t, dir); !slices.Equal(before, after) {
		t.Errorf("files %v, were %v", after, before)
	}
	j, err := s.Open(t.Context(), core.Local, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if epoch, err := j.Claim(t.Context()); err != nil || epoch != 4 {
		t.Errorf("claimed under %d, %v", epoch, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// checkArrived checks that both sessions are whole.
func checkArrived(t *testing.T, dir string) {
	t.Helper()
	s := New(dir)
	for _, id := range []core.SessionID{"s1", "s2"} {
		j, err := s.Open(t.Context(), core.Local, id)
		if err != nil {
			t.Error(err)
			continue
		}
		if n := readAll(t, j); len(n) != 3 || n[2].Epoch != 3 {
			t.Errorf("%s has the records %v", id, n)
		}
		f, err := j.Spilled(core.SpillRef + "out.txt")
		if err != nil {
			t.Error(err)
			continue
		}
		text := make([]byte, 100)
		n, _ := f.Read(text)
		if got := string(text[:n]); got != "of "+string(id) {
			t.Errorf("cut output %q", got)
		}
		if err := errors.Join(f.Close(), j.Close()); err != nil {
			t.Error(err)
		}
	}
}

// An import of which any call of the file system fails, or that is killed at any call, leaves both
// sessions or none: no list of people ever has a part, and the next list removes it.
func TestArrivalFails(t *testing.T) {
	for _, how := range []fault{fails, failsLate, fallsShort, diesBefore, diesAfter, diesShort} {
		t.Run(string(how), func(t *testing.T) {
			for at, done := 1, false; !done && !t.Failed(); at++ {
				layer := newFaulty(at, how)
				done = arrivalGoesWrong(t, layer)
			}
		})
	}
}

func arrivalGoesWrong(t *testing.T, layer *faultyDisk) (done bool) {
	dir := inMemory(t)
	wrong := New(dir)
	wrong.disk.layer = layer
	err := arrive(wrong)
	done = layer.calls < layer.at
	if done && (err != nil || layer.calls < 50) {
		t.Fatalf("an import of %d calls: %v", layer.calls, err)
	}
	defer func() {
		if t.Failed() {
			t.Logf("%s: %v", layer.hit, err)
		}
	}()
	s := New(dir)
	whole := false
	for _, sum := range listAll(t, s) {
		whole = whole || sum.Parent == ""
	}
	switch {
	case err == nil && !whole:
		t.Fatal("there is nothing")
	case err != nil && whole && !layer.dead:
		t.Fatal("it is there in spite of the error")
	}
	if whole {
		checkArrived(t, dir)
		if err := s.changeIndex(t.Context(), func(root string) error { return s.sweep(t.Context(), root) }); err != nil {
			t.Fatal(err)
		}
		for _, name := range remains(t, dir) {
			if strings.Contains(name, ".arrival") || strings.Contains(name, ".gone") {
				t.Errorf("%s is left", name)
			}
		}
		return done
	}
	if names := remains(t, dir); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
	if list := listAll(t, s); len(list) > 0 {
		t.Errorf("listed: %v", list)
	}
	if err := arrive(New(dir)); err != nil {
		t.Errorf("again: %v", err)
	}
	checkArrived(t, dir)
	return done
}

// What does not belong into a log is refused, and leaves nothing.
func TestArrivalRefuses(t *testing.T) {
	m := core.Meta{ID: "s1", Principal: core.Local, Cwd: "/w", Created: time.Unix(1, 0).UTC()}
	opened := core.Record{Epoch: 2, Seq: 1, Event: core.Opened{Meta: m}}
	other := m
	other.ID = "s2"
	notice := func(epoch, seq uint64) core.Record {
		return core.Record{Epoch: epoch, Seq: seq, Event: core.Notice{Text: "x"}}
	}
	for name, c := range map[string]struct {
		records []core.Record
		spills  []string
		want    string
	}{
		"no session":             {nil, nil, "it has no records"},
		"another session":        {[]core.Record{{Epoch: 2, Seq: 1, Event: core.Opened{Meta: other}}}, nil, "that of another session"},
		"no beginning":           {[]core.Record{{Epoch: 2, Seq: 1, Event: core.Notice{Text: "x"}}}, nil, "damaged"},
		"a gap":                  {[]core.Record{opened, notice(2, 3)}, nil, "does not follow"},
		"twice":                  {[]core.Record{opened, notice(2, 1)}, nil, "number of an earlier record"},
		"an earlier epoch":       {[]core.Record{opened, notice(1, 2)}, nil, "earlier epoch"},
		"a path":                 {[]core.Record{opened}, []string{"../x"}, "no name"},
		"an absolute path":       {[]core.Record{opened}, []string{"/tmp/x"}, "no name"},
		"a folder":               {[]core.Record{opened}, []string{"a/b"}, "no name"},
		"two that differ little": {[]core.Record{opened}, []string{"a.txt", "A.txt"}, "two of this name"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := inMemory(t)
			s := New(dir)
			a := s.Receive()
			err := a.Session(t.Context(), m)
			for _, r := range c.records {
				if err == nil {
					err = a.Write(r)
				}
			}
			for _, name := range c.spills {
				if err == nil {
					err = a.Spill(name, strings.NewReader("x"))
				}
			}
			if err == nil {
				err = a.Commit(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err := a.Abort(); err != nil {
				t.Error(err)
			}
			if names := remains(t, dir); len(names) > 0 {
				t.Errorf("left: %v", names)
			}
		})
	}
}

// While an import is under way, others neither sweep it nor create the session.
func TestArrivalIsLocked(t *testing.T) {
	dir := inMemory(t)
	a := New(dir).Receive()
	m := core.Meta{ID: "s1", Principal: core.Local, Cwd: "/w", Created: time.Unix(1, 0).UTC()}
	if err := a.Session(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := a.Write(core.Record{Seq: 1, Event: core.Opened{Meta: m}}); err != nil {
		t.Fatal(err)
	}
	s := New(dir)
	if err := s.changeIndex(t.Context(), func(root string) error { return s.sweep(t.Context(), root) }); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if _, err := s.Create(ctx, m); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("created meanwhile: %v", err)
	}
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := listAll(t, s); len(list) != 1 {
		t.Errorf("listed: %v", list)
	}
}

// A session shows who uses it: its owner, or a process that watches it.
func TestUse(t *testing.T) {
	s, other := New(t.TempDir()), (*Store)(nil)
	j := logOf(t, s, "s1")
	other = New(s.dir)
	if _, err := other.Use(core.Local, "none"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("no session: %v", err)
	}
	long := time.Now().Add(-3 * time.Hour)
	for _, path := range []string{j.files.lock, j.files.log} {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if use, err := other.Use(core.Local, "s1"); err != nil || use.Owner != "" || use.Watched || !use.Changed.Equal(long.Truncate(0)) && use.Changed.Sub(long).Abs() > time.Second {
		t.Errorf("unused: %+v, %v", use, err)
	}
	if err := own(t, j); err != nil {
		t.Fatal(err)
	}
	if use, err := other.Use(core.Local, "s1"); err != nil || use.Owner == "" || use.Watched {
		t.Errorf("owned: %+v, %v", use, err)
	}
	if err := j.Release(); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	j.Watch(ctx, core.Pos{}, func() {})
	if use, err := other.Use(core.Local, "s1"); err != nil || use.Owner != "" || !use.Watched {
		t.Errorf("watched: %+v, %v", use, err)
	}
}

func TestSpillNames(t *testing.T) {
	s := New(t.TempDir())
	j := logOf(t, s, "s1")
	if names, err := s.SpillNames(core.Local, "s1"); err != nil || names != nil {
		t.Errorf("%v, %v", names, err)
	}
	for _, name := range []string{"b.txt", "a.txt"} {
		w, _, err := j.Spill(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(j.files.spill(), ".hidden"), nil)
	if err := os.Symlink("/etc/passwd", filepath.Join(j.files.spill(), "link")); err != nil {
		t.Fatal(err)
	}
	if names, err := s.SpillNames(core.Local, "s1"); err != nil || !slices.Equal(names, []string{"a.txt", "b.txt"}) {
		t.Errorf("%v, %v", names, err)
	}
}
