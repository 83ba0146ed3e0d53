package stage

import (
	"context"
	"errors"
	"slices"
	"time"

	"dragoman/core"
)

// maxAhead limits the events that are held back while a session is being opened.
const maxAhead = 1000

// Emit adds events to the turn that runs. Without one it begins a turn that nobody prompted, so that what an
// agent says after its answer reaches every client. It reports whether the log has the events.
func (s *Stage) Emit(events ...core.Event) bool {
	for {
		r, changed, drop := s.look()
		if drop {
			return false
		}
		if r.turn != nil {
			err := r.turn.Emit(r.ctx, of(r.turn, events)...)
			if err == nil {
				return true
			}
			if !errors.Is(err, core.ErrOver) {
				return false // it was stopped, or cannot be stored
			}
			if s.halt(r.turn) && s.Stopped() {
				continue // to drop them
			}
		}
		if s.c.Opens() {
			return s.hold(events)
		}
		err := s.Begin(r.turn)
		if err == nil {
			continue
		}
		if busy := (*core.BusyError)(nil); !errors.As(err, &busy) {
			return false
		}
		// The next prompt's turn has begun, or the last one is about to end.
		limit := time.NewTimer(time.Second)
		select {
		case <-changed:
		case <-limit.C:
		}
		limit.Stop()
		if s.isClosed() {
			return false
		}
	}
}

// look returns the turn that events belong to, and a channel that is closed when it is another one. It
// reports whether events are dropped.
func (s *Stage) look() (r running, changed <-chan struct{}, drop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	drop = s.stopped || s.muted || s.c.Strict && s.closed
	if drop {
		s.dropped = time.Now()
	}
	return s.run, s.changed, drop
}

// hold keeps events for the next turn. While the session is being opened no turn may begin for them, because
// one may be waiting for that, and waiting here would keep the answer from being read. Calls are dropped: what
// an agent does before it is asked belongs to no turn.
func (s *Stage) hold(events []core.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range events {
		switch any(ev).(type) {
		case core.CallChanged, core.CallArgs, core.CallOutput:
			return false
		}
	}
	if len(s.ahead)+len(events) > maxAhead {
		return false
	}
	s.ahead = append(s.ahead, events...)
	return true
}

// Apart adds an event that needs no turn: in the one that runs, or without one.
func (s *Stage) Apart(ev core.Event) {
	s.mu.Lock()
	r, drop := s.run, s.c.Strict && (s.muted || s.closed)
	s.mu.Unlock()
	if drop {
		return
	}
	if r.turn == nil || r.turn.Emit(r.ctx, ev) != nil {
		_ = s.c.Host.Publish(context.Background(), ev) // a session that cannot be stored says so itself
	}
}

// of returns events as those of a turn: it may have begun after they were made.
func of(t *core.Turn, events []core.Event) []core.Event {
	for i, ev := range events {
		was := t.ID()
		switch e := any(ev).(type) {
		case core.CallChanged:
			was, e.Call.Turn = e.Call.Turn, t.ID()
			ev = e
		case core.Phase:
			was, e.Turn = e.Turn, t.ID()
			ev = e
		case core.Compacted:
			was, e.Turn = e.Turn, t.ID()
			ev = e
		case core.UsageChanged:
			was, e.Turn = e.Turn, t.ID()
			ev = e
		}
		if was != t.ID() {
			events = slices.Clone(events)
			events[i] = ev
		}
	}
	return events
}
