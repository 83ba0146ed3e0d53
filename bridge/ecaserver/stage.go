package ecaserver

import (
	"context"
	"errors"
	"slices"
	"time"

	"dragoman/core"
)

// running is the turn that a chat's contents belong to.
type running struct {
	turn *core.Turn
	ctx  context.Context //nolint:containedctx // ends the wait for clients that are far behind
}

// maxAhead limits the events that are held back while a chat is being opened.
const maxAhead = 1000

// current returns the turn that contents belong to; nil: there was none yet.
func (c *chat) current() *core.Turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run.turn
}

// enter makes a turn the one that contents belong to. It begins with what came while the chat was being
// opened.
func (c *chat) enter(r running) {
	c.mu.Lock()
	ahead := c.ahead
	c.ahead = nil
	c.mu.Unlock()
	if len(ahead) > 0 {
		_ = r.turn.Emit(r.ctx, ahead...) // a turn that was stopped needs none
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run, c.stopped = r, false
	close(c.changed)
	c.changed = make(chan struct{})
}

// stop drops what still comes of a turn that was stopped.
func (c *chat) stop(stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = stopped
}

// isStopped reports whether the user has stopped what the server does.
func (c *chat) isStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

// mute drops what a chat repeats that the log has.
func (c *chat) mute(muted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.muted = muted
}

// close drops what still comes.
func (c *chat) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// emit adds events to the turn that runs. Without one it begins a turn that nobody prompted. It reports
// whether the log has the events.
func (c *chat) emit(events ...core.Event) bool {
	c.mu.Lock()
	in := c.importing
	c.mu.Unlock()
	if in != nil {
		in.Add(events...)
		return true
	}
	for {
		c.mu.Lock()
		r, changed, drop := c.run, c.changed, c.stopped || c.muted || c.closed
		c.mu.Unlock()
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
		}
		if c.talk.opens() {
			return c.hold(events)
		}
		err := c.beginTurn(r.turn)
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
	}
}

// beginTurn begins a turn that nobody prompted, behind another one that has ended. Stopping it has the
// server stop.
func (c *chat) beginTurn(before *core.Turn) error {
	life := context.Background()
	if p := c.talk.program(); p != nil {
		life = p.life
	}
	t, err := c.host.Begin(life, core.Origin{})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(life)
	c.mu.Lock()
	if c.run.turn == before {
		c.run = running{t, ctx}
		close(c.changed)
		c.changed = make(chan struct{})
	}
	c.mu.Unlock()
	context.AfterFunc(t.Context(), func() {
		why := context.Cause(t.Context())
		end(why)
		if errors.Is(why, core.ErrCanceled) {
			c.talk.stopChat(c)
		}
	})
	return nil
}

// hold keeps events for the next turn: while the chat is being opened no turn may begin for them. Calls are
// dropped: what a server does before it is asked belongs to no turn.
func (c *chat) hold(events []core.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ev := range events {
		if _, call := ev.(core.CallChanged); call {
			return false
		}
	}
	if len(c.ahead)+len(events) > maxAhead {
		return false
	}
	c.ahead = append(c.ahead, events...)
	return true
}

// apart adds an event that needs no turn: in the one that runs, or without one.
func (c *chat) apart(ev core.Event) {
	c.mu.Lock()
	r, in, muted := c.run, c.importing, c.muted || c.closed
	c.mu.Unlock()
	switch {
	case in != nil:
		if _, titled := ev.(core.TitleChanged); titled { // what else is told now is no history
			in.Apart(ev)
		}
	case muted:
	case r.turn == nil, r.turn.Emit(r.ctx, ev) != nil:
		_ = c.host.Publish(context.Background(), ev) // a session that cannot be stored says so itself
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

func (c *conversation) opens() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opening
}
