package core

import (
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"dragoman/core/internal/runes"
	"dragoman/core/internal/spans"
)

const (
	// maxRun limits a run, in bytes, so that no piece is larger.
	maxRun = 64 << 10
	// keepBytes limits the part of a log that stays in memory before its head.
	keepBytes = 256 << 10
	// batchBytes bounds what one Reader.Next returns.
	batchBytes = 256 << 10
)

// entry is one record in memory. A run's text only grows: the part that was read never changes.
type entry struct {
	epoch uint64
	seq   uint64
	at    time.Time
	run   stream // zero: atomic, and event holds it
	text  []byte
	event Event
	size  int
}

// end is the number of the entry behind e.
func (e *entry) end() uint64 {
	if e.event == nil {
		return e.seq + 1
	}
	return Record{Seq: e.seq, Event: e.event}.End().Seq
}

// log is the part of a session's log that is in memory: its head and some
// 256 KiB behind it. All methods need the session's lock.
type log struct {
	epoch   uint64
	first   uint64 // number of entries[0]; the first record of a log is 1
	entries []entry
	held    int    // bytes in entries
	total   uint64 // bytes ever appended
	sealed  bool   // the next delta begins a record
	hidden  spans.Set

	written  uint64 // entries below this number are in the store, whole
	runOff   uint64 // bytes of the run numbered written that are in the store
	wroteSum uint64 // bytes of total that are in the store
	broken   bool   // the store accepts nothing; the records in memory stay and can be read

	live    Event // the newest that is never stored; nil: none
	liveRev uint64
}

func newLog() log { return log{first: 1, written: 1} }

// next returns the number of the next record.
func (l *log) next() uint64 {
	if n := len(l.entries); n > 0 {
		return l.entries[n-1].end()
	}
	return l.first
}

// index returns the index of the first entry in memory that ends behind record seq: the one that
// holds it, which may be a Missing. Without one it returns the number of entries.
func (l *log) index(seq uint64) int {
	if i := seq - l.first; i < uint64(len(l.entries)) && l.entries[i].seq == seq {
		return int(i)
	}
	return sort.Search(len(l.entries), func(i int) bool { return l.entries[i].end() > seq })
}

// head is the position of a reader that has everything.
func (l *log) head() Pos {
	if n := len(l.entries); n > 0 && l.entries[n-1].run.kind != 0 {
		return Pos{l.epoch, l.entries[n-1].seq, uint64(len(l.entries[n-1].text))}
	}
	return Pos{l.epoch, l.next(), 0}
}

// append puts an event at the end.
func (l *log) append(ev Event, now time.Time) {
	if s, text, ok := runOf(ev); ok {
		l.appendRun(s, text, now)
		return
	}
	size := eventSize(ev)
	l.entries = append(l.entries, entry{epoch: l.epoch, seq: l.next(), at: now, event: ev, size: size})
	l.held += size
	l.total += uint64(size)
	l.sealed = true
	if t, ok := ev.(Truncated); ok {
		l.hide(t, l.next()-1)
	}
}

func (l *log) appendRun(s stream, text string, now time.Time) {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	for len(text) > 0 {
		n := len(l.entries)
		if l.sealed || n == 0 || l.entries[n-1].run != s || len(l.entries[n-1].text) >= maxRun {
			l.entries = append(l.entries, entry{epoch: l.epoch, seq: l.next(), at: now, run: s, text: make([]byte, 0, min(max(len(text), 64), maxRun))})
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

func (l *log) hide(t Truncated, at uint64) {
	from := max(t.After.Seq, 1)
	if t.After.Off > 0 {
		from++
	}
	l.hidden.Hide(from, at)
}

// skip moves a position over what a truncation hides (spans.Set.Skip).
func (l *log) skip(p Pos) Pos {
	p.Seq, p.Off = l.hidden.Skip(p.Seq, p.Off)
	return p
}

// read appends to dst the records after p, at most batchBytes, and returns the reader's new
// position. Atomic records are held back until the store has written them, so that nothing
// that a client has seen is lost when the process dies; deltas are held back only if they
// follow one. behind means that p is no longer in memory.
func (l *log) read(dst []Record, p Pos) (recs []Record, next Pos, behind bool) {
	p.Seq = max(p.Seq, 1)
	for size := 0; size < batchBytes; {
		p = l.skip(p)
		if p.Seq >= l.next() {
			break
		}
		if p.Seq < l.first {
			return dst, p, true
		}
		e := &l.entries[l.index(p.Seq)]
		if e.run.kind == 0 {
			if p.Seq >= l.written && !l.broken {
				break
			}
			r := Record{e.epoch, e.seq, 0, e.at, e.event}.from(p.Seq)
			dst = append(dst, r)
			p = r.End()
			size += e.size
			continue
		}
		if text := e.text[min(p.Off, uint64(len(e.text))):]; len(text) > 0 {
			dst = append(dst, Record{e.epoch, p.Seq, p.Off, e.at, e.run.delta(string(text))})
			size += len(text)
		}
		p = Pos{e.epoch, p.Seq, uint64(len(e.text))}
		if p.Seq+1 >= l.next() {
			break
		}
		p = Pos{e.epoch, p.Seq + 1, 0}
	}
	return dst, p, false
}

// writtenPos returns the position of a reader that has everything in the store.
func (l *log) writtenPos() Pos { return Pos{l.epoch, l.written, l.runOff} }

// unwrittenAny reports whether the store lacks anything.
func (l *log) unwrittenAny() bool { return l.writtenPos().Before(l.head()) }

// unwritten appends to dst the records that the store lacks, about batchBytes.
func (l *log) unwritten(dst []Record) []Record {
	for i, size := l.index(l.written), 0; i < len(l.entries) && size < batchBytes; i++ {
		e := &l.entries[i]
		if e.run.kind == 0 {
			dst = append(dst, Record{e.epoch, e.seq, 0, e.at, e.event})
		} else {
			off := uint64(0)
			if e.seq == l.written {
				off = l.runOff
			}
			if off < uint64(len(e.text)) {
				dst = append(dst, Record{e.epoch, e.seq, off, e.at, e.run.delta(string(e.text[off:]))})
			}
		}
		size += e.size
	}
	return dst
}

// wrote notes that the store has recs, and lets go of what memory need not hold.
func (l *log) wrote(recs []Record) {
	for _, r := range recs {
		end := r.End()
		e := &l.entries[l.index(r.Seq)]
		if n, ok := runLen(r.Event); ok {
			l.wroteSum += uint64(n)
			l.written, l.runOff = r.Seq, end.Off
			if r.Seq+1 < l.next() && end.Off == uint64(len(e.text)) { // sealed
				l.written, l.runOff = r.Seq+1, 0
			}
			continue
		}
		l.wroteSum += uint64(e.size)
		l.written, l.runOff = e.end(), 0
	}
	if l.written+1 < l.next() { // a run that another record follows is whole
		if e := &l.entries[l.index(l.written)]; e.run.kind != 0 && l.runOff == uint64(len(e.text)) {
			l.written, l.runOff = l.written+1, 0
		}
	}
	l.trim()
}

func (l *log) trim() {
	drop := 0
	for drop < len(l.entries)-1 && l.held > keepBytes && l.entries[drop].seq < l.written {
		l.held -= l.entries[drop].size
		l.entries[drop] = entry{}
		drop++
	}
	if l.entries = l.entries[drop:]; drop > 0 {
		l.first = l.entries[0].seq
	}
}

// forget drops the records in memory, all of which are stored. A run at the end stays, because
// the head is inside it.
func (l *log) forget() {
	next := l.next()
	if n := len(l.entries); n > 0 && l.entries[n-1].run.kind != 0 {
		last := l.entries[n-1]
		l.entries, l.first, l.held = []entry{last}, last.seq, last.size
		return
	}
	l.entries, l.first, l.held = nil, next, 0
}

// restore puts a stored record into memory, while a session is loaded.
func (l *log) restore(r Record) {
	l.epoch = max(l.epoch, r.Epoch)
	if s, text, ok := runOf(r.Event); ok {
		n := len(l.entries)
		if r.Off > 0 && n > 0 && l.entries[n-1].run == s {
			e := &l.entries[n-1]
			e.text = append(e.text, text...)
			e.size += len(text)
		} else {
			l.entries = append(l.entries, entry{epoch: r.Epoch, seq: r.Seq, at: r.Time, run: s, text: []byte(text), size: len(text)})
		}
		l.held += len(text)
		l.written, l.runOff = r.Seq, r.Off+uint64(len(text))
	} else {
		size := eventSize(r.Event)
		l.entries = append(l.entries, entry{epoch: r.Epoch, seq: r.Seq, at: r.Time, event: r.Event, size: size})
		l.held += size
		if t, ok := r.Event.(Truncated); ok {
			l.hide(t, r.Seq)
		}
		l.written, l.runOff = r.End().Seq, 0
	}
	l.sealed = true
	l.trim()
}

// cut removes records that were appended and are not stored.
func (l *log) cut() {
	l.broken = false
	for n := len(l.entries); n > 0; n-- {
		e := &l.entries[n-1]
		if e.seq < l.written || e.seq == l.written && e.run.kind != 0 {
			return
		}
		l.held -= e.size
		l.total -= uint64(e.size)
		l.entries = l.entries[:n-1]
	}
}
