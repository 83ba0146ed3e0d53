package memlog

import "iter"

// Walk reads the part of a log that is no longer in memory from its store. The zero value is one that has
// ended.
type Walk[E any, S comparable, R Record[E], P Pos] struct {
	of   *Events[E, S, R, P]
	skip func(P) P
	pull func() (R, error, bool) // nil: it has ended
	stop func()
}

// Begin begins a walk through stored records. skip moves a position over what is hidden by now.
func (w *Walk[E, S, R, P]) Begin(of *Events[E, S, R, P], stored iter.Seq2[R, error], skip func(P) P) {
	w.of, w.skip = of, skip
	w.pull, w.stop = iter.Pull2(stored)
}

// Ended reports whether the walk has come to the end of the store, or has failed.
func (w *Walk[E, S, R, P]) Ended() bool { return w.pull == nil }

// End ends the walk.
func (w *Walk[E, S, R, P]) End() {
	if w.stop != nil {
		w.stop()
	}
	w.pull, w.stop = nil, nil
}

// Read appends the records behind a position, about Batch bytes, and returns their size and the reader's
// new position. An error comes alone: behind other records, the next walk meets it.
func (w *Walk[E, S, R, P]) Read(dst []R, at P) (recs []R, next P, size int, err error) {
	had := len(dst)
	for size < Batch && err == nil && !w.Ended() {
		var r R
		var more bool
		if r, err, more = w.pull(); err == nil && more {
			dst, at, err = w.add(dst, at, r, &size)
		}
		if err != nil || !more {
			w.End()
		}
	}
	if len(dst) > had {
		err = nil
	}
	return dst, at, size, err
}

// add appends what the reader lacks of a record, and adds its size.
func (w *Walk[E, S, R, P]) add(dst []R, at P, r R, size *int) ([]R, P, error) {
	if p, rec := pos(at), record[E](r); p.Off > 0 && rec.Seq > p.Seq { // the run has ended
		at = P{rec.Epoch, p.Seq + 1, 0}
	}
	next, rest, ok, err := Splice(w.of, w.skip(at), r) // which leaves out hidden records
	if ok {
		ev := record[E](rest).Event
		_, text, _ := w.of.Run(ev)
		*size += max(len(text), w.of.Size(ev))
		dst = append(dst, rest)
	}
	return dst, next, err
}
