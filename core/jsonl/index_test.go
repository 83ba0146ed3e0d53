package jsonl

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/core"
)

func listAll(t *testing.T, s *Store) (sums []core.Summary) {
	t.Helper()
	for sum, err := range s.List(t.Context(), core.Local) {
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		sums = append(sums, sum)
	}
	return sums
}

func ids(sums []core.Summary) (ids []core.SessionID) {
	for _, sum := range sums {
		ids = append(ids, sum.ID)
	}
	return ids
}

// conversation returns the events of a session with some turns, and its summary.
func conversation(id core.SessionID, at time.Time) ([]core.Event, core.Summary) {
	title := "about " + string(id)
	events := []core.Event{
		core.SettingsChanged{Settings: core.Settings{Agent: "main", Model: "offline/demo"}},
		core.TitleChanged{Title: title, Auto: true},
		core.TurnStarted{Turn: "t1", Message: "m1", Prompt: []core.Block{core.Text{Text: "one"}}},
		core.TextDelta{Message: "m2", Text: "two"},
		core.TurnEnded{Turn: "t1", Stop: core.StopEnd},
	}
	return events, core.Summary{
		ID: id, Title: title, Cwd: "/home/ada/app", Created: time.Unix(1, 0).UTC(), Updated: at, Model: "offline/demo", Agent: "main", Messages: 2,
	}
}

// ended is the time of a conversation's last event, by coretest.Records.
var ended = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC).Add(5 * time.Second)

// TestIndexLost removes and damages the index: it is rebuilt from the logs.
func TestIndexLost(t *testing.T) {
	s := New(t.TempDir())
	var want []core.Summary
	for _, id := range []core.SessionID{"s1", "s2", "s3"} {
		events, sum := conversation(id, ended)
		logOf(t, s, id, events...)
		if err := s.Note(t.Context(), core.Local, sum); err != nil {
			t.Fatal(err)
		}
		want = append([]core.Summary{sum}, want...)
	}
	index := indexPath(filepath.Dir(filepath.Dir(filepath.Dir(logOf(t, s, "gone").files.log))))
	if err := s.Delete(t.Context(), core.Local, "gone"); err != nil {
		t.Fatal(err)
	}
	whole := content(t, index)
	tests := []struct {
		name   string
		damage func() error
	}{
		{"whole", func() error { return nil }},
		{"missing", func() error { return os.Remove(index) }},
		{"empty", func() error { return os.WriteFile(index, nil, 0o600) }},
		{"garbage", func() error { return os.WriteFile(index, []byte("garbage"), 0o600) }},
		{"no header", func() error { return os.WriteFile(index, whole[bytes.IndexByte(whole, '\n')+1:], 0o600) }},
		{"a line in the middle", func() error {
			return os.WriteFile(index, bytes.Replace(whole, []byte("about s2"), []byte("About s2"), 1), 0o600)
		}},
		{"the last line", func() error {
			return os.WriteFile(index, bytes.Replace(whole, []byte("about s3"), []byte("About s3"), 1), 0o600)
		}},
		{"zeros at the end", func() error { return os.WriteFile(index, append(bytes.Clone(whole), make([]byte, 5000)...), 0o600) }},
		{"endless line", func() error {
			return os.WriteFile(index, append(bytes.Clone(whole), make([]byte, maxLine+5000)...), 0o600)
		}},
	}
	for _, tt := range tests {
		for _, first := range []string{"list", "note"} {
			t.Run(tt.name+", then "+first, func(t *testing.T) {
				put(t, index, whole)
				if err := tt.damage(); err != nil {
					t.Fatal(err)
				}
				if first == "note" {
					if err := s.Note(t.Context(), core.Local, want[0]); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					got := listAll(t, New(filepath.Dir(index)))
					slices.SortFunc(got, func(a, b core.Summary) int { return strings.Compare(string(b.ID), string(a.ID)) })
					if !reflect.DeepEqual(got, want) {
						t.Errorf("listed\n%+v\nwant\n%+v", got, want)
					}
				}
			})
		}
	}
}

// TestIndexTorn cuts the index at every byte of its last line: earlier entries are
// there, and a note continues after them.
func TestIndexTorn(t *testing.T) {
	s := New(t.TempDir())
	for _, id := range []core.SessionID{"s1", "s2"} {
		events, sum := conversation(id, ended)
		logOf(t, s, id, events...)
		if err := s.Note(t.Context(), core.Local, sum); err != nil {
			t.Fatal(err)
		}
	}
	root, err := s.find(false)
	if err != nil {
		t.Fatal(err)
	}
	whole := content(t, indexPath(root))
	for cut := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1; cut < len(whole); cut += 7 {
		put(t, indexPath(root), whole[:cut])
		if got := ids(listAll(t, s)); !slices.Equal(got, []core.SessionID{"s2", "s1"}) { // s2 was listed when it was created
			t.Fatalf("cut at %d: listed %v", cut, got)
		}
		put(t, indexPath(root), whole[:cut])
		if err := s.Note(t.Context(), core.Local, core.Summary{ID: "s1", Title: "new"}); err != nil {
			t.Fatal(err)
		}
		if got := listAll(t, s); len(got) != 2 || got[0].Title != "new" {
			t.Fatalf("cut at %d, then noted: listed %+v", cut, got)
		}
	}
}

// TestIndexStale: a process that died between writing and noting leaves an outdated
// summary; the log replaces it.
func TestIndexStale(t *testing.T) {
	s := New(t.TempDir())
	j := logOf(t, s, "s1")
	events, want := conversation("s1", ended)
	if err := own(t, j, events...); err != nil {
		t.Fatal(err)
	}
	if got := listAll(t, s); len(got) != 1 || got[0].Title != "" {
		t.Errorf("while its owner lives: %+v", got)
	}
	if err := writeFileOwner(j.files.owner, owner{PID: 1 << 30, Host: hostname(t)}); err != nil { // dead
		t.Fatal(err)
	}
	root, err := s.find(false)
	if err != nil {
		t.Fatal(err)
	}
	before := len(content(t, indexPath(root)))
	var sizes []int
	for range 3 {
		if got := listAll(t, s); !reflect.DeepEqual(got, []core.Summary{want}) {
			t.Errorf("listed %+v, want %+v", got, want)
		}
		sizes = append(sizes, len(content(t, indexPath(root))))
	}
	if sizes[0] <= before || sizes[2] != sizes[0] {
		t.Errorf("the index had %d bytes, then %v: what is derived must be kept, once", before, sizes)
	}
}

func writeFileOwner(path string, o owner) error {
	return os.WriteFile(path, fmt.Appendf(nil, `{"pid":%d,"epoch":1,"host":%q}`, o.PID, o.Host), 0o600)
}

func hostname(t *testing.T) string {
	t.Helper()
	h, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	return h
}

// TestDerivedFollowsTruncation: hidden records do not count.
func TestDerivedFollowsTruncation(t *testing.T) {
	s := New(t.TempDir())
	events, want := conversation("s1", ended)
	after := core.Pos{Seq: 7} // after the text: Opened, Claimed, then five
	events = append(events, core.TurnStarted{Turn: "t2", Message: "m3", Prompt: []core.Block{core.Text{Text: "oops"}}},
		core.TitleChanged{Title: "oops"}, core.TurnEnded{Turn: "t2", Stop: core.StopEnd}, core.Truncated{After: after})
	events[4] = core.Notice{Text: "in place of the end"}
	j := logOf(t, s, "s1", events...)
	e, err := derive(t.Context(), j.files)
	want.Updated = ended.Add(-2 * time.Second)
	if err != nil || !reflect.DeepEqual(e.Summary, want) {
		t.Errorf("%v: %+v, want %+v", err, e.Summary, want)
	}
}

// TestIndexStaysSmall: notes do not make the index grow for ever, and deleted sessions
// are removed from it at once.
func TestIndexStaysSmall(t *testing.T) {
	s := New(t.TempDir())
	for i := range 20 {
		logOf(t, s, core.SessionID(fmt.Sprint("s", i)))
	}
	root, err := s.find(false)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	var last core.SessionID
	for range 1500 {
		last = core.SessionID(fmt.Sprint("s", rnd.IntN(20)))
		if err := s.Note(t.Context(), core.Local, core.Summary{ID: last, Title: strings.Repeat("secret ", 100)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(content(t, indexPath(root))); n > indexSlack+100_000 {
		t.Errorf("the index of 20 sessions has %d bytes", n)
	}
	if got := ids(listAll(t, s)); len(got) != 20 || got[0] != last {
		t.Errorf("listed %v, want 20 with %s first", got, last)
	}
	for i := range 20 {
		if err := s.Delete(t.Context(), core.Local, core.SessionID(fmt.Sprint("s", i))); err != nil {
			t.Fatal(err)
		}
	}
	if b := content(t, indexPath(root)); bytes.Contains(b, []byte("secret")) {
		t.Error("titles of deleted sessions are still there")
	}
}

// TestNotesMeet: notes of several processes are all kept while the index is rewritten
// and rebuilt.
func TestNotesMeet(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	for i := range 8 {
		logOf(t, s, core.SessionID(fmt.Sprint("s", i)))
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := New(dir)
			for n := range 30 {
				id := core.SessionID(fmt.Sprint("s", i))
				if err := s.Note(t.Context(), core.Local, core.Summary{ID: id, Title: fmt.Sprint(n)}); err != nil {
					t.Errorf("Note: %v", err)
				}
				if i == 0 {
					if err := s.compact(t.Context()); err != nil {
						t.Errorf("compact: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	got := listAll(t, s)
	for _, sum := range got {
		if sum.Title != "29" {
			t.Errorf("%s has the title %q", sum.ID, sum.Title)
		}
	}
	if len(got) != 8 {
		t.Errorf("listed %d sessions, want 8", len(got))
	}
}

// TestBackwards compares reading from the end with splitting.
func TestBackwards(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		var b []byte
		for range rnd.IntN(6) {
			b = append(b, strings.Repeat("x", rnd.IntN(1+rnd.IntN(100_000)))...)
			b = append(b, "\n\n"[:rnd.IntN(3)]...)
		}
		var want []string
		for line := range bytes.Lines(b) {
			want = append([]string{string(line)}, want...)
		}
		var got []string
		for line, err := range backwards(bytes.NewReader(b), int64(len(b))) {
			if err != nil {
				t.Fatal(err)
			}
			text := string(line.text)
			if line.whole {
				text += "\n"
			}
			if string(b[line.at:line.at+int64(len(text))]) != text {
				t.Fatalf("a line is not at %d", line.at)
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
	}
}
