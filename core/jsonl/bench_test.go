package jsonl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/jsonl"
)

// turns returns the records of an ordinary session: in each turn three answers,
// each with a call, its arguments and four states.
func turns(epoch uint64, n int) []core.Record {
	var recs []core.Record
	now := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	add := func(ev core.Event) {
		recs = append(recs, core.Record{Epoch: epoch, Seq: uint64(len(recs)) + 2, Time: now.Add(time.Duration(len(recs)) * time.Millisecond), Event: ev})
	}
	add(core.Claimed{Epoch: epoch, Node: "bench"})
	for turn := 0; len(recs) < n; turn++ {
		id := core.TurnID(fmt.Sprint("t", turn))
		add(core.TurnStarted{Turn: id, Message: core.MessageID(fmt.Sprint("m", turn)), Prompt: []core.Block{core.Text{Text: "please do this and that\nthank you"}}})
		for k := range 3 {
			add(core.TextDelta{Message: core.MessageID(fmt.Sprint("a", turn, "-", k)), Text: strings.Repeat("some words of an answer\n", 8)})
			c := core.Call{ID: core.CallID(fmt.Sprint("c", turn, "-", k)), Turn: id, Server: core.Native, Tool: "read_file", Kind: core.KindRead, State: core.Proposed}
			add(core.CallChanged{Call: c})
			add(core.CallArgs{Call: c.ID, Text: `{"path":"/home/ada/app/x.go","from":1,"to":200}`})
			c.Args, c.Title = json.RawMessage(`{"path":"/home/ada/app/x.go","from":1,"to":200}`), "read core/session.go"
			c.Locations = []core.Location{{Path: "/home/ada/app/x.go", Line: 1}}
			add(core.CallChanged{Call: c})
			c.State, c.Start = core.Running, now
			add(core.CallChanged{Call: c})
			c.State, c.End, c.Content = core.Succeeded, now, []core.Block{core.Text{Text: strings.Repeat("package main\n", 20)}}
			add(core.CallChanged{Call: c})
		}
		add(core.UsageChanged{Turn: id, Last: core.Usage{In: 1, Out: 2}, Total: core.Usage{In: 3, Out: 4}})
		add(core.TurnEnded{Turn: id, Stop: core.StopEnd})
	}
	return recs[:n]
}

func claimed(tb testing.TB, s *jsonl.Store, id core.SessionID) (core.Journal, uint64) {
	tb.Helper()
	j, err := s.Create(tb.Context(), core.Meta{ID: id, Principal: core.Local, Cwd: "/home/ada/app", Created: time.Now()})
	if err != nil {
		tb.Fatal(err)
	}
	epoch, err := j.Claim(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return j, epoch
}

func filled(tb testing.TB, s *jsonl.Store, n int) core.Journal {
	tb.Helper()
	j, epoch := claimed(tb, s, "s1")
	for recs := turns(epoch, n); len(recs) > 0; {
		k := min(100, len(recs))
		if err := j.Write(tb.Context(), recs[:k]); err != nil {
			tb.Fatal(err)
		}
		recs = recs[k:]
	}
	return j
}

func newStore(tb testing.TB) *jsonl.Store {
	s := jsonl.New(tb.TempDir())
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// BenchmarkLoad reads a session of 100,000 records.
func BenchmarkLoad(b *testing.B) {
	j := filled(b, newStore(b), 100_000)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range j.Read(b.Context(), core.Pos{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 100_001 {
			b.Fatalf("read %d records", n)
		}
	}
}

// BenchmarkSkip reads the last of 100,000 records.
func BenchmarkSkip(b *testing.B) {
	j := filled(b, newStore(b), 100_000)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range j.Read(b.Context(), core.Pos{Seq: 100_000}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkClaim claims a session of 100,000 records.
func BenchmarkClaim(b *testing.B) {
	j := filled(b, newStore(b), 100_000)
	for b.Loop() {
		if err := j.Release(); err != nil {
			b.Fatal(err)
		}
		if _, err := j.Claim(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite appends one record at a time: written, not yet durable.
func BenchmarkWrite(b *testing.B) {
	j, epoch := claimed(b, newStore(b), "s1")
	seq := uint64(2)
	b.ReportAllocs()
	for b.Loop() {
		r := core.Record{Epoch: epoch, Seq: seq, Time: time.Now(), Event: core.TextDelta{Message: "m1", Text: "some words of an answer, as they come"}}
		seq++
		if err := j.Write(b.Context(), []core.Record{r}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDurable appends one record at a time and makes each durable, in eight
// sessions at once.
func BenchmarkDurable(b *testing.B) {
	s := newStore(b)
	journals := make(chan core.Journal, 64)
	for i := range cap(journals) {
		j, _ := claimed(b, s, core.SessionID(fmt.Sprint("s", i)))
		journals <- j
	}
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		j := <-journals
		for seq := uint64(2); pb.Next(); seq++ {
			r := core.Record{Epoch: 1, Seq: seq, Time: time.Now(), Event: core.Notice{Severity: core.Info, Text: "some words"}}
			if err := j.Write(context.Background(), []core.Record{r}); err != nil {
				b.Error(err)
				return
			}
			if err := j.Sync(context.Background()); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkCreate makes sessions. x-raw is the ratio of its shortest time to that of making a file under another
// name and renaming it.
func BenchmarkCreate(b *testing.B) {
	s, dir := newStore(b), b.TempDir()
	whole, raw := time.Hour, time.Hour
	n := 0
	create := func() {
		n++
		began := time.Now()
		if _, err := s.Create(b.Context(), core.Meta{ID: core.SessionID(fmt.Sprint("s", n)), Principal: core.Local, Cwd: "/home/ada/app", Created: time.Now()}); err != nil {
			b.Fatal(err)
		}
		whole = min(whole, time.Since(began))
	}
	for range 2000 { // all folders
		create()
	}
	whole = time.Hour
	b.ReportAllocs()
	for b.Loop() {
		create()
		began := time.Now()
		path := filepath.Join(dir, fmt.Sprint(n))
		if err := os.WriteFile(path+".new", make([]byte, 300), 0o600); err != nil {
			b.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			b.Fatal(err)
		}
		raw = min(raw, time.Since(began))
	}
	b.ReportMetric(float64(whole.Nanoseconds()), "min-ns/create")
	b.ReportMetric(float64(whole)/float64(raw), "x-raw")
}

// BenchmarkNote notes a summary. x-raw is the ratio of its shortest time to that of appending as much to an open
// file.
func BenchmarkNote(b *testing.B) {
	s := newStore(b)
	for i := range 1000 {
		if _, err := s.Create(b.Context(), core.Meta{ID: core.SessionID(fmt.Sprint("s", i)), Principal: core.Local, Cwd: "/home/ada/app", Created: time.Now()}); err != nil {
			b.Fatal(err)
		}
	}
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "raw"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // its content does not matter
	sum := core.Summary{ID: "s7", Title: "a title of some words", Cwd: "/home/ada/app", Created: time.Now(), Updated: time.Now(), Model: "some/model", Agent: "main"}
	line := make([]byte, 250)
	whole, raw := time.Hour, time.Hour
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		if err := s.Note(b.Context(), core.Local, sum); err != nil {
			b.Fatal(err)
		}
		noted := time.Now()
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		whole, raw = min(whole, noted.Sub(began)), min(raw, time.Since(noted))
	}
	b.ReportMetric(float64(whole.Nanoseconds()), "min-ns/note")
	b.ReportMetric(float64(whole)/float64(raw), "x-raw")
}

// BenchmarkListEmpty lists 2,000 sessions in which nothing has happened, and 50 of
// them; x-noted is the ratio of its time to that of a page of sessions with a summary.
func BenchmarkListEmpty(b *testing.B) {
	list := func(s *jsonl.Store, most int) time.Duration {
		began, n := time.Now(), 0
		for _, err := range s.List(b.Context(), core.Local) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n == most {
				break
			}
		}
		return time.Since(began)
	}
	empty, noted := newStore(b), newStore(b)
	for i := range 2000 {
		meta := core.Meta{ID: core.SessionID(fmt.Sprint("s", i)), Principal: core.Local, Cwd: "/home/ada/app", Created: time.Now()}
		for _, s := range []*jsonl.Store{empty, noted} {
			if _, err := s.Create(b.Context(), meta); err != nil {
				b.Fatal(err)
			}
		}
		if err := noted.Note(b.Context(), core.Local, core.Summary{ID: meta.ID, Title: "a title of some words", Updated: time.Now()}); err != nil {
			b.Fatal(err)
		}
	}
	for _, most := range []int{2000, 50} {
		b.Run(fmt.Sprint(most), func(b *testing.B) {
			var one, other time.Duration
			for b.Loop() {
				one += list(empty, most)
				other += list(noted, most)
			}
			b.ReportMetric(float64(one)/float64(other), "x-noted")
		})
	}
}

// BenchmarkListLarge lists 10,000 sessions: by a new process, and again. x-raw is the ratio of the shortest time to
// that of reading the index.
func BenchmarkListLarge(b *testing.B) {
	dir := b.TempDir()
	s := jsonl.New(dir)
	for i := range 10_000 {
		meta := core.Meta{ID: core.SessionID(fmt.Sprintf("session-with-26-letters-%05d", i)), Principal: core.Local, Cwd: "/home/ada/app", Roots: []string{"/home/ada/app"}, Created: time.Now()}
		if _, err := s.Create(b.Context(), meta); err != nil {
			b.Fatal(err)
		}
	}
	now := time.Now().Add(-time.Hour)
	folders, err := filepath.Glob(filepath.Join(dir, "sessions", "??"))
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range folders { // as if nothing had happened since
		if err := os.Chtimes(f, now, now); err != nil {
			b.Fatal(err)
		}
	}
	list := func(s *jsonl.Store) time.Duration {
		began, n := time.Now(), 0
		for _, err := range s.List(b.Context(), core.Local) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 10_000 {
			b.Fatalf("listed %d", n)
		}
		return time.Since(began)
	}
	list(jsonl.New(dir))
	for _, again := range []bool{false, true} {
		b.Run(map[bool]string{false: "first", true: "again"}[again], func(b *testing.B) {
			whole, raw := time.Hour, time.Hour
			list(s)
			b.ReportAllocs()
			for b.Loop() {
				if !again {
					s = jsonl.New(dir)
				}
				whole = min(whole, list(s))
				began := time.Now()
				if _, err := os.ReadFile(filepath.Join(dir, "index.jsonl")); err != nil {
					b.Fatal(err)
				}
				raw = min(raw, time.Since(began))
			}
			b.ReportMetric(float64(whole.Nanoseconds()), "min-ns/list")
			b.ReportMetric(float64(whole)/float64(raw), "x-raw")
		})
	}
}

// BenchmarkConversations lists the first 100 of 10,000 conversations: by a new process, by one that knows nothing about
// the folders, and again. x-raw is the ratio of the shortest time to that of reading the index.
func BenchmarkConversations(b *testing.B) {
	dir := b.TempDir()
	s := jsonl.New(dir)
	for i := range 10_000 {
		meta := core.Meta{ID: core.SessionID(fmt.Sprintf("session-with-26-letters-%05d", i)), Principal: core.Local, Cwd: "/home/ada/app", Roots: []string{"/home/ada/app"}, Created: time.Now()}
		if _, err := s.Create(b.Context(), meta); err != nil {
			b.Fatal(err)
		}
		sum := core.Summary{ID: meta.ID, Title: "a title of some words", Cwd: meta.Cwd, Roots: meta.Roots, Created: meta.Created, Updated: time.Now(), Model: "some/model", Agent: "main", Messages: 2}
		if err := s.Note(b.Context(), core.Local, sum); err != nil {
			b.Fatal(err)
		}
	}
	list := func(s *jsonl.Store) time.Duration {
		began, n := time.Now(), 0
		for _, err := range s.Conversations(b.Context(), core.Local, core.Part{}) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n == 100 {
				break
			}
		}
		return time.Since(began)
	}
	for _, when := range []string{"first", "unknown", "again"} {
		b.Run(when, func(b *testing.B) {
			whole, raw := time.Hour, time.Hour
			list(s)
			b.ReportAllocs()
			for b.Loop() {
				if when != "again" {
					s = jsonl.New(dir)
				}
				if when == "unknown" {
					if err := os.Remove(filepath.Join(dir, "index.folders")); err != nil {
						b.Fatal(err)
					}
				}
				whole = min(whole, list(s))
				began := time.Now()
				if _, err := os.ReadFile(filepath.Join(dir, "index.jsonl")); err != nil {
					b.Fatal(err)
				}
				raw = min(raw, time.Since(began))
			}
			b.ReportMetric(float64(whole.Nanoseconds()), "min-ns/list")
			b.ReportMetric(float64(whole)/float64(raw), "x-raw")
		})
	}
}

// BenchmarkList lists 2,000 sessions, and the ten used last.
func BenchmarkList(b *testing.B) {
	s := newStore(b)
	for i := range 2000 {
		j, err := s.Create(b.Context(), core.Meta{ID: core.SessionID(fmt.Sprint("s", i)), Principal: core.Local, Cwd: "/home/ada/app", Created: time.Now()})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Note(b.Context(), core.Local, core.Summary{ID: j.Meta().ID, Title: "a title of some words", Updated: time.Now()}); err != nil {
			b.Fatal(err)
		}
	}
	for _, most := range []int{2000, 10} {
		b.Run(fmt.Sprint(most), func(b *testing.B) {
			for b.Loop() {
				n := 0
				for _, err := range s.List(b.Context(), core.Local) {
					if err != nil {
						b.Fatal(err)
					}
					if n++; n == most {
						break
					}
				}
				if n != most {
					b.Fatalf("listed %d", n)
				}
			}
		})
	}
}

// BenchmarkListAfterCrash lists the first 50 of 500 sessions whose owners are dead,
// and as many that were released. x-clean is the ratio of their times; first-x-clean,
// if that list is the first one.
func BenchmarkListAfterCrash(b *testing.B) {
	const sessions, page = 500, 50
	folder := func(crash bool) *jsonl.Store {
		dir := b.TempDir()
		for i := range sessions {
			s := jsonl.New(dir)
			j, epoch := claimed(b, s, core.SessionID(fmt.Sprint("s", i)))
			if err := s.Note(b.Context(), core.Local, core.Summary{ID: j.Meta().ID, Title: "a title of some words", Updated: time.Now()}); err != nil {
				b.Fatal(err)
			}
			if err := j.Write(b.Context(), turns(epoch, 200)); err != nil {
				b.Fatal(err)
			}
			if err := j.Close(); err != nil {
				b.Fatal(err)
			}
		}
		if crash {
			leaveOwners(b, dir)
		}
		return jsonl.New(dir)
	}
	list := func(s *jsonl.Store) time.Duration {
		began, n := time.Now(), 0
		for _, err := range s.List(b.Context(), core.Local) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n == page {
				break
			}
		}
		return time.Since(began)
	}
	clean, crashed := folder(false), folder(true)
	first := float64(list(crashed)) / float64(list(clean))
	var after, without time.Duration
	for b.Loop() {
		after += list(crashed)
		without += list(clean)
	}
	b.ReportMetric(float64(after)/float64(without), "x-clean")
	b.ReportMetric(first, "first-x-clean")
}

// leaveOwners leaves a dead owner in each session of a data folder.
func leaveOwners(b *testing.B, dir string) {
	b.Helper()
	host, err := os.Hostname()
	if err != nil {
		b.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "sessions", "??", "*.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	for _, log := range logs {
		if err := os.WriteFile(strings.TrimSuffix(log, ".jsonl")+".owner", fmt.Appendf(nil, `{"pid":%d,"epoch":1,"host":%q}`, 1<<30, host), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFollow reads additions of another process to a session of 100,000 records,
// one at a time.
func BenchmarkFollow(b *testing.B) {
	dir := b.TempDir()
	s, other := jsonl.New(dir), jsonl.New(dir)
	j, epoch := claimed(b, s, "s1")
	recs := turns(epoch, 100_000)
	viewer, err := other.Open(b.Context(), core.Local, "s1")
	if err == nil {
		err = j.Write(b.Context(), recs)
	}
	if err != nil {
		b.Fatal(err)
	}
	at := core.Pos{}
	read := func() (n int) {
		for r, err := range viewer.Read(b.Context(), at) {
			if err != nil {
				b.Fatal(err)
			}
			at = r.End()
			n++
		}
		return n
	}
	read()
	b.ReportAllocs()
	for b.Loop() {
		if err := j.Write(b.Context(), []core.Record{{Epoch: epoch, Seq: at.Seq, Event: core.Notice{Text: "more"}}}); err != nil {
			b.Fatal(err)
		}
		if n := read(); n != 1 {
			b.Fatalf("read %d records", n)
		}
	}
}
