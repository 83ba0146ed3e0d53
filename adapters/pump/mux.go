package pump

import (
	"context"
	"slices"
	"sync"

	"dragoman/core"
)

// mux waits on many readers at once, for one pump. Its cost does not depend on how many of them are
// idle. The pump's state belongs to whoever has its turn: the goroutine that runs the pump, or, while
// that waits, one that has just written something to read and passes it on by itself.
type mux struct {
	wake   chan struct{}      // holds one token
	direct func(*core.Reader) // serves a reader, with the turn of the pump; nil: the pump serves all

	mu    sync.Mutex // guards the fields below
	turn  turn
	queue []*core.Reader
	taken map[*core.Reader][]core.Record // of readers of the queue, and not served yet
	poked bool
	ended bool // nobody gets the turn any more
}

// turn is the right to use the pump's state.
type turn uint8

const (
	nobodys turn = iota
	pumps        // of the goroutine that runs the pump
	writers      // of one that has written a record
)

// newMux returns an empty mux. The turn is the pump's until it waits in next.
func newMux() *mux {
	return &mux{wake: make(chan struct{}, 1), turn: pumps, taken: map[*core.Reader][]core.Record{}}
}

// push says that a reader may have something to read. If the pump waits, the caller serves the reader,
// which saves the time until another goroutine runs.
func (m *mux) push(r *core.Reader) {
	m.mu.Lock()
	if m.direct == nil || m.turn != nobodys || m.poked || len(m.queue) > 0 {
		m.queue = append(m.queue, r)
		m.mu.Unlock()
		m.token()
		return
	}
	m.turn = writers
	m.mu.Unlock()
	defer m.release()
	m.direct(r)
}

// release ends the turn of a writer. The pump does what is left.
func (m *mux) release() {
	m.mu.Lock()
	m.turn = nobodys
	left := m.ended || m.poked || len(m.queue) > 0
	m.mu.Unlock()
	if left {
		m.token()
	}
}

// putBack leaves a reader to the pump, before all others, with the records that were taken from it.
func (m *mux) putBack(r *core.Reader, taken []core.Record) {
	m.mu.Lock()
	m.queue = append([]*core.Reader{r}, m.queue...)
	if len(taken) > 0 {
		m.taken[r] = taken
	}
	m.mu.Unlock()
}

// later has next return records of a reader again, when other readers have had their turn.
func (m *mux) later(r *core.Reader, taken []core.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.taken[r] = taken; !slices.Contains(m.queue, r) {
		m.queue = append(m.queue, r)
	}
}

// poke makes next return without a reader, once.
func (m *mux) poke() {
	m.mu.Lock()
	m.poked = true
	m.mu.Unlock()
	m.token()
}

func (m *mux) token() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// next returns a reader and its new records, like core's Reader.Next; readers take turns. There
// are no records if the reader has only passed a part that a truncation hides. The reader is nil
// after a poke. An error of a reader is returned with it; that reader is not waited on any more.
func (m *mux) next(ctx context.Context) (*core.Reader, []core.Record, error) {
	for {
		r, recs, poked := m.pop()
		if poked {
			return nil, nil, nil
		}
		if r == nil {
			select {
			case <-m.wake:
				continue
			case <-ctx.Done():
				return nil, nil, context.Cause(ctx)
			}
		}
		if recs != nil {
			m.push(r) // there may be more
			return r, recs, nil
		}
		was := r.Pos()
		recs, err := r.Take(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			return r, nil, err
		}
		if len(recs) > 0 || r.Pos() != was {
			m.push(r) // there may be more
			return r, recs, nil
		}
	}
}

// pop takes the turn and returns what the pump does next. If there is nothing, it gives the turn up;
// there is nothing as long as a writer has it.
func (m *mux) pop() (r *core.Reader, taken []core.Record, poked bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.turn == writers {
		return nil, nil, false
	}
	m.turn = pumps
	if len(m.queue) > 0 {
		taken = m.taken[m.queue[0]]
	}
	if taken == nil && m.poked { // what was taken is older than the poke
		m.poked = false
		return nil, nil, true
	}
	if len(m.queue) > 0 {
		r = m.queue[0]
		m.queue = m.queue[1:]
		delete(m.taken, r)
		return r, taken, false
	}
	m.turn = nobodys
	return nil, nil, false
}

// end takes the turn for ever, once a writer has given it back.
func (m *mux) end() {
	for {
		m.mu.Lock()
		m.ended = true
		writing := m.turn == writers
		if !writing {
			m.turn = pumps
		}
		m.mu.Unlock()
		if !writing {
			return
		}
		<-m.wake
	}
}
