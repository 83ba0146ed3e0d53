package core

import (
	"cmp"
	"context"
	"iter"

	"dragoman/core/internal/listing"
)

// Part is a part of a principal's conversations: of the sessions that have a message and are no delegated tasks.
type Part struct {
	After Summary            // it begins after this one; without an ID at the first
	Where func(Summary) bool // selects by what never changes, as the folders; nil: all
}

// Compare orders conversations, the one used last first.
func (s Summary) Compare(other Summary) int {
	return cmp.Or(cmp.Compare(other.Updated.UnixNano(), s.Updated.UnixNano()), cmp.Compare(s.ID, other.ID))
}

// Follows reports whether a session comes after the beginning of the part.
func (p Part) Follows(s Summary) bool { return p.After.ID == "" || p.After.Compare(s) < 0 }

// May reports whether a session may be in the part, now or when it has changed.
func (p Part) May(s Summary) bool { return s.Parent == "" && (p.Where == nil || p.Where(s)) }

// Of returns the part of a list.
func (p Part) Of(list iter.Seq2[Summary, error]) iter.Seq2[Summary, error] {
	return listing.Sorted(list, func(s Summary) bool { return p.Follows(s) && p.May(s) }, Summary.Compare)
}

// Conversations yields a part of a principal's conversations, the one used last first. Like ListNow it
// may begin with ErrIncomplete.
func (g *Gateway) Conversations(ctx context.Context, p Principal, part Part) iter.Seq2[Summary, error] {
	if s, ok := g.cfg.Store.(ListerNow); ok {
		return g.placed(p, s.Conversations(ctx, p, part))
	}
	return g.placed(p, part.Of(g.cfg.Store.List(ctx, p)))
}

// placed is a list of conversations with the newest summaries of the sessions that are open here, in their places.
func (g *Gateway) placed(p Principal, stored iter.Seq2[Summary, error]) iter.Seq2[Summary, error] {
	return listing.Placed(stored, func(s Summary) (Summary, bool) {
		s = g.newest(p, s)
		return s, s.Messages > 0
	}, Summary.Compare)
}
