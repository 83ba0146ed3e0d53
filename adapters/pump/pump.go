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

// Gauge is an Output that knows how far its client is.
type Gauge interface {
	// Queued returns how many bytes wait to be written.
	Queued() int
	// Unread returns how many bytes the client has not read, whether they are written or not. ok is
	// false if that cannot be seen.
	Unread() (n int, ok bool)
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
	// Past reports whether the next record belongs to the past, of which there may be much at once.
	Past() bool
	// Lost is called when the log can no longer be read; the feed is removed.
	Lost(error)
}

// Pump reads the sessions of one connection.
type Pump struct {
	// Pace is the least time between two messages of a streamed text to a client that has not read
	// the last one; text that arrives meanwhile becomes one message. Any other event or job first
	// sends the held text. Zero: no text is held. It is set before Run, or by a job.
	Pace time.Duration
	// Queues says that the client may have a queue that must not overflow. Its text passes at once, up to
	// calmTexts pieces a second, and above that at its Pace, whatever it has read. It gets the past with
	// pauses. It is set as Pace is.
	Queues bool

	out   Output
	gauge Gauge // out, if it is one
	mux   *mux

	// The fields below belong to whoever has the turn.
	feeds map[*core.Reader]Feed
	texts map[*core.Reader]*text
	buf   []byte
	calm  calm
	past  past
	err   error // of a write

	mu   sync.Mutex // guards the field below
	jobs []func()
}

// New returns a pump that writes to out. Run starts it.
func New(out Output) *Pump {
	p := &Pump{
		out:   out,
		mux:   newMux(),
		feeds: map[*core.Reader]Feed{},
		texts: map[*core.Reader]*text{},
	}
	if p.gauge, _ = out.(Gauge); p.gauge != nil {
		p.mux.direct = p.direct
	}
	return p
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
	for p.err == nil {
		if err := p.out.Room(ctx, room); err != nil {
			return err
		}
		if err := p.pause(ctx); err != nil {
			return err
		}
		r, recs, lost := p.mux.next(ctx)
		if lost != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p.work() // only now, since the records may be younger than a job that was given meanwhile
		feed := p.feeds[r]
		switch {
		case r == nil || feed == nil:
		case lost != nil:
			p.serve(r, p.take(r))
			p.drop(r)
			feed.Lost(lost)
		default:
			p.serve(r, p.paced(r, recs))
		}
	}
	return p.err
}

// maxDirect limits how often direct looks for more of a reader before it leaves that to the pump.
const maxDirect = 4

// direct serves a reader that has text, as Run does. What is not text, or has no room, it leaves to Run.
func (p *Pump) direct(r *core.Reader) {
	for range maxDirect {
		if f := p.feeds[r]; f == nil || f.Past() || p.gauge.Queued() >= room {
			break
		}
		was := r.Pos()
		recs, err := r.Take(context.Background())
		switch {
		case err != nil: // Run gets it, too
			p.mux.putBack(r, nil)
			return
		case len(recs) == 0 && r.Pos() == was:
			return
		case !textual(recs):
			p.mux.putBack(r, recs)
			return
		}
		if p.serve(r, p.paced(r, recs)); p.err != nil {
			p.mux.poke() // ends Run
			return
		}
	}
	p.mux.putBack(r, nil)
}

// serve encodes a reader's records and reports the position to its feed.
func (p *Pump) serve(r *core.Reader, recs []core.Record) {
	if len(recs) == 0 || p.err != nil {
		return
	}
	feed := p.feeds[r]
	if left := p.batch(feed, recs); len(left) > 0 {
		p.mux.later(r, left)
	} else if p.err == nil {
		feed.Caught(r.Pos())
	}
	if cap(p.buf) > 4*room {
		p.buf = nil
	}
}

// drop ends the serving of a reader.
func (p *Pump) drop(r *core.Reader) {
	p.take(r)
	delete(p.feeds, r)
	delete(p.texts, r)
	r.Close()
}

// batch encodes records and writes them, in as few pieces as the actions between them allow. It returns
// the rest of the records if the client has got enough of the past for now.
func (p *Pump) batch(feed Feed, recs []core.Record) (left []core.Record) {
	buf, write := p.buf[:0], p.put
	for i, rec := range recs {
		past := p.Queues && feed.Past()
		if write = p.put; past {
			write = p.putPast
		}
		var then func()
		if buf, then = feed.Encode(buf, rec); then == nil && !(past && p.past.enough(buf)) {
			continue
		}
		p.buf = buf
		if write(buf); p.err != nil {
			return nil
		}
		buf = buf[:0]
		if then != nil {
			then()
		}
		if past && p.past.full() {
			return recs[i+1:]
		}
	}
	p.buf = buf
	write(buf)
	return nil
}

func (p *Pump) put(lines []byte) {
	if len(lines) == 0 {
		return
	}
	if err := p.out.PutLines(lines); err != nil {
		p.err = fmt.Errorf("write to the client: %w", err)
	}
}

// work runs the jobs, after all text that is held, and writes the text that is due.
func (p *Pump) work() {
	p.mu.Lock()
	jobs := p.jobs
	p.jobs = nil
	p.mu.Unlock()
	failed := p.err != nil
	for _, r := range p.due(len(jobs) > 0) {
		p.serve(r, p.take(r))
	}
	if p.err != nil && !failed {
		return
	}
	for _, job := range jobs {
		job()
	}
}

// closeAll closes the readers.
func (p *Pump) closeAll() {
	p.mux.end()
	p.work() // nobody reads after a failed write
	for r := range p.feeds {
		p.drop(r)
	}
}
