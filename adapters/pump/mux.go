package pump

import (
	"context"
	"sync"

	"dragoman/core"
)

// mux waits on many readers at once, for one goroutine that serves them all.
// Its cost does not depend on how many of them are idle.
type mux struct {
	wake chan struct{} // holds one token

	mu    sync.Mutex // guards the fields below
	queue []*core.Reader
	poked bool
}

// newMux returns an empty mux.
func newMux() *mux { return &mux{wake: make(chan struct{}, 1)} }

func (m *mux) push(r *core.Reader) {
	m.mu.Lock()
	m.queue = append(m.queue, r)
	m.mu.Unlock()
	m.token()
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
		r, poked := m.pop()
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

func (m *mux) pop() (r *core.Reader, poked bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if poked = m.poked; poked {
		m.poked = false
		return nil, true
	}
	if len(m.queue) > 0 {
		r = m.queue[0]
		m.queue = m.queue[1:]
	}
	return r, false
}
