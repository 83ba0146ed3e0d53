package memlog

import (
	"fmt"

	"dragoman/core/internal/runes"
)

// Less reports whether a reader at p has less than a reader at q.
func Less[P Pos](p, q P) bool { return pos(p).before(pos(q)) }

func (p pos) before(q pos) bool {
	ps, qs := max(p.Seq, 1), max(q.Seq, 1)
	return ps < qs || ps == qs && p.Off < q.Off
}

// End returns the position of a reader that has all of a record.
func End[E any, S comparable, R Record[E], P Pos](of *Events[E, S, R, P], r R) P {
	rec := record[E](r)
	if _, text, ok := of.Run(rec.Event); ok {
		return P{rec.Epoch, rec.Seq, rec.Off + uint64(len(text))}
	}
	return P{rec.Epoch, rec.Seq + of.Span(r), 0}
}

// Before returns the event of a record in front of a position, of a run whole characters; ok is
// false if there is none.
func Before[E any, S comparable, R Record[E], P Pos](of *Events[E, S, R, P], r R, upto P) (ev E, ok bool) {
	rec, p := record[E](r), pos(upto)
	if rec.Seq == 0 || !(pos{rec.Epoch, rec.Seq, rec.Off}).before(p) {
		return ev, false
	}
	if s, text, ok := of.Run(rec.Event); ok && rec.Seq == p.Seq {
		return of.Delta(s, runes.Cut(text, int(min(p.Off-rec.Off, uint64(len(text)))))), true
	}
	return rec.Event, true
}

// Splice fits a record from any source behind a reader that has come to a position. It returns the
// part of the record that the reader lacks and the reader's new position; ok is false when it lacks
// nothing of it. A record that would leave a gap is an error. A reader may have the first part of
// an atomic record that takes several numbers.
func Splice[E any, S comparable, R Record[E], P Pos](of *Events[E, S, R, P], at P, r R) (next P, rest R, ok bool, err error) {
	p, rec, end := pos(at), record[E](r), End(of, r)
	if !p.before(pos(end)) {
		return at, rest, false, nil
	}
	seq := max(p.Seq, 1)
	switch {
	case rec.Seq == seq && rec.Off <= p.Off: // the record or the run that is due
		if s, text, run := of.Run(rec.Event); run && p.Off > rec.Off {
			rec.Event, rec.Off = of.Delta(s, text[p.Off-rec.Off:]), p.Off
		}
		return end, R(rec), true, nil
	case rec.Seq == seq+1 && rec.Off == 0 && p.Off > 0: // the run that contains p has ended
		return end, r, true, nil
	case rec.Seq < seq: // only a record that takes more than one number
		return end, of.From(r, seq), true, nil
	}
	return at, rest, false, fmt.Errorf("record %d.%d does not follow %d.%d", rec.Seq, rec.Off, p.Seq, p.Off)
}
