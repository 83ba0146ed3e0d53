package pump

import (
	"context"
	"fmt"
	"sync"
	"time"

	"dragoman/core"
)

// room limits the bytes that are queued at the writer before the pump waits.
const room = 256 << 10

// Output is a connection's writer; *wire.Writer is one.
type Output interface {
	// PutLines queues whole messages, each ended by a line feed.
	PutLines([]byte) error
	// Room blocks until less than that many bytes are queued.
	Room(context.Context, int) error
}

// Feed is one session on the connection, in its dialect; implementations are pointers. Only the
// pump calls its methods.
type Feed interface {
	// Encode appends the messages for a record, each ended by a line feed, and returns
	// the action that must follow them; nil: none.
	Encode(dst []byte, r core.Record) ([]byte, func())
	// Caught is called when the feed has reached pos, after a batch and at the beginning: for
	// answers and questions that wait for it.
	Caught(pos core.Pos)
	// Lost is called when the log can no longer be read; the feed is removed.
	Lost(error)
}

// Pump reads the sessions of one connection.
type Pump struct {
	// Pace is the least time between two messages of a streamed text; text that arrives
	// meanwhile becomes one message. Any other event or job first sends the held text.
	// Zero: no text is held. It is set before Run.
	Pace time.Duration

	out   Output
	mux   *mux
	feeds map[*core.Reader]Feed  // of the pump's goroutine
	texts map[*core.Reader]*text // the same

	mu   sync.Mutex // guards the field below
	jobs []func()
}

// New returns a pump that writes to out. Run starts it.
func New(out Output) *Pump {
	return &Pump{
		out:   out,
		mux:   newMux(),
		feeds: map[*core.Reader]Feed{},
		texts: map[*core.Reader]*text{},
	}
}

// Add begins to serve a session after a position. first, if not nil, is called before the first
// record: an answer.
func (p *Pump) Add(a *core.Attachment, after core.Pos, f Feed, first func()) {
	p.Do(func() {
		if first != nil {
			first()
		}
		r := a.Watch(after, p.mux.push)
		p.feeds[r] = f
		f.Caught(r.Pos())
	})
}

// Remove ends what Add began.
func (p *Pump) Remove(f Feed) {
	p.Do(func() {
		for r, have := range p.feeds {
			if have == f {
				p.drop(r)
			}
		}
	})
}

// Do has the pump call a function between two batches: the way to put a message at a place in the
// stream, before all records that are written after this call. It never blocks.
func (p *Pump) Do(job func()) {
	p.mu.Lock()
	p.jobs = append(p.jobs, job)
	p.mu.Unlock()
	p.mux.poke()
}

// Run serves until ctx or the connection ends.
func (p *Pump) Run(ctx context.Context) error {
	defer p.closeAll()
	var buf []byte
	for {
		if err := p.out.Room(ctx, room); err != nil {
			return err
		}
		r, recs, lost := p.mux.next(ctx)
		if lost != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// Only now, since the records may be younger than a job that was given meanwhile.
		var err error
		if buf, err = p.work(buf); err != nil {
			return err
		}
		feed := p.feeds[r]
		switch {
		case r == nil || feed == nil:
			continue
		case lost != nil:
			if buf, err = p.serve(buf, r, p.take(r)); err != nil {
				return err
			}
			p.drop(r)
			feed.Lost(lost)
			continue
		case p.hold(r, recs):
			continue
		}
		if buf, err = p.serve(buf, r, append(p.take(r), recs...)); err != nil {
			return err
		}
		if cap(buf) > 4*room {
			buf = nil
		}
	}
}

// serve encodes a reader's records and reports the position to its feed.
func (p *Pump) serve(buf []byte, r *core.Reader, recs []core.Record) ([]byte, error) {
	if len(recs) == 0 {
		return buf, nil
	}
	feed := p.feeds[r]
	buf, err := p.batch(buf[:0], feed, recs)
	if err == nil {
		feed.Caught(r.Pos())
	}
	return buf, err
}

// drop ends the serving of a reader.
func (p *Pump) drop(r *core.Reader) {
	p.take(r)
	delete(p.feeds, r)
	delete(p.texts, r)
	r.Close()
}

// batch encodes records and writes them, in as few pieces as the actions between them allow.
func (p *Pump) batch(buf []byte, feed Feed, recs []core.Record) ([]byte, error) {
	for _, rec := range recs {
		var then func()
		if buf, then = feed.Encode(buf, rec); then == nil {
			continue
		}
		if err := p.put(buf); err != nil {
			return buf, err
		}
		buf = buf[:0]
		then()
	}
	return buf, p.put(buf)
}

func (p *Pump) put(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	if err := p.out.PutLines(lines); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return nil
}

// work runs the jobs, after all text that is held, and writes the text that is due.
func (p *Pump) work(buf []byte) ([]byte, error) {
	p.mu.Lock()
	jobs := p.jobs
	p.jobs = nil
	p.mu.Unlock()
	for _, r := range p.due(len(jobs) > 0) {
		var err error
		if buf, err = p.serve(buf, r, p.take(r)); err != nil {
			return buf, err
		}
	}
	for _, job := range jobs {
		job()
	}
	return buf, nil
}

// closeAll closes the readers.
func (p *Pump) closeAll() {
	_, _ = p.work(nil) // nobody reads after a failed write
	for r := range p.feeds {
		p.drop(r)
	}
}
