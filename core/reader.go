package core

import (
	"context"
	"fmt"
	"iter"
	"math"

	"dragoman/core/internal/memlog"
	"dragoman/core/internal/readers"
)

// Reader reads a session's log from a position on: first the existing records, then new
// ones. It is used, and closed, by one goroutine at a time.
type Reader struct {
	s *Session
	// signal says that there may be something to read. It is called without any lock.
	signal func()
	wake   chan struct{} // holds one token: Next is to look again

	pos  Pos
	buf  []Record
	live uint64
	// strange says that the session is not ours, nor watched, and there is nothing to read.
	strange bool
	pull    func() (Record, error, bool) // an open walk through the store; nil: memory is near enough
	stop    func()

	at readers.Progress[Pos] // the session's lock guards it
}

// Pos returns the reader's position.
func (r *Reader) Pos() Pos { return r.pos }

// Next returns all that is there behind the reader's position: at least one
// record, at most 256 KiB, valid until the next call. It blocks until there is
// something, ctx ends, or the reader is closed (ErrClosed). A reader of a session that has
// closed first gets what memory still holds: the end of its turn.
func (r *Reader) Next(ctx context.Context) ([]Record, error) {
	return r.Until(ctx, Pos{Seq: math.MaxUint64})
}

// Until is Next for a reader on its way to head, a position that the log has reached: it
// returns nothing once it is there, also if a truncation hides the rest.
func (r *Reader) Until(ctx context.Context, head Pos) ([]Record, error) {
	for r.pos.Before(head) {
		recs, err := r.Take(ctx)
		if err != nil || len(recs) > 0 {
			return recs, err
		}
		if !r.pos.Before(head) {
			break
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, nil
}

// records is [Attachment.Records].
func records(ctx context.Context, o Owner, after, head Pos) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r := o.Read(after, nil)
		defer r.Close()
		for {
			recs, err := r.Until(ctx, head)
			if err != nil {
				yield(Record{}, err)
				return
			}
			if len(recs) == 0 {
				return
			}
			for _, rec := range recs {
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}

// Take is Next without waiting. It returns nothing if there are no new records, or if the reader
// has only moved past hidden records: then its position has changed.
func (r *Reader) Take(ctx context.Context) ([]Record, error) {
	for {
		if r.pull != nil {
			recs, err := r.fromStore()
			if err != nil || len(recs) > 0 {
				return recs, err
			}
		}
		recs, behind, closed := r.fromMemory()
		if closed {
			return nil, ErrClosed
		}
		if !behind {
			if r.strange {
				r.s.watch()
			}
			return recs, nil
		}
		// The walk outlives this call, and the context of a call that waited no longer.
		r.pull, r.stop = iter.Pull2(r.s.journal.Read(context.WithoutCancel(ctx), r.pos))
	}
}

func (r *Reader) fromMemory() (recs []Record, behind, closed bool) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	r.at.Done = r.pos // the caller has handled that: it came back
	r.buf, r.pos, behind = s.log.Read(r.buf[:0], r.pos)
	if r.at.Closed && (behind || len(r.buf) == 0) { // the store may be closed, too
		return nil, false, true
	}
	r.at.Asked = s.now()
	if behind {
		return nil, true, false
	}
	atEnd := !r.pos.Before(s.log.Head())
	if atEnd && s.liveRev != r.live {
		if r.live = s.liveRev; s.live != nil {
			r.buf = append(r.buf, Record{Epoch: s.epoch, Time: r.at.Asked, Event: s.live})
		}
	}
	if atEnd {
		r.at.Taken = s.log.Total()
	} else {
		r.at.Taken = max(r.at.Taken, s.log.Dropped())
	}
	r.at.Ready = len(r.buf) > 0
	r.strange = !r.at.Ready && s.epoch == 0 && s.unwatch == nil
	if !r.at.Ready {
		r.buf = nil // a waiting reader keeps no records in memory
	}
	s.readers.Moved()
	return r.buf, false, false
}

// fromStore continues the walk through the store until a batch is full; the walk's end closes it.
func (r *Reader) fromStore() ([]Record, error) {
	r.buf = r.buf[:0]
	size := 0
	for size < memlog.Batch {
		rec, err, ok := r.pull()
		if !ok || err != nil {
			r.endWalk()
			if err != nil && len(r.buf) == 0 { // else the next walk meets it, behind what there is
				return nil, fmt.Errorf("read session %s behind record %d: %w", r.s.meta.ID, r.pos.Seq, err)
			}
			break
		}
		if r.pos.Off > 0 && rec.Seq > r.pos.Seq { // the run has ended
			r.pos = Pos{rec.Epoch, r.pos.Seq + 1, 0}
		}
		r.pos = r.s.skip(r.pos) // Splice leaves out hidden records
		next, rest, ok, err := r.pos.Splice(rec)
		if err != nil {
			r.endWalk()
			if len(r.buf) > 0 {
				break
			}
			return nil, fmt.Errorf("read session %s: %w", r.s.meta.ID, err)
		}
		if r.pos = next; ok {
			r.buf = append(r.buf, rest)
			_, text, _ := runOf(rest.Event)
			size += max(len(text), eventSize(rest.Event))
		}
	}
	r.s.progress(r, size)
	return r.buf, nil
}

// endWalk closes the walk through the store.
func (r *Reader) endWalk() {
	r.stop()
	r.pull, r.stop = nil, nil
}

// Close gives the reader up.
func (r *Reader) Close() {
	if r.stop != nil {
		r.endWalk()
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.at.Closed = true
	r.s.readers.Remove(r)
	r.s.unwatchUnusedLocked()
}

// token has Next look again.
func (r *Reader) token() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
