package coretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"dragoman/core"
)

// Store tests an implementation of core.Store. storage makes empty storage, and
// returns a function; each call of that returns the store of one more process that
// uses this storage.
func Store(t *testing.T, storage func(t *testing.T) (process func() core.Store)) {
	tests := []struct {
		name string
		run  func(*storeTest)
	}{
		{"create and open", (*storeTest).createAndOpen},
		{"ids", (*storeTest).ids},
		{"write and read", (*storeTest).writeAndRead},
		{"runs in pieces", (*storeTest).pieces},
		{"what does not follow", (*storeTest).doesNotFollow},
		{"reading beside writing", (*storeTest).readBesideWrite},
		{"two owners", (*storeTest).twoOwners},
		{"many owners", (*storeTest).manyOwners},
		{"following", (*storeTest).following},
		{"watch", (*storeTest).watch},
		{"watch where there is more", (*storeTest).watchBehind},
		{"watches that have ended", (*storeTest).watchesEnd},
		{"spill", (*storeTest).spill},
		{"names of spills", (*storeTest).spillNames},
		{"list", (*storeTest).list},
		{"delete", (*storeTest).delete},
		{"ended contexts", (*storeTest).ended},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.run(&storeTest{T: t, process: storage(t)})
		})
	}
}

// storeTest is one test of the suite.
type storeTest struct {
	*testing.T
	process func() core.Store
}

func (t *storeTest) store() core.Store {
	s := t.process()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

func meta(id core.SessionID) core.Meta {
	return core.Meta{
		ID:        id,
		Principal: core.Local,
		Cwd:       "/home/ada/app",
		Roots:     []string{"/home/ada/app"},
		Created:   epoch0,
	}
}

func (t *storeTest) create(s core.Store, id core.SessionID) core.Journal {
	t.Helper()
	j, err := s.Create(t.Context(), meta(id))
	if err != nil {
		t.Fatalf("Create(%q): %v", id, err)
	}
	return j
}

func (t *storeTest) open(s core.Store, id core.SessionID) core.Journal {
	t.Helper()
	j, err := s.Open(t.Context(), core.Local, id)
	if err != nil {
		t.Fatalf("Open(%q): %v", id, err)
	}
	return j
}

func (t *storeTest) claim(j core.Journal) uint64 {
	t.Helper()
	epoch, err := j.Claim(t.Context())
	if err != nil {
		t.Fatalf("Claim: %v", err)
	}
	return epoch
}

func (t *storeTest) write(j core.Journal, records ...core.Record) {
	t.Helper()
	if err := j.Write(t.Context(), records); err != nil {
		t.Fatalf("Write: %v", err)
	}
}

func (t *storeTest) read(j core.Journal, after core.Pos) (records []core.Record) {
	t.Helper()
	for r, err := range j.Read(t.Context(), after) {
		if err != nil {
			t.Fatalf("Read(%v): %v", after, err)
		}
		records = append(records, r)
	}
	return records
}

// behind numbers events like Records, but after the existing records, which must not
// end in a run that the first event continues.
func behind(epoch uint64, before []core.Record, events ...core.Event) []core.Record {
	var at core.Pos
	for _, r := range before {
		if r.Seq > 0 {
			at = r.End()
		}
	}
	seq := max(at.Seq, 1)
	if at.Off > 0 {
		seq++
	}
	records := Records(epoch, events...)
	for i := range records {
		if records[i].Seq > 0 {
			records[i].Seq += seq - 1
		}
	}
	return records
}

// Joined merges the pieces of each run and drops records that are live only, so that
// logs can be compared that were written or read in different pieces.
func Joined(records []core.Record) []core.Record {
	var all []core.Record
	for _, r := range records {
		if r.Seq == 0 {
			continue
		}
		if n := len(all); n > 0 && all[n-1].Seq == r.Seq && r.Off > 0 {
			all[n-1].Event = JoinDeltas(all[n-1].Event, r.Event)
			continue
		}
		all = append(all, r)
	}
	return all
}

// JoinDeltas returns two pieces of a run as one; nil: they are not deltas of one run.
func JoinDeltas(a, b core.Event) core.Event {
	switch a := any(a).(type) {
	case core.TextDelta:
		return core.TextDelta{Message: a.Message, Text: a.Text + b.(core.TextDelta).Text}
	case core.ThoughtDelta:
		return core.ThoughtDelta{Thought: a.Thought, Text: a.Text + b.(core.ThoughtDelta).Text}
	case core.CallArgs:
		return core.CallArgs{Call: a.Call, Text: a.Text + b.(core.CallArgs).Text}
	case core.CallOutput:
		return core.CallOutput{Call: a.Call, Text: a.Text + b.(core.CallOutput).Text}
	}
	return nil // not a run
}

func (t *storeTest) same(what string, got, want []core.Record) {
	t.Helper()
	got, want = Joined(got), Joined(want)
	for i := range min(len(got), len(want)) {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("%s: record %d differs\n got %+v\nwant %+v", what, i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: got %d records, want %d", what, len(got), len(want))
	}
}

func (t *storeTest) createAndOpen() {
	a, b := t.store(), t.store()
	want := core.Meta{
		ID: "s1", Principal: core.Local, Cwd: "/home/ada/a \"b\"",
		Roots: []string{"/home/ada/a \"b\"", "/srv"}, Parent: "s0", Created: epoch0,
	}
	if _, err := b.Open(t.Context(), core.Local, "s1"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("Open of what is not there: %v, want ErrNotFound", err)
	}
	created, err := a.Create(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	for what, j := range map[string]core.Journal{"created": created, "opened": t.open(a, "s1"), "opened elsewhere": t.open(b, "s1")} {
		got := j.Meta()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: Meta %+v, want %+v", what, got, want)
		}
		t.same(what, t.read(j, core.Pos{}), []core.Record{{Seq: 1, Time: epoch0, Event: core.Opened{Meta: want}}})
	}
	for what, s := range map[string]core.Store{"here": a, "elsewhere": b} {
		if _, err := s.Create(t.Context(), want); !errors.Is(err, core.ErrExists) {
			t.Errorf("Create again, %s: %v, want ErrExists", what, err)
		}
	}
	other := want
	other.Principal = "grace"
	if _, err := b.Create(t.Context(), other); err != nil {
		t.Errorf("Create of the same id for another principal: %v", err)
	}
	if _, err := a.Open(t.Context(), "ada", "s1"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("Open for a principal that has none: %v, want ErrNotFound", err)
	}
}

func (t *storeTest) ids() {
	s := t.store()
	good := []core.SessionID{
		"../../etc/passwd", "a/b", `a\b`, ".", "..", "a\nb", "con", "a:b", "*", "", " ", "-rf", "\u202e\U0001F600", "A", "a",
		core.SessionID(strings.Repeat("x", 256)), core.SessionID(strings.Repeat("x", 255) + "y"),
	}
	for i, id := range good {
		if id == "" {
			continue
		}
		j := t.create(s, id)
		epoch := t.claim(j)
		t.write(j, behind(epoch, t.read(j, core.Pos{}), core.TitleChanged{Title: fmt.Sprint(i)})...)
	}
	for i, id := range good {
		if id == "" {
			continue
		}
		got := t.read(t.open(s, id), core.Pos{})
		if last := got[len(got)-1].Event; last != (core.TitleChanged{Title: fmt.Sprint(i)}) ||
			t.open(s, id).Meta().ID != id {
			t.Errorf("session %q ends with %+v: it is another one", id, last)
		}
	}
	for _, id := range []core.SessionID{"", "a\x00b", core.SessionID(strings.Repeat("x", 257)), core.SessionID(strings.Repeat("x", 1<<20))} {
		_, err := s.Create(t.Context(), meta(id))
		if err == nil {
			t.Errorf("Create of an id of %d bytes succeeds", len(id))
		} else if len(err.Error()) > 1000 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
		if _, err := s.Open(t.Context(), core.Local, id); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("Open of an id of %d bytes: %v, want ErrNotFound", len(id), err)
		}
		if err := s.Delete(t.Context(), core.Local, id); err != nil {
			t.Errorf("Delete of an id of %d bytes: %v", len(id), err)
		}
	}
}

func (t *storeTest) writeAndRead() {
	a, b := t.store(), t.store()
	j := t.create(a, "s1")
	want := t.read(j, core.Pos{})
	epoch := t.claim(j)
	want = append(want, behind(epoch, want, Samples()...)...)
	rest := want[1:]
	for n := 1; len(rest) > 0; n = n%3 + 1 {
		n = min(n, len(rest))
		t.write(j, rest[:n]...)
		rest = rest[n:]
	}
	if err := j.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := t.open(b, "s1")
	t.same("all", t.read(other, core.Pos{}), want)

	// From every position, even within a run, reading yields exactly the missing
	// records.
	whole := Joined(want)
	for i, r := range whole {
		for _, off := range []uint64{0, 1, 2} {
			after := core.Pos{Epoch: epoch, Seq: r.Seq, Off: off}
			if end := r.End(); off > 0 && (end.Seq != r.Seq || off > end.Off) {
				break
			}
			got := t.read(other, after)
			at := after
			for _, r := range got {
				next, rest, ok, err := at.Splice(r)
				if err != nil || !ok || !reflect.DeepEqual(rest, r) {
					t.Fatalf("Read(%v) yields %+v behind %v: %v, %v", after, r, at, ok, err)
				}
				at = next
			}
			if off == 0 {
				t.same(fmt.Sprint("after ", after), got, whole[i:])
			}
			if end := whole[len(whole)-1].End(); at != end && len(got) > 0 {
				t.Fatalf("Read(%v) ends at %v, want %v", after, at, end)
			}
		}
	}
	if got := t.read(other, whole[len(whole)-1].End()); len(got) > 0 {
		t.Errorf("Read from the end yields %+v", got)
	}
	for range other.Read(t.Context(), core.Pos{}) { // an iteration that stops early
		break
	}
}

func (t *storeTest) pieces() {
	s := t.store()
	j := t.create(s, "s1")
	epoch := t.claim(j)
	rnd := rand.New(rand.NewPCG(3, 4))
	want := t.read(j, core.Pos{})
	for run := range 30 {
		var deltas []core.Event
		for range 1 + rnd.IntN(5) {
			text := strings.Repeat("aé\n\"😀", 1+rnd.IntN(40))
			deltas = append(deltas, core.TextDelta{Message: core.MessageID(fmt.Sprint("m", run)), Text: text})
		}
		records := behind(epoch, want, deltas...)
		want = append(want, records...)
		for _, r := range records {
			t.write(j, r)
		}
	}
	t.same("pieces", t.read(j, core.Pos{}), want)
	for i := 0; i < len(want); i += 7 {
		after := want[i].End()
		got, at := t.read(j, after), after
		var err error
		for _, r := range got {
			if at, _, _, err = at.Splice(r); err != nil {
				t.Fatalf("Read(%v): %v", after, err)
			}
		}
		if end := want[len(want)-1].End(); at != end {
			t.Fatalf("Read(%v) ends at %v, want %v", after, at, end)
		}
	}
}

func (t *storeTest) doesNotFollow() {
	s := t.store()
	j := t.create(s, "s1")
	epoch := t.claim(j)
	want := t.read(j, core.Pos{})
	records := behind(
		epoch,
		want,
		core.Claimed{Epoch: epoch},
		core.Phase{Turn: "t1", Kind: core.PhaseWaiting},
		core.TextDelta{Message: "m", Text: "hello "},
		core.TextDelta{Message: "m", Text: "world"},
	)
	t.write(j, records...)
	want = append(want, records...)
	t.write(j, records...) // again: a retry
	t.same("after a retry", t.read(j, core.Pos{}), want)

	longer := records[2]
	longer.Event = core.TextDelta{Message: "m", Text: "hello world, again"}
	t.write(j, longer) // overlaps the existing records
	want[len(want)-2] = longer
	want = want[:len(want)-1]
	t.same("after an overlap", t.read(j, core.Pos{}), want)

	gap := behind(epoch, want, core.Notice{Text: "a"}, core.Notice{Text: "b"})[1:]
	if err := j.Write(t.Context(), gap); err == nil {
		t.Error("a record that leaves a gap is written")
	}
	other := behind(epoch+1, want, core.Notice{Text: "a"})
	if err := j.Write(t.Context(), other); err == nil {
		t.Error("a record of another epoch is written")
	}
	next := behind(epoch, want, core.Notice{Text: "a"})
	t.write(j, next...) // the failures left no trace
	t.same("after failures", t.read(j, core.Pos{}), append(want, next...))
}

func (t *storeTest) readBesideWrite() {
	const records, readers = 400, 4
	a, b := t.store(), t.store()
	j := t.create(a, "s1")
	epoch := t.claim(j)
	want := t.read(j, core.Pos{})
	rnd := rand.New(rand.NewPCG(5, 6))
	for i := range records {
		if rnd.IntN(3) > 0 {
			want = append(want, behind(epoch, want, core.Notice{Text: strings.Repeat("x", rnd.IntN(3000))})...)
			continue
		}
		id := core.MessageID(fmt.Sprint("m", i))
		want = append(
			want,
			behind(epoch, want, core.TextDelta{Message: id, Text: Awkward}, core.TextDelta{Message: id, Text: "more"})...)
	}
	end := want[len(want)-1].End()
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range readers {
		reader := t.open([]core.Store{a, b}[i%2], "s1")
		wg.Go(func() {
			var got []core.Record
			var at core.Pos
			for at.Before(end) && t.Context().Err() == nil {
				for r, err := range reader.Read(t.Context(), at) {
					next, rest, ok, serr := at.Splice(r)
					if err != nil || serr != nil || !ok {
						t.Errorf("Read(%v): %v, %v, %v", at, err, serr, ok)
						return
					}
					at, got = next, append(got, rest)
				}
			}
			if got, want := Joined(got), Joined(want); !reflect.DeepEqual(got, want) {
				t.Errorf("a reader beside the writer got %d records, want %d", len(got), len(want))
			}
		})
	}
	for rest := want[1:]; len(rest) > 0; {
		n := min(1+rnd.IntN(5), len(rest))
		t.write(j, rest[:n]...)
		rest = rest[n:]
	}
}

func (t *storeTest) list() {
	a, b := t.store(), t.store()
	list := func(s core.Store, p core.Principal) (ids []core.SessionID) {
		t.Helper()
		for sum, err := range s.List(t.Context(), p) {
			if err != nil {
				t.Fatalf("List: %v", err)
			}
			ids = append(ids, sum.ID)
		}
		return ids
	}
	if got := list(a, core.Local); len(got) > 0 {
		t.Errorf("List of an empty store: %v", got)
	}
	for _, id := range []core.SessionID{"s1", "s2", "s3"} {
		t.create(a, id)
	}
	other := meta("s2")
	other.Principal = "grace"
	if _, err := b.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if got := list(b, core.Local); !slices.Equal(got, []core.SessionID{"s3", "s2", "s1"}) {
		t.Errorf("List after Create: %v, want the newest first", got)
	}
	want := core.Summary{
		ID: "s2", Title: "two " + Awkward, Cwd: "/x",
		Roots: []string{"/x"}, Parent: "s1", Created: epoch0, Updated: epoch0.Add(3),
		Model: "offline/demo", Agent: "main", Messages: 4,
	}
	for _, s := range []core.Store{a, b} {
		if err := s.Note(t.Context(), core.Local, want); err != nil {
			t.Fatal(err)
		}
		if err := s.Note(t.Context(), core.Local, core.Summary{ID: "s1", Created: epoch0}); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(a, core.Local); !slices.Equal(got, []core.SessionID{"s1", "s2", "s3"}) {
		t.Errorf("List: %v, want what was noted last first", got)
	}
	for sum, err := range a.List(t.Context(), core.Local) {
		if err == nil && sum.ID == "s2" && !reflect.DeepEqual(sum, want) {
			t.Errorf("List yields %+v, want %+v", sum, want)
		}
	}
	for range a.List(t.Context(), core.Local) { // an iteration that stops early
		break
	}
	if got := list(a, "grace"); !slices.Equal(got, []core.SessionID{"s2"}) {
		t.Errorf("List of another principal: %v", got)
	}
	if err := a.Delete(t.Context(), core.Local, "s2"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []core.Store{a, b} {
		if got := list(s, core.Local); !slices.Equal(got, []core.SessionID{"s1", "s3"}) {
			t.Errorf("List after Delete: %v", got)
		}
	}
	if got := list(a, "grace"); !slices.Equal(got, []core.SessionID{"s2"}) {
		t.Errorf("Delete removed the session of another principal: %v", got)
	}
	if err := a.Note(t.Context(), core.Local, core.Summary{ID: "s2"}); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("Note of a session that is gone: %v, want ErrNotFound", err)
	}
}

func (t *storeTest) delete() {
	a, b := t.store(), t.store()
	if err := a.Delete(t.Context(), core.Local, "s1"); err != nil {
		t.Errorf("Delete of what is not there: %v", err)
	}
	j := t.create(a, "s1")
	epoch := t.claim(j)
	t.write(
		j,
		behind(epoch, t.read(j, core.Pos{}), core.Claimed{Epoch: epoch}, core.TitleChanged{Title: "old"})...)
	var owned *core.OwnedError
	if err := b.Delete(t.Context(), core.Local, "s1"); !errors.As(err, &owned) {
		t.Errorf("Delete of what another owns: %v, want an OwnedError", err)
	}
	viewer := t.open(b, "s1")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(t.Context(), core.Local, "s1"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(t.Context(), core.Local, "s1"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("Open after Delete: %v, want ErrNotFound", err)
	}
	if _, err := viewer.Claim(t.Context()); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("Claim after Delete: %v, want ErrNotFound", err)
	}
	again := t.create(b, "s1")
	if got := t.read(again, core.Pos{}); len(got) != 1 {
		t.Errorf("a session that was made again has %d records, want 1", len(got))
	}
	t.claim(again)
}

func (t *storeTest) ended() {
	s := t.store()
	j := t.create(s, "s1")
	epoch := t.claim(j)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	record := behind(epoch, t.read(j, core.Pos{}), core.Claimed{Epoch: epoch})
	k := t.open(t.store(), "s1")
	_, claimErr := k.Claim(ctx)
	var readErr error
	for _, readErr = range j.Read(ctx, core.Pos{}) {
	}
	for what, err := range map[string]error{"Write": j.Write(ctx, record), "Sync": j.Sync(ctx), "Claim": claimErr, "Read": readErr} {
		if !errors.Is(err, cause) {
			t.Errorf("%s with a context that has ended: %v", what, err)
		}
	}
	t.write(j, record...)
	var log bytes.Buffer
	for _, r := range t.read(j, core.Pos{}) {
		fmt.Fprintf(&log, "%d %T\n", r.Seq, r.Event)
	}
	if want := "1 core.Opened\n2 core.Claimed\n"; log.String() != want {
		t.Errorf("got\n%swant\n%s", log.String(), want)
	}
}
