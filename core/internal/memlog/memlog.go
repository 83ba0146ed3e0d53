// Package memlog keeps the newest records of a log in memory, for its readers, and for the store until
// that has them.
package memlog

import (
	"iter"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"dragoman/core/internal/runes"
	"dragoman/core/internal/spans"
)

const (
	// Batch bounds the bytes that one Read, or one Unwritten, returns.
	Batch = 256 << 10
	// maxRun limits a run, in bytes, so that no piece is larger.
	maxRun = 64 << 10
	// keep limits the part of a log that stays in memory before its head, in bytes.
	keep = 256 << 10
)

// Pos is the progress of a reader: it has every record before Seq, and the first Off bytes of the
// run that is record Seq.
type Pos interface {
	~struct{ Epoch, Seq, Off uint64 }
}

type pos struct{ Epoch, Seq, Off uint64 }

// Record is an event with its number in the log. Off > 0 marks the rest of a run.
type Record[E any] interface {
	~struct {
		Epoch, Seq, Off uint64
		Time            time.Time
		Event           E
	}
}

type record[E any] struct {
	Epoch, Seq, Off uint64
	Time            time.Time
	Event           E
}

// Events are the functions by which a log handles events.
type Events[E any, S comparable, R Record[E], P Pos] struct {
	// Run takes a delta apart; ok is false for other events, which are atomic. Delta is its inverse.
	Run   func(E) (stream S, text string, ok bool)
	Delta func(stream S, text string) E
	// Size returns the rough size of an atomic event, in bytes.
	Size func(E) int
	// Span returns how many numbers an atomic record takes, and From the part of it from a number on.
	Span func(R) uint64
	From func(r R, seq uint64) R
	// Hides returns the position behind which an event hides all records, up to itself.
	Hides func(E) (after P, ok bool)
}

// entry is one record in memory. A run's text only grows: the part that was read never changes.
type entry[E any, S comparable] struct {
	epoch uint64
	seq   uint64
	at    time.Time
	run   S
	text  []byte // nil: it is atomic, and event holds it
	event E
	size  int
}

func (e *entry[E, S]) atomic() bool { return e.text == nil }

// Log is the part of a log of events E that is in memory: its head and some 256 KiB behind it. A run
// is a sequence of deltas of one stream S. It is one record that grows. One goroutine at a time uses
// a Log.
type Log[E any, S comparable, R Record[E], P Pos] struct {
	Epoch  uint64    // of the records to come
	Broken bool      // the store accepts nothing; the records in memory stay and can be read
	Hidden spans.Set // what truncations hide

	of      *Events[E, S, R, P]
	first   uint64 // number of entries[0]; the first record of a log is 1
	entries []entry[E, S]
	held    int    // bytes in entries
	total   uint64 // bytes ever appended
	sealed  bool   // the next delta begins a record

	written  uint64 // entries below this number are in the store, whole
	runOff   uint64 // bytes of the run numbered written that are in the store
	wroteSum uint64 // bytes of total that are in the store
}

// New returns an empty log.
func New[E any, S comparable, R Record[E], P Pos](of *Events[E, S, R, P]) Log[E, S, R, P] {
	return Log[E, S, R, P]{of: of, first: 1, written: 1}
}

// Total returns how many bytes were ever appended.
func (l *Log[E, S, R, P]) Total() uint64 { return l.total }

// Lag returns how many of them the store lacks.
func (l *Log[E, S, R, P]) Lag() uint64 { return l.total - min(l.wroteSum, l.total) }

// Dropped returns how many of them are no longer in memory.
func (l *Log[E, S, R, P]) Dropped() uint64 { return l.total - min(uint64(l.held), l.total) }

// First returns the number of the first record in memory.
func (l *Log[E, S, R, P]) First() uint64 { return l.first }

// next returns the number of the next record.
func (l *Log[E, S, R, P]) next() uint64 {
	if n := len(l.entries); n > 0 {
		return l.end(&l.entries[n-1])
	}
	return l.first
}

// end returns the number of the entry behind e.
func (l *Log[E, S, R, P]) end(e *entry[E, S]) uint64 {
	if e.atomic() {
		return e.seq + l.of.Span(R{e.epoch, e.seq, 0, e.at, e.event})
	}
	return e.seq + 1
}

// index returns the index of the first entry in memory that ends behind record seq: the one that
// holds it, which may take several numbers. Without one it returns the number of entries.
func (l *Log[E, S, R, P]) index(seq uint64) int {
	if i := seq - l.first; i < uint64(len(l.entries)) && l.entries[i].seq == seq {
		return int(i)
	}
	return sort.Search(len(l.entries), func(i int) bool { return l.end(&l.entries[i]) > seq })
}

// Head returns the position of a reader that has everything.
func (l *Log[E, S, R, P]) Head() P { return P(l.head()) }

func (l *Log[E, S, R, P]) head() pos {
	if n := len(l.entries); n > 0 && !l.entries[n-1].atomic() {
		return pos{l.Epoch, l.entries[n-1].seq, uint64(len(l.entries[n-1].text))}
	}
	return pos{l.Epoch, l.next(), 0}
}

// Append puts an event at the end.
func (l *Log[E, S, R, P]) Append(ev E, now time.Time) {
	if s, text, ok := l.of.Run(ev); ok {
		l.appendRun(s, text, now)
		return
	}
	e := l.atom(record[E]{l.Epoch, l.next(), 0, now, ev})
	l.entries = append(l.entries, e)
	l.held += e.size
	l.total += uint64(e.size)
	l.sealed = true
}

func (l *Log[E, S, R, P]) appendRun(s S, text string, now time.Time) {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	for len(text) > 0 {
		n := len(l.entries)
		if l.sealed || n == 0 || l.entries[n-1].run != s || len(l.entries[n-1].text) >= maxRun {
			l.entries = append(l.entries, entry[E, S]{epoch: l.Epoch, seq: l.next(), at: now, run: s, text: make([]byte, 0, min(max(len(text), 64), maxRun))})
			l.sealed = false
			n++
		}
		e := &l.entries[n-1]
		part := runes.Cut(text, maxRun-len(e.text))
		if part == "" { // the next rune does not fit
			l.sealed = true
			continue
		}
		e.text = append(e.text, part...)
		e.size += len(part)
		l.held += len(part)
		l.total += uint64(len(part))
		text = text[len(part):]
	}
}

// atom returns the entry of an atomic record, and hides what it hides.
func (l *Log[E, S, R, P]) atom(r record[E]) entry[E, S] {
	if after, ok := l.of.Hides(r.Event); ok {
		l.Hide(after, r.Seq)
	}
	return entry[E, S]{epoch: r.Epoch, seq: r.Seq, at: r.Time, event: r.Event, size: l.of.Size(r.Event)}
}

// Hide hides the records behind a position and in front of record at.
func (l *Log[E, S, R, P]) Hide(after P, at uint64) {
	p := pos(after)
	from := max(p.Seq, 1)
	if p.Off > 0 {
		from++
	}
	l.Hidden.Hide(from, at)
}

// Skip moves a position over what is hidden (spans.Set.Skip).
func (l *Log[E, S, R, P]) Skip(p P) P { return P(l.skip(pos(p))) }

func (l *Log[E, S, R, P]) skip(p pos) pos {
	p.Seq, p.Off = l.Hidden.Skip(p.Seq, p.Off)
	return p
}

// Read appends to dst the records after p, at most Batch bytes, and returns the reader's new
// position. Atomic records are held back until the store has written them, so that nothing
// that a client has seen is lost when the process dies; deltas are held back only if they
// follow one. behind means that p is no longer in memory.
func (l *Log[E, S, R, P]) Read(dst []R, after P) (recs []R, next P, behind bool) {
	p := pos(after)
	p.Seq = max(p.Seq, 1)
	for size := 0; size < Batch; {
		p = l.skip(p)
		if p.Seq >= l.next() {
			break
		}
		if p.Seq < l.first {
			return dst, P(p), true
		}
		e := &l.entries[l.index(p.Seq)]
		if e.atomic() {
			if p.Seq >= l.written && !l.Broken {
				break
			}
			r := R{e.epoch, e.seq, 0, e.at, e.event}
			if p.Seq > e.seq {
				r = l.of.From(r, p.Seq)
			}
			dst = append(dst, r)
			p = pos{e.epoch, l.end(e), 0}
			size += e.size
			continue
		}
		if text := e.text[min(p.Off, uint64(len(e.text))):]; len(text) > 0 {
			dst = append(dst, R{e.epoch, p.Seq, p.Off, e.at, l.of.Delta(e.run, string(text))})
			size += len(text)
		}
		p = pos{e.epoch, p.Seq, uint64(len(e.text))}
		if p.Seq+1 >= l.next() {
			break
		}
		p = pos{e.epoch, p.Seq + 1, 0}
	}
	return dst, P(p), false
}

// Events yields the events in memory that are not hidden, each run as one delta, from record seq on.
func (l *Log[E, S, R, P]) Events(seq uint64) iter.Seq2[time.Time, E] {
	return func(yield func(time.Time, E) bool) {
		for i := l.index(seq); i < len(l.entries); i++ {
			e := &l.entries[i]
			if l.Hidden.Covers(e.seq) {
				continue
			}
			ev := e.event
			if !e.atomic() {
				ev = l.of.Delta(e.run, string(e.text))
			}
			if !yield(e.at, ev) {
				return
			}
		}
	}
}

// Written returns the position of a reader that has everything in the store.
func (l *Log[E, S, R, P]) Written() P { return P{l.Epoch, l.written, l.runOff} }

// Dirty reports whether the store lacks anything.
func (l *Log[E, S, R, P]) Dirty() bool {
	head := l.head()
	return l.written < head.Seq || l.written == head.Seq && l.runOff < head.Off
}

// Unwritten returns records that the store lacks, about Batch bytes.
func (l *Log[E, S, R, P]) Unwritten() (recs []R) {
	for i, size := l.index(l.written), 0; i < len(l.entries) && size < Batch; i++ {
		e := &l.entries[i]
		if e.atomic() {
			recs = append(recs, R{e.epoch, e.seq, 0, e.at, e.event})
		} else {
			off := uint64(0)
			if e.seq == l.written {
				off = l.runOff
			}
			if off < uint64(len(e.text)) {
				recs = append(recs, R{e.epoch, e.seq, off, e.at, l.of.Delta(e.run, string(e.text[off:]))})
			}
		}
		size += e.size
	}
	return recs
}

// Wrote notes that the store has records, and lets go of what memory need not hold.
func (l *Log[E, S, R, P]) Wrote(recs []R) {
	for _, r := range recs {
		r := record[E](r)
		e := &l.entries[l.index(r.Seq)]
		if e.atomic() {
			l.wroteSum += uint64(e.size)
			l.written, l.runOff = l.end(e), 0
			continue
		}
		_, text, _ := l.of.Run(r.Event)
		l.wroteSum += uint64(len(text))
		l.written, l.runOff = r.Seq, r.Off+uint64(len(text))
		if r.Seq+1 < l.next() && l.runOff == uint64(len(e.text)) { // sealed
			l.written, l.runOff = r.Seq+1, 0
		}
	}
	if l.written+1 < l.next() { // a run that another record follows is whole
		if e := &l.entries[l.index(l.written)]; !e.atomic() && l.runOff == uint64(len(e.text)) {
			l.written, l.runOff = l.written+1, 0
		}
	}
	l.trim()
}

func (l *Log[E, S, R, P]) trim() {
	drop := 0
	for drop < len(l.entries)-1 && l.held > keep && l.entries[drop].seq < l.written {
		l.held -= l.entries[drop].size
		l.entries[drop] = entry[E, S]{}
		drop++
	}
	if l.entries = l.entries[drop:]; drop > 0 {
		l.first = l.entries[0].seq
	}
}

// Forget drops the records in memory, all of which are stored. A run at the end stays, because
// the head is inside it.
func (l *Log[E, S, R, P]) Forget() {
	next := l.next()
	if n := len(l.entries); n > 0 && !l.entries[n-1].atomic() {
		last := l.entries[n-1]
		l.entries, l.first, l.held = []entry[E, S]{last}, last.seq, last.size
		return
	}
	l.entries, l.first, l.held = nil, next, 0
}

// Restore puts a stored record into memory.
func (l *Log[E, S, R, P]) Restore(stored R) {
	r := record[E](stored)
	l.Epoch = max(l.Epoch, r.Epoch)
	if s, text, ok := l.of.Run(r.Event); ok {
		n := len(l.entries)
		if r.Off > 0 && n > 0 && !l.entries[n-1].atomic() && l.entries[n-1].run == s {
			e := &l.entries[n-1]
			e.text = append(e.text, text...)
			e.size += len(text)
		} else {
			l.entries = append(l.entries, entry[E, S]{epoch: r.Epoch, seq: r.Seq, at: r.Time, run: s, text: []byte(text), size: len(text)})
		}
		l.held += len(text)
		l.written, l.runOff = r.Seq, r.Off+uint64(len(text))
	} else {
		e := l.atom(r)
		l.entries = append(l.entries, e)
		l.held += e.size
		l.written, l.runOff = l.end(&e), 0
	}
	l.sealed = true
	l.trim()
}

// Cut removes records that were appended and are not stored.
func (l *Log[E, S, R, P]) Cut() {
	l.Broken = false
	for n := len(l.entries); n > 0; n-- {
		e := &l.entries[n-1]
		if e.seq < l.written || e.seq == l.written && !e.atomic() {
			return
		}
		l.held -= e.size
		l.total -= uint64(e.size)
		l.entries = l.entries[:n-1]
	}
}
