package jsonl

import (
	"fmt"
	"math"
	"os"
	"testing"

	"dragoman/core"
)

// Logs of sessions without an owner are not checked until one of them is claimed. From
// then on that one's is, until its owner leaves.
func TestSessionsWithoutAnOwnerAreNotChecked(t *testing.T) {
	const many = 40
	dir := t.TempDir()
	mine, theirs := New(dir), New(dir)
	list := make([]*watch, 0, many)
	calls := 0
	for i := range many {
		id := core.SessionID(fmt.Sprint("s", i))
		if _, err := mine.Create(t.Context(), core.Meta{ID: id, Principal: core.Local, Cwd: "/w", Roots: []string{"/w"}}); err != nil {
			t.Fatal(err)
		}
		f, err := mine.session(core.Local, id, false)
		if err != nil {
			t.Fatal(err)
		}
		w := &watch{files: f, changed: func() { calls++ }}
		w.look()
		list = append(list, w)
	}
	looks := func(when string, logs, called int, owned bool) {
		t.Helper()
		n, isOwned := mine.watches.look(mine, list)
		if n != logs || calls != called || isOwned != owned {
			t.Errorf("%s: %d logs looked at, %d calls, owned %v; want %d, %d, %v", when, n, calls, isOwned, logs, called, owned)
		}
		calls = 0
	}
	looks("the first time", many, 0, false)
	looks("nothing has happened", 0, 0, false)

	j, err := theirs.Open(t.Context(), core.Local, "s7")
	if err != nil {
		t.Fatal(err)
	}
	epoch, err := j.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	looks("one was claimed", many, 0, true)
	if err := j.Write(t.Context(), []core.Record{{Epoch: epoch, Seq: 2, Event: core.Claimed{Epoch: epoch}}}); err != nil {
		t.Fatal(err)
	}
	looks("its owner has written", 1, 1, true)
	looks("its owner is silent", 1, 0, true)
	if err := j.Release(); err != nil {
		t.Fatal(err)
	}
	looks("its owner has left", 1, 1, false)
	looks("nobody owns one", 0, 0, false)

	f := list[3].files
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	dead := fmt.Sprintf(`{"pid":%d,"epoch":1,"host":%q}`, math.MaxInt32, host) // an impossible process id
	if err := f.disk.replace(f.owner, []byte(dead), false); err != nil {
		t.Fatal(err)
	}
	mine.touch()
	looks("the owner of one has died", many, 1, false)
	looks("it is still dead", 0, 0, false)
}

// A log that was cut to less than a viewer has read, and then continued differently,
// is read again from its beginning: nothing looks damaged that is not.
func TestReadAfterTheLogWasCut(t *testing.T) {
	s := New(t.TempDir())
	longer := logOf(t, s, "s1", core.Notice{Text: "one"}, core.Notice{Text: "two and more, as it was written later"})
	b := content(t, longer.files.log)
	j := logOf(t, s, "s2", core.Notice{Text: "one"}, core.Notice{Text: "two"})
	log := readAll(t, j)
	put(t, j.files.log, b)
	for r, err := range j.Read(t.Context(), log[len(log)-1].End()) {
		t.Errorf("behind the end: %+v, %v", r, err)
	}
}

// BenchmarkLook measures one check of the index and of the logs of sessions that have
// an owner.
func BenchmarkLook(b *testing.B) {
	for _, owned := range []int{0, 1, 1000} {
		b.Run(fmt.Sprint("owned=", owned), func(b *testing.B) {
			s := New(b.TempDir())
			j, err := s.Create(b.Context(), core.Meta{ID: "s", Principal: core.Local, Cwd: "/w", Roots: []string{"/w"}})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := j.Claim(b.Context()); err != nil {
				b.Fatal(err)
			}
			f, err := s.session(core.Local, "s", false)
			if err != nil {
				b.Fatal(err)
			}
			list := make([]*watch, max(owned, 1))
			for i := range list {
				list[i] = &watch{files: f, changed: func() {}}
				if owned > 0 {
					list[i].look()
				}
			}
			s.watches.touched(s)
			for b.Loop() {
				s.watches.look(s, list)
			}
		})
	}
}
