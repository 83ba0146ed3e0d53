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
	walk    memlog.Walk[Event, stream, Record, Pos] // through the store; ended: memory is near enough

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
		if !r.walk.Ended() {
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
		r.walk.Begin(&logEvents, r.s.journal.Read(context.WithoutCancel(ctx), r.pos), r.s.skip)
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
	recs, pos, size, err := r.walk.Read(r.buf[:0], r.pos)
	if r.buf, r.pos = recs, pos; err != nil {
		return nil, fmt.Errorf("read session %s behind record %d: %w", r.s.meta.ID, pos.Seq, err)
	}
	r.s.progress(r, size)
	return recs, nil
}

// Close gives the reader up.
func (r *Reader) Close() {
	r.walk.End()
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
