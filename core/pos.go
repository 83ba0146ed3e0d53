package core

import (
	"fmt"

	"dragoman/core/internal/runes"
)

// Pos is the progress of a reader of a log: it has every record before Seq,
// and the first Off bytes of the run that is record Seq. The zero Pos is the
// beginning. Clients hold it as an opaque text (package cursor).
type Pos struct{ Epoch, Seq, Off uint64 }

// Before reports whether a reader at p has less than a reader at q.
func (p Pos) Before(q Pos) bool {
	ps, qs := max(p.Seq, 1), max(q.Seq, 1)
	return ps < qs || ps == qs && p.Off < q.Off
}

// Before returns the event of a record in front of a position, of a run whole characters; ok is
// false if there is none.
func (r Record) Before(p Pos) (ev Event, ok bool) {
	if r.Seq == 0 || !(Pos{r.Epoch, r.Seq, r.Off}).Before(p) {
		return nil, false
	}
	if s, text, ok := runOf(r.Event); ok && r.Seq == p.Seq {
		return s.delta(runes.Cut(text, int(min(p.Off-r.Off, uint64(len(text)))))), true
	}
	return r.Event, true
}

// Splice fits a record from any source (the log's memory, a store, a retry)
// behind a reader that has come to p. It returns the part of r that the reader
// lacks and the reader's new position; ok is false when it lacks nothing of it.
// A record that would leave a gap is an error. A reader may have the first part of a Missing.
func (p Pos) Splice(r Record) (next Pos, rest Record, ok bool, err error) {
	end := r.End()
	if !p.Before(end) {
		return p, Record{}, false, nil
	}
	seq := max(p.Seq, 1)
	switch {
	case r.Seq == seq && r.Off <= p.Off: // the record or the run that is due
		rest = r
		if _, run := runLen(r.Event); run && p.Off > r.Off {
			cut := p.Off - r.Off
			rest.Event, rest.Off = cutRun(r.Event, cut), p.Off
		}
	case r.Seq == seq+1 && r.Off == 0 && p.Off > 0: // the run that contains p has ended
		rest = r
	case r.Seq < seq: // a Missing: only that takes more than one number
		rest = r.from(seq)
	default:
		return p, Record{}, false, fmt.Errorf("record %d.%d does not follow %d.%d", r.Seq, r.Off, p.Seq, p.Off)
	}
	return end, rest, true, nil
}
