// Package spans keeps the parts of a log that are hidden.
package spans

import "slices"

// Span hides the records From to To-1. The record To is the one that hides them.
type Span struct{ From, To uint64 }

// Set is a set of disjoint spans in order.
type Set []Span

// Hide adds a span, and merges it with those that it meets.
func (s *Set) Hide(from, to uint64) {
	list := *s
	for n := len(list); n > 0 && list[n-1].To >= from; n-- {
		from = min(from, list[n-1].From)
		list = list[:n-1]
	}
	if from < to {
		list = append(list, Span{from, to})
	}
	*s = list
}

// Covers reports whether a record is hidden.
func (s Set) Covers(seq uint64) bool {
	return slices.ContainsFunc(s, func(h Span) bool { return h.From <= seq && seq < h.To })
}

// Skip moves a position, an offset into a record, over what is hidden. A reader that has seen some
// of a span is put before the record that hides it; one that has not, after it.
func (s Set) Skip(seq, off uint64) (toSeq, toOff uint64) {
	for _, h := range s {
		switch {
		case seq < h.From, seq > h.To:
		case seq == h.From && off == 0:
			seq, off = h.To+1, 0
		case seq < h.To:
			seq, off = h.To, 0
		}
	}
	return seq, off
}
