package memlog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

type (
	// event is a delta if it has a stream, and else atomic.
	event struct {
		stream, text string
		size         int
		span         uint64 // 0: 1
		hides        *place
	}
	place struct{ Epoch, Seq, Off uint64 }
	piece struct {
		Epoch, Seq, Off uint64
		Time            time.Time
		Event           event
	}
	testLog = Log[event, string, piece, place]
)

func (p piece) span() uint64 { return max(p.Event.span, 1) }

func (p piece) end() place {
	if p.Event.stream != "" {
		return place{p.Epoch, p.Seq, p.Off + uint64(len(p.Event.text))}
	}
	return place{p.Epoch, p.Seq + p.span(), 0}
}

func (p piece) String() string {
	return fmt.Sprintf("%d.%d %s%s", p.Seq, p.Off, p.Event.stream, p.Event.text)
}

var events = Events[event, string, piece, place]{
	Run:   func(e event) (string, string, bool) { return e.stream, e.text, e.stream != "" },
	Delta: func(stream, text string) event { return event{stream: stream, text: text} },
	Size:  func(e event) int { return e.size },
	Span:  piece.span,
	From: func(p piece, seq uint64) piece {
		p.Event.span, p.Seq = p.Seq+p.span()-seq, seq
		return p
	},
	Hides: func(e event) (place, bool) {
		if e.hides == nil {
			return place{}, false
		}
		return *e.hides, true
	},
}

var now = time.Unix(1, 0)

func delta(stream, text string) event { return event{stream: stream + ":", text: text} }
func atom(text string) event          { return event{text: text, size: 128} }

func newLog(list ...event) *testLog {
	l := New(&events)
	l.Epoch = 1
	for _, ev := range list {
		l.Append(ev, now)
	}
	return &l
}

// store writes everything, as a session's flusher does.
func store(l *testLog) (all []piece) {
	for l.Dirty() {
		batch := l.Unwritten()
		all = append(all, batch...)
		l.Wrote(batch)
	}
	return all
}

func want(t *testing.T, what string, got []piece, want ...string) {
	t.Helper()
	var have []string
	for _, p := range got {
		have = append(have, p.String())
	}
	if !slices.Equal(have, want) {
		t.Errorf("%s: %q, want %q", what, have, want)
	}
}

func wantRead(t *testing.T, l *testLog, after place, next place, list ...string) {
	t.Helper()
	got, at, behind := l.Read(nil, after)
	want(t, fmt.Sprintf("after %v", after), got, list...)
	if at != next || behind {
		t.Errorf("after %v: at %v, behind %t, want %v", after, at, behind, next)
	}
}

// Successive deltas of one stream are one record; a reader inside of it gets the rest.
func TestRuns(t *testing.T) {
	l := newLog(delta("a", "one "), delta("a", "two"), delta("b", "x\xff"), delta("a", "three"))
	wantRead(t, l, place{}, place{1, 3, 5}, "1.0 a:one two", "2.0 b:x\uFFFD", "3.0 a:three")
	wantRead(t, l, place{1, 1, 4}, place{1, 3, 5}, "1.4 a:two", "2.0 b:x\uFFFD", "3.0 a:three")
	wantRead(t, l, place{1, 3, 5}, place{1, 3, 5})
	if l.Head() != (place{1, 3, 5}) {
		t.Errorf("the head is %v", l.Head())
	}
}

// A run is at most maxRun bytes and ends between two characters.
func TestLongRun(t *testing.T) {
	text := "a" + strings.Repeat("é", maxRun)
	l := newLog(delta("a", text))
	got, _, _ := l.Read(nil, place{})
	var sum string
	for i, p := range got {
		if n := len(p.Event.text); n > maxRun || i+1 < len(got) && n < maxRun-1 || p.Seq != uint64(i+1) || !utf8.ValidString(p.Event.text) {
			t.Errorf("record %d has %d bytes", p.Seq, n)
		}
		sum += p.Event.text
	}
	if sum != text || len(got) != 3 {
		t.Errorf("%d bytes in %d records, want %d in 3", len(sum), len(got), len(text))
	}
}

// Readers get an atomic record, and what follows it, when the store has it, or will never have it.
func TestHeldBack(t *testing.T) {
	l := newLog(delta("a", "one"), atom("A"), delta("a", "two"))
	wantRead(t, l, place{}, place{1, 2, 0}, "1.0 a:one")
	l.Broken = true
	wantRead(t, l, place{}, place{1, 3, 3}, "1.0 a:one", "2.0 A", "3.0 a:two")
	l.Broken = false
	want(t, "unwritten", l.Unwritten(), "1.0 a:one", "2.0 A", "3.0 a:two")
	l.Wrote(l.Unwritten()[:2])
	if !l.Dirty() || l.Written() != (place{1, 3, 0}) || l.Lag() != 3 || l.Total() != 134 {
		t.Errorf("written up to %v, %d bytes of %d are missing", l.Written(), l.Lag(), l.Total())
	}
	wantRead(t, l, place{}, place{1, 3, 3}, "1.0 a:one", "2.0 A", "3.0 a:two")
	store(l)
	l.Append(delta("a", "!"), now)
	if l.Written() != (place{1, 3, 3}) {
		t.Errorf("written up to %v", l.Written())
	}
	want(t, "unwritten", l.Unwritten(), "3.3 a:!")
}

// A record of several numbers can be read from inside.
func TestSpan(t *testing.T) {
	l := newLog(atom("A"), event{text: "lost", span: 10}, atom("B"))
	store(l)
	wantRead(t, l, place{1, 2, 0}, place{1, 13, 0}, "2.0 lost", "12.0 B")
	wantRead(t, l, place{1, 7, 0}, place{1, 13, 0}, "7.0 lost", "12.0 B")
	if got, _, _ := l.Read(nil, place{1, 7, 0}); got[0].Event.span != 5 {
		t.Errorf("%d numbers are left", got[0].Event.span)
	}
}

// A truncation hides what is behind its position, from the position's run on if that was not begun.
func TestHidden(t *testing.T) {
	for _, tt := range []struct {
		after place
		want  string
	}{
		{place{1, 2, 0}, "A T"},
		{place{1, 2, 2}, "A two T"},
		{place{}, "T"},
	} {
		l := newLog(atom("A"), delta("a", "two"), atom("B"), event{text: "T", hides: &tt.after})
		store(l)
		var got []string
		for at, ev := range l.Events(1) {
			if got = append(got, ev.text); at != now {
				t.Errorf("%s was at %v", ev.text, at)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("after %v there is %v, want %s", tt.after, got, tt.want)
		}
	}
	l := newLog(atom("A"), delta("a", "two"), atom("B"), event{text: "T", hides: &place{1, 2, 0}}, atom("C"))
	store(l)
	wantRead(t, l, place{}, place{1, 6, 0}, "1.0 A", "5.0 C")
	wantRead(t, l, place{1, 2, 1}, place{1, 6, 0}, "4.0 T", "5.0 C")
	if l.Skip(place{1, 3, 0}) != (place{1, 4, 0}) {
		t.Errorf("skipped to %v", l.Skip(place{1, 3, 0}))
	}
	for _, ev := range l.Events(3) {
		if ev.text != "T" {
			t.Errorf("%s is not hidden, or the walk goes on", ev.text)
		}
		break
	}
}

// Memory keeps the end of what is stored, and all of what is not.
func TestTrim(t *testing.T) {
	l := newLog()
	for i := range 100 {
		l.Append(event{text: fmt.Sprint(i), size: keep / 10}, now)
	}
	if l.First() != 1 || l.Dropped() != 0 {
		t.Errorf("the first is %d, %d bytes dropped", l.First(), l.Dropped())
	}
	if all := store(l); len(all) != 100 {
		t.Errorf("stored %d records", len(all))
	}
	if l.First() != 91 || l.Dropped() != 90*(keep/10) || l.Lag() != 0 {
		t.Errorf("the first is %d, %d bytes dropped, %d missing", l.First(), l.Dropped(), l.Lag())
	}
	if _, at, behind := l.Read(nil, place{1, 90, 0}); !behind || at != (place{1, 90, 0}) {
		t.Errorf("record 90 is in memory: at %v", at)
	}
	l.Forget()
	if l.First() != 101 || l.Head() != (place{1, 101, 0}) || l.Dropped() != l.Total() {
		t.Errorf("forgot up to %d, the head is %v, %d bytes dropped", l.First(), l.Head(), l.Dropped())
	}
}

// A run at the head is not forgotten.
func TestForgetRun(t *testing.T) {
	l := newLog(atom("A"), delta("a", "one"))
	store(l)
	l.Forget()
	l.Append(delta("a", "two"), now)
	wantRead(t, l, place{1, 2, 0}, place{1, 2, 6}, "2.0 a:onetwo")
	want(t, "unwritten", l.Unwritten(), "2.3 a:two")
}

// A log that is restored goes on behind its last record, with a new one.
func TestRestore(t *testing.T) {
	l := newLog()
	for _, p := range []piece{
		{1, 1, 0, now, delta("a", "")},
		{1, 1, 0, now, delta("a", "one")},
		{1, 1, 3, now, delta("a", "two")},
		{2, 2, 0, now, atom("A")},
		{2, 3, 0, now, event{text: "T", hides: &place{1, 2, 0}}},
		{3, 4, 0, now, delta("a", "three")},
	} {
		l.Restore(p)
	}
	if l.Epoch != 3 || l.Dirty() || l.Head() != (place{3, 4, 5}) {
		t.Errorf("epoch %d, the head is %v, dirty: %t", l.Epoch, l.Head(), l.Dirty())
	}
	l.Append(delta("a", "four"), now)
	wantRead(t, l, place{1, 2, 0}, place{3, 5, 4}, "4.0 a:three", "5.0 a:four")
	want(t, "unwritten", l.Unwritten(), "5.0 a:four")
	l.Broken = true
	l.Append(atom("B"), now)
	l.Cut()
	if l.Broken || l.Dirty() || l.Head() != (place{3, 4, 5}) {
		t.Errorf("the head is %v, dirty: %t", l.Head(), l.Dirty())
	}
}

// Whatever is appended, written and read in any order: a reader gets all of it, once and in order,
// and so does the store.
func TestReadAll(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same numbers each time
		l := newLog()
		var appended, read, written strings.Builder
		var at place
		put := func(b *strings.Builder, end place, list []piece) place {
			for _, p := range list {
				if end.Off > 0 && p.Seq == end.Seq+1 {
					end = place{p.Epoch, p.Seq, 0}
				}
				if p.Seq != end.Seq || p.Off != end.Off {
					t.Fatalf("seed %d: %s does not follow %v", seed, p, end)
				}
				end = p.end()
				b.WriteString(p.Event.text)
			}
			return end
		}
		stored := place{Epoch: 1, Seq: 1}
		take := func() {
			list, next, behind := l.Read(nil, at)
			if behind {
				t.Fatalf("seed %d: %v is not in memory", seed, at)
			}
			at.Seq = max(at.Seq, 1)
			put(&read, at, list)
			at = next
		}
		for range 60 {
			switch n := r.IntN(10); {
			case n < 5:
				stream := string(rune('a' + r.IntN(2)))
				text := strings.Repeat("é", 1+r.IntN(1+maxRun/16*r.IntN(2)))
				l.Append(delta(stream, text), now)
				appended.WriteString(text)
			case n == 5:
				text := fmt.Sprint(r.IntN(1000))
				l.Append(atom(text), now)
				appended.WriteString(text)
			case n < 8:
				take()
			default:
				take() // so that what is dropped was read
				list := l.Unwritten()
				stored = put(&written, stored, list)
				l.Wrote(list)
			}
		}
		for l.Dirty() {
			take()
			list := l.Unwritten()
			stored = put(&written, stored, list)
			l.Wrote(list)
		}
		for before := (place{}); before != at; {
			before = at
			take()
		}
		if all := appended.String(); read.String() != all || written.String() != all {
			t.Errorf("seed %d: appended %d bytes, read %d, written %d", seed, len(all), read.Len(), written.Len())
		}
		if at != l.Head() || l.Lag() != 0 {
			t.Errorf("seed %d: at %v, the head is %v, %d bytes missing", seed, at, l.Head(), l.Lag())
		}
	}
}
