package core

import "dragoman/core/internal/memlog"

// Pos is the progress of a reader of a log: it has every record before Seq,
// and the first Off bytes of the run that is record Seq. The zero Pos is the
// beginning. Clients hold it as an opaque text (package cursor).
type Pos struct{ Epoch, Seq, Off uint64 }

// Before reports whether a reader at p has less than a reader at q.
func (p Pos) Before(q Pos) bool { return memlog.Less(p, q) }

// Before returns the event of a record in front of a position, of a run whole characters; ok is
// false if there is none.
func (r Record) Before(p Pos) (ev Event, ok bool) { return memlog.Before(&logEvents, r, p) }

// Splice fits a record from any source (the log's memory, a store, a retry)
// behind a reader that has come to p. It returns the part of r that the reader
// lacks and the reader's new position; ok is false when it lacks nothing of it.
// A record that would leave a gap is an error. A reader may have the first part of a Missing.
func (p Pos) Splice(r Record) (next Pos, rest Record, ok bool, err error) {
	return memlog.Splice(&logEvents, p, r)
}
